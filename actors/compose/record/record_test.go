package record_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/compose/record"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

var berlin = map[string]string{"city": "Berlin"}

func TestARunIsRecordedCheckedAndReplayed(t *testing.T) {
	t.Parallel()
	r, cfg := recorded(t, agent.Config{Tools: tools(weather(), note()), Model: "m"},
		agenttest.Call("get_weather", berlin).And("note", berlin).Costs("0.01"), agenttest.Say("Expect drizzle.").Costs("0.02"))
	if r.Version != 1 || r.Operator != "assistant" || r.Model != "m" || len(r.Turns) != 2 || names(r) != "get_weather note" ||
		r.Answer() != "Expect drizzle." || r.ExitReason != protocol.Exit(protocol.ExitComplete) {
		t.Errorf("got %+v", r)
	}
	first := r.Turns[0]
	if first.Cost.String() != "0.01" || first.Usage.InputTokens != 10 || first.Invocations[0].ID != "call_1" || string(first.Invocations[0].Input) != `{"city":"Berlin"}` {
		t.Errorf("got %+v", first)
	}
	want := record.Result{CallID: "call_1", Name: "get_weather", Output: `{"celsius":11.5,"city":"Berlin","sky":"drizzle"}`}
	if d := cmp.Diff(want, first.Results[0]); d != "" {
		t.Error(d)
	}
	if len(first.Results[1].Effects) != 1 {
		t.Errorf("got %+v", first.Results[1])
	}
	err := record.Check(r, record.ModelOutputNormalized(), record.ToolDispatched("get_weather"), record.FinalAnswerGrounded())
	if d := cmp.Diff([]string{"model-output-normalized", "tool-dispatched", "final-answer-grounded"}, r.PassedAssertions); d != "" || err != nil {
		t.Error(d, err)
	}
	r = again(t, r)
	wantSame(t, r, cfg)
	wantSame(t, r, agent.Config{}) // with the tools that the record names
}

func TestAReplayDoesWhatFailuresDid(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cfg   agent.Config
		steps []agenttest.Step
		exit  protocol.ExitKind
	}{
		"of a tool": {agent.Config{}, []agenttest.Step{agenttest.Call("get_weather", city{"Nowhere"}), agenttest.Say("No.")}, protocol.ExitComplete},
		"of an input": {
			agent.Config{}, []agenttest.Step{agenttest.Call("get_weather", map[string]int{"town": 1}), agenttest.Say("No.")}, protocol.ExitComplete,
		},
		"of a name":   {agent.Config{}, []agenttest.Step{agenttest.Call("guess", nil), agenttest.Say("No.")}, protocol.ExitComplete},
		"of many":     {agent.Config{Limits: agent.Limits{MaxConsecutiveFailures: 2}}, []agenttest.Step{agenttest.Call("guess", nil).And("guess", nil)}, protocol.ExitCircuitBreaker},
		"a long text": {agent.Config{MaxResultText: 5}, []agenttest.Step{agenttest.Call("get_weather", berlin), agenttest.Say("x")}, protocol.ExitComplete},
		"a limit": {
			agent.Config{Limits: agent.Limits{MaxTurns: 1}}, []agenttest.Step{agenttest.Call("get_weather", berlin)}, protocol.ExitMaxTurns,
		},
		"of the model": {
			agent.Config{}, []agenttest.Step{agenttest.Call("get_weather", berlin), agenttest.Fail(protocol.ErrAuthFailed("no"))}, protocol.ExitError,
		},
		"of the first question": {agent.Config{}, []agenttest.Step{agenttest.Fail(protocol.ErrAuthFailed("no"))}, protocol.ExitError},
		"an output": {
			agent.Config{Output: &agent.Output{Schema: json.RawMessage(`{"type":"object"}`)}},
			[]agenttest.Step{agenttest.Call("get_weather", berlin), agenttest.Call(agent.DefaultOutputTool, map[string]any{"result": 3}), agenttest.Call(agent.DefaultOutputTool, map[string]any{"result": map[string]int{"a": 1}})},
			protocol.ExitComplete,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.cfg.Tools = tools(weather())
			r, cfg := recorded(t, test.cfg, test.steps...)
			if strings.HasPrefix(name, "of the ") != (r.Failure != nil) {
				t.Errorf("the failure of the model is %v", r.Failure)
			}
			if r.ExitReason.Kind() != test.exit {
				t.Errorf("ended as %s", r.ExitReason)
			}
			wantSame(t, r, cfg)
		})
	}
}

func TestHandoffsAreReplayedByTheirEffects(t *testing.T) {
	t.Parallel()
	hand := tool.Func("hand", "", func(context.Context, struct{}) (map[string]any, error) {
		return map[string]any{"__handoff": true, "target": "desk"}, nil
	})
	r, cfg := recorded(t, agent.Config{Tools: tools(hand), HandoffTargets: []protocol.OperatorID{"desk"}}, agenttest.Call("hand", nil))
	if r.ExitReason.Kind() != protocol.ExitHandedOff || len(r.Turns[0].Results[0].Effects) != 1 {
		t.Errorf("got %s, %+v", r.ExitReason, r.Turns[0].Results)
	}
	wantSame(t, r, cfg)
}

