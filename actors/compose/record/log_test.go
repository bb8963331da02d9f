package record_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/compose/record"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// durable runs an agent with a log and returns its records.
func durable(t testing.TB, cfg agent.Config, answer func(r *steptest.Run, w run.Wait), steps ...agenttest.Step) []run.Record {
	t.Helper()
	cfg.Provider = agenttest.NewModel(t, steps...)
	a, err := agent.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := steptest.New(steptest.Config{Operator: "assistant"})
	r.Input(protocol.Text("What is the weather in Berlin?"), run.Enqueue)
	if _, err := r.Finish(t.Context(), func() protocol.Operator { return a }, func(w run.Wait) { answer(r, w) }); err != nil {
		t.Logf("the run failed: %v", err)
	}
	var records []run.Record
	for i, e := range r.Events() {
		records = append(records, run.Record{Seq: uint64(i + 1), Event: e})
	}
	return records
}

func fromRecords(t testing.TB, records []run.Record, id protocol.RunID) *record.Run {
	t.Helper()
	r, err := record.FromRecords(records, id)
	if err != nil {
		t.Fatal(err)
	}
	return again(t, r)
}

func TestTheLogOfADurableRunIsARecord(t *testing.T) {
	t.Parallel()
	cfg := agent.Config{Model: "m", Tools: tools(weather(), note(), weatherOf("approved", tool.RequiresApproval()), weatherOf("denied", tool.RequiresApproval()))}
	records := durable(t, cfg,
		func(r *steptest.Run, w run.Wait) {
			r.Signal(run.SignalApprove, json.RawMessage(decisionsOf(t, w)))
		},
		agenttest.Call("get_weather", berlin).And("note", berlin).Costs("0.01"),
		agenttest.Call("approved", berlin).And("denied", berlin).And("get_weather", city{"Nowhere"}).Costs("0.01"),
		agenttest.Say("Expect drizzle."))
	r := fromRecords(t, records, "")
	if r.Operator != "assistant" || len(r.Turns) != 3 || names(r) != "get_weather note approved denied get_weather" || r.Answer() != "Expect drizzle." {
		t.Fatalf("got %+v", r)
	}
	second := r.Turns[1].Results
	if d := second[0].Decision; d == nil || !d.Approved || string(d.Input) != `{"city":"Rome"}` {
		t.Errorf("got %+v", second[0])
	}
	if d := second[1].Decision; d == nil || d.Approved || second[1].Output != "The call was denied: too far" || !second[1].IsError {
		t.Errorf("got %+v", second[1])
	}
	if r.Turns[0].Cost.String() != "0.01" || len(r.Turns[0].Results[1].Effects) != 1 || second[2].Error == nil {
		t.Errorf("got %+v", r.Turns[0])
	}
	err := record.Check(r, record.ModelOutputNormalized(), record.ToolDispatched("approved"), record.FinalAnswerGrounded())
	if err != nil || len(r.PassedAssertions) != 3 || record.Check(r, record.ToolDispatched("denied")) == nil {
		t.Error(err)
	}
	for i, x := range cfg.Tools {
		cfg.Tools[i] = forbidden(t, x)
	}
	wantSame(t, r, cfg)
	wantSame(t, r, agent.Config{})
}

func weatherOf(name string, opts ...tool.Option) tool.Tool { return tool.Alias(weather(opts...), name) }

// decisionsOf approves the first call with another input and denies the second.
func decisionsOf(t testing.TB, w run.Wait) []byte {
	t.Helper()
	var all []protocol.ToolCallDecision
	for _, p := range w.Approval.Pending {
		d := protocol.ToolCallDecision{CallID: p.CallID, Action: protocol.ModifyCall{NewInput: json.RawMessage(`{"city":"Rome"}`)}}
		if p.ToolName == "denied" {
			d.Action = protocol.RejectCall{Reason: "too far"}
		}
		all = append(all, d)
	}
	raw, err := protocol.Marshal(protocol.Batch{Decisions: all})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestALogThatCannotBeARecordIsRefused(t *testing.T) {
	t.Parallel()
	input := json.RawMessage(`{"message":"hi"}`)
	done := &protocol.OperatorOutput{Message: protocol.TextContent("x"), Metadata: protocol.OperatorMetadata{TurnsUsed: 1}}
	for name, test := range map[string]struct {
		log  record.Log
		code protocol.Code
	}{
		"not ended":    {record.Log{Input: input}, protocol.CodeNotFound},
		"no input":     {record.Log{Output: done}, protocol.CodeInvalidInput},
		"bad input":    {record.Log{Input: json.RawMessage(`3`), Output: done}, protocol.CodeInvalidInput},
		"no turns":     {record.Log{Input: input, Output: done}, protocol.CodeInvalidInput},
		"a bad answer": {record.Log{Input: input, Output: done, Steps: []record.Step{{Path: "1", Kind: run.StepModel, Name: "model"}}}, protocol.CodeInvalidInput},
		"kept elsewhere": {
			record.Log{Input: input, Output: done, Steps: []record.Step{{Path: "1", Kind: run.StepTool, Elsewhere: true}}}, protocol.CodeInvalidInput,
		},
	} {
		if _, err := record.FromLog(test.log); protocol.CodeOf(err) != test.code {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := record.FromRecords(nil, "r1"); protocol.CodeOf(err) != protocol.CodeNotFound {
		t.Errorf("got %v", err)
	}
}

func TestCallsAreFoundByTheirOrderWhereTheLogHasNoIDs(t *testing.T) {
	t.Parallel()
	said := json.RawMessage(`{"content":"","tool_calls":[{"id":"a","name":"f","input":{}},{"id":"b","name":"g","input":{}},{"id":"c","name":"f","input":{}}],` +
		`"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1},"model":"m","cost":null,"truncated":null}`)
	r, err := record.FromLog(record.Log{
		Input: json.RawMessage(`{"message":"hi"}`), Output: &protocol.OperatorOutput{Message: protocol.TextContent("x")},
		Steps: []record.Step{
			{Path: "10", Kind: run.StepTool, Name: "f", Result: json.RawMessage(`{"output":"second"}`)},
			{Path: "2", Kind: run.StepTool, Name: "f", Result: json.RawMessage(`{"output":"first"}`)},
			{Path: "3", Kind: run.StepTool, Name: "g"},
			{Path: "2.1", Kind: run.StepModel, Name: "model"},
			{Path: "1", Kind: run.StepModel, Name: "model", Result: said},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := r.Turns[0].Results
	if len(got) != 3 || got[0].Output != "first" || got[2].Output != "second" || !got[1].Unknown {
		t.Errorf("got %+v", got)
	}
}

func TestAReplayIsNoPartOfADurableRun(t *testing.T) {
	t.Parallel()
	r, _ := recorded(t, agent.Config{}, agenttest.Say("x"))
	op := protocol.OperatorFunc(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		if _, durable := step.InfoFrom(ctx); !durable {
			t.Error("not durable")
		}
		_, err := record.Replay(ctx, r, agent.Config{})
		return protocol.OperatorOutput{}, err
	})
	if got := agenttest.Durable(t, func() protocol.Operator { return op }, protocol.Text("x")); protocol.CodeOf(got.Err) != protocol.CodeUnsupported {
		t.Errorf("got %v", got.Err)
	}
}