func TestWhatRulesAskTheModelIsReplayedAside(t *testing.T) {
	t.Parallel()
	asks := rule(engine.Before, engine.OpInfer, func(c *engine.Context) error {
		resp, err := c.Ask(context.Background(), "summary", protocol.InferRequest{})
		if err != nil {
			return err
		}
		text, _ := resp.Content.AsText()
		return c.InjectSystem(text)
	})
	when := engine.When("later", 0, func(*engine.Context) bool { return true }, engine.OpFunc("later", func(ctx context.Context, c *engine.Context) error {
		if _, is := c.Current().(*engine.Infer); !is {
			return nil
		}
		return asks.Action.Run(ctx, c)
	}))
	for name, asking := range map[string]engine.Rule{"before": asks, "when": when} {
		r, cfg := recorded(t, agent.Config{Tools: tools(weather()), Rules: []engine.Rule{asking}},
			agenttest.Say("one"), agenttest.Call("get_weather", berlin), agenttest.Say("two"), agenttest.Say("Rain."))
		if len(r.Turns) != 2 || len(r.Turns[0].Asides) != 1 || len(r.Turns[1].Asides) != 1 || r.Turns[1].Asides[0].Output.Text() != "two" || len(r.Asides) != 0 {
			t.Errorf("%s: got %+v", name, r)
		}
		wantSame(t, r, cfg)
		quiet := cfg
		quiet.Rules = nil
		wantDifference(t, r, quiet, record.Difference{Turn: 1, What: record.DiffModel, Want: "1 questions of rules to the model", Got: "0 questions of rules to the model"})
		r.Turns[0].Asides = nil
		wantDifference(t, r, cfg, record.Difference{Turn: 1, What: record.DiffModel, Want: "no further question of a rule", Got: "a rule asks the model"})
	}
}

func TestADifferenceIsSaidExactly(t *testing.T) {
	t.Parallel()
	r, cfg := recorded(t, agent.Config{Tools: tools(weather(), note())},
		agenttest.Call("get_weather", berlin).And("note", berlin), agenttest.Call("note", berlin), agenttest.Say("Rain."))
	before := func(f func(op *engine.ToolCall)) agent.Config {
		c := cfg
		c.Rules = []engine.Rule{rule(engine.Before, engine.OpExecuteTool, func(c *engine.Context) error {
			f(c.Current().(*engine.ToolCall))
			return nil
		})}
		return c
	}
	limited := cfg
	limited.Limits.MaxTurns = 2
	calls := cfg
	calls.Limits.MaxToolCalls = 1
	fewer := cfg
	fewer.Tools = cfg.Tools[:1]
	halting := cfg
	halting.Rules = []engine.Rule{rule(engine.After, engine.OpAppendResponse, func(c *engine.Context) error {
		if c.Metrics().Turns == 3 {
			return engine.Halt("enough")
		}
		return nil
	})}
	for name, test := range map[string]struct {
		cfg  agent.Config
		want record.Difference
	}{
		"other arguments": {
			before(func(op *engine.ToolCall) {
				if op.Call.Name == "note" {
					op.Call.Input = json.RawMessage(`{"city":"Rome"}`)
				}
			}),
			record.Difference{Turn: 1, What: record.DiffArguments, CallID: "call_2", Tool: "note", Want: `{"city":"Berlin"}`, Got: `{"city":"Rome"}`},
		},
		"a call that is not made": {
			before(func(op *engine.ToolCall) { op.Skip("no", false) }),
			record.Difference{Turn: 1, What: record.DiffCall, CallID: "call_1", Tool: "get_weather", Want: "it is made", Got: "it is not made"},
		},
		"an earlier end": {limited, record.Difference{Turn: 3, What: record.DiffEnd, Want: "complete", Got: "max_turns"}},
		"fewer calls":    {calls, record.Difference{Turn: 1, What: record.DiffCall, CallID: "call_2", Tool: "note", Want: "it is made", Got: "it is not made"}},
		"another end":    {halting, record.Difference{Turn: 4, What: record.DiffEnd, Want: "complete", Got: "interceptor_halt: enough"}},
		"a missing tool": {
			fewer, record.Difference{
				Turn: 1, What: record.DiffResult, CallID: "call_2", Tool: "note", Want: `"noted"`,
				Got: `the failure "Error: tool not found: note; the tools are: get_weather"`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "an earlier end" { // the record has a turn that does not come
				if d := replay(t, r, test.cfg); d == nil || d.What != record.DiffEnd || d.Got != "max_turns" {
					t.Errorf("got %v", d)
				}
				return
			}
			wantDifference(t, r, test.cfg, test.want)
		})
	}
	longer := again(t, r)
	longer.Turns = longer.Turns[:2]
	wantDifference(t, longer, cfg, record.Difference{Turn: 3, What: record.DiffEnd, Want: "complete", Got: "the model is asked again"})
	other := again(t, r)
	other.FinalAnswer = protocol.TextContent("Sun.")
	wantDifference(t, other, cfg, record.Difference{Turn: 4, What: record.DiffAnswer, Want: `"Sun."`, Got: `"Rain."`})
	missing := again(t, r)
	missing.Turns[1].Results = nil
	wantDifference(t, missing, cfg, record.Difference{Turn: 2, What: record.DiffCall, CallID: "call_3", Tool: "note", Want: "it is not made", Got: "it is made"})
	if s := replay(t, missing, cfg).String(); s != "turn 2, call of note (call_3): want it is not made, got it is made" {
		t.Error(s)
	}
}

func TestRulesThatChangeAndSkipAreReplayed(t *testing.T) {
	t.Parallel()
	change := rule(engine.Before, engine.OpExecuteTool, func(c *engine.Context) error {
		op := c.Current().(*engine.ToolCall)
		if op.Call.Name == "note" {
			op.Skip("not today", true)
		} else {
			op.Call.Input = json.RawMessage(`{"city":"Rome"}`)
		}
		return nil
	})
	after := rule(engine.After, engine.OpExecuteTool, func(c *engine.Context) error {
		c.Current().(*engine.ToolCall).Result += "!"
		return nil
	})
	r, cfg := recorded(t, agent.Config{Tools: tools(weather(), note()), Rules: []engine.Rule{change, after}},
		agenttest.Call("note", berlin).And("get_weather", berlin), agenttest.Say("ok"))
	results := r.Turns[0].Results
	if !results[0].Skipped || results[0].Output != "not today" || string(results[1].Input) != `{"city":"Rome"}` || strings.Contains(results[1].Output, "!") {
		t.Errorf("got %+v", results)
	}
	wantSame(t, r, cfg)
	cfg.Rules = nil
	if d := replay(t, r, cfg); d == nil || d.What != record.DiffCall || d.Got != "it is made" {
		t.Errorf("got %v", d)
	}
}

func TestARecorderForgetsTheRunBefore(t *testing.T) {
	t.Parallel()
	rec := record.New("a")
	for range 2 {
		cfg := agent.Config{Tools: tools(weather()), Provider: agenttest.NewModel(t, agenttest.Call("get_weather", berlin), agenttest.Say("Rain."))}
		if _, err := rec.Execute(t.Context(), cfg, protocol.Text("hi")); err != nil {
			t.Fatal(err)
		}
		if r := rec.Run(); len(r.Turns) != 2 || len(r.Results()) != 1 {
			t.Errorf("got %+v", r)
		}
	}
}

// A run that ended since nobody was there to allow a call ends so again; without that, and the call, it would have gone on.
func TestARunThatEndedForApprovalIsReplayed(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]agenttest.Step{
		"a call":         agenttest.Call("get_weather", berlin),
		"without input":  agenttest.Call("get_weather", nil),
		"beside another": agenttest.Call("note", berlin).And("get_weather", berlin),
	} {
		cfg := agent.Config{Tools: tools(weather(tool.RequiresApproval()), note())}
		r, cfg := recorded(t, cfg, agenttest.Call("note", berlin), step)
		if r.ExitReason.Kind() != protocol.ExitAwaitingApproval {
			t.Fatalf("%s: it ended as %s", name, r.ExitReason)
		}
		wantSame(t, r, cfg)
		r.ExitReason = protocol.Exit(protocol.ExitComplete)
		if d := replay(t, r, cfg); d == nil {
			t.Errorf("%s: no difference to a run that completed", name)
		}
	}
}

// What a model answers to a rule is kept whatever its calls are.
func TestOddCallsInAnAsideCanBeRecorded(t *testing.T) {
	t.Parallel()
	asks := rule(engine.Before, engine.OpInfer, func(c *engine.Context) error {
		_, err := c.Ask(context.Background(), "look", protocol.InferRequest{})
		return err
	})
	odd := agenttest.Call("a", nil).ID("aside_2").And("b", nil).ID("").And(strings.Repeat("n", 400), nil).ID("aside_2").And("", nil).ID("x")
	r, cfg := recorded(t, agent.Config{Rules: []engine.Rule{asks}}, odd, agenttest.Say("Done."))
	if len(r.Turns) != 1 || len(r.Turns[0].Asides) != 1 || len(r.Turns[0].Asides[0].Invocations) != 4 {
		t.Fatalf("got %+v", r)
	}
	wantSame(t, r, cfg)
}

// A call of which nobody knows what it came to is not made at a replay: the model is told the same.
func TestACallWithAnUnknownOutcomeIsReplayed(t *testing.T) {
	t.Parallel()
	r, cfg := recorded(t, agent.Config{Tools: tools(weather())}, agenttest.Call("get_weather", berlin), agenttest.Say("Who knows."))
	x := &r.Turns[0].Results[0]
	x.Unknown, x.IsError, x.Output = true, true, "Error: the outcome is unknown"
	wantSame(t, again(t, r), cfg)
}
