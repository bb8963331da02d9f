package agenttest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// onboard makes a step, sleeps for days, awaits a signal and asks another operator.
func onboard(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	name, err := step.Do(ctx, "create", func(ctx context.Context) (string, error) {
		agenttest.Once(ctx, "the creation")
		text, _ := in.Message.AsText()
		return text, nil
	}, step.Once())
	if err != nil && !errors.Is(err, step.ErrOutcomeUnknown) {
		return protocol.OperatorOutput{}, err
	}
	if err := step.Sleep(ctx, 72*time.Hour); err != nil {
		return protocol.OperatorOutput{}, err
	}
	answer, err := step.Await[string](ctx, "manager")
	if err != nil {
		return protocol.OperatorOutput{}, err
	}
	out, err := step.Call(ctx, "greet", "greeter", protocol.Text(name+": "+answer), step.Budget(protocol.MustDecimal("0.1")))
	if err != nil {
		return protocol.OperatorOutput{}, err
	}
	out.Effects = protocol.Effects{protocol.WriteMemory{Key: "user", Value: []byte(`"ann"`)}}
	return out, nil
}

func always(op protocol.Operator) func() protocol.Operator {
	return func() protocol.Operator { return op }
}

func TestDurable(t *testing.T) {
	t.Parallel()
	d := agenttest.Operators(map[protocol.OperatorID]protocol.Operator{"greeter": code(echo)})
	r := agenttest.Durable(t, always(code(onboard)), protocol.Text("ann"), agenttest.WithSignal("manager", "welcome"),
		agenttest.WithOperators(d), agenttest.WithOperator("hr"), agenttest.WithSession("s"), agenttest.WithBudget("1"))
	if r.Text() != "ann: welcome" || r.Err != nil || r.Records != 5 || len(agenttest.Effects[protocol.WriteMemory](r)) != 1 {
		t.Errorf("got %+v", r)
	}
	var reasons []run.Reason
	for _, w := range r.Waits {
		reasons = append(reasons, w.Reason)
	}
	if d := cmp.Diff([]run.Reason{run.WaitTimer, run.WaitSignal}, reasons); d != "" {
		t.Error(d)
	}
	call := d.Dispatched("greeter")[0].Call
	if call.Run != "r1.4" || call.Parent != "r1" || call.Budget.String() != "0.1" || call.Depth != 1 {
		t.Errorf("got %+v", call)
	}
	if len(r.Events(protocol.EventStepStarted)) != 2 || len(r.Events(protocol.EventSuspended)) != 2 || len(r.Events(protocol.EventCompleted)) != 1 {
		t.Errorf("got %v", r.Events())
	}
}

func TestEventsOfADurableRunAreInOrder(t *testing.T) {
	t.Parallel()
	work := tool.Func("work", "", func(context.Context, struct{}) (string, error) { return "ok", nil }, tool.RequiresApproval())
	m := agenttest.NewModel(t, agenttest.Call("work", nil), agenttest.Say("done"))
	op := build(t, agent.Config{Provider: m, Tools: []tool.Tool{work}})
	r := agenttest.Durable(t, always(op), protocol.Text("go"), agenttest.WithSignal("approve", nil))
	var kinds []protocol.EventKind
	for _, e := range r.Events() {
		if e.Kind != protocol.EventProgress {
			kinds = append(kinds, e.Kind)
		}
	}
	want := []protocol.EventKind{
		"invocation_started", "inference_started", "inference_completed", "suspended", "invocation_started", "noted",
		"step_completed", "tool_call_assembled", "tool_result_received", "inference_started", "inference_completed", "completed",
	}
	if d := cmp.Diff(want, kinds); d != "" {
		t.Error(d)
	}
	if m.Calls() != 2 || r.Text() != "done" || m.Request(1).ToolResult("call_1").Content != "ok" {
		t.Errorf("%d calls, %q", m.Calls(), r.Text())
	}
}

func TestDurableComplains(t *testing.T) {
	t.Parallel()
	wait := code(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		_, err := step.Await[string](ctx, "manager")
		return protocol.OperatorOutput{}, err
	})
	wantTold(t, func(tb testing.TB) {
		agenttest.Durable(tb, always(wait), protocol.Text("x"), agenttest.WithSignal("approve", nil))
	}, "fatal: agenttest: the run waits (external_input: manager) and nothing comes")
	wantTold(t, func(tb testing.TB) {
		agenttest.Durable(tb, always(code(onboard)), protocol.Text("x"), agenttest.WithSignal("manager", "x"))
	},
		"the run waits (child_run r1.4)")
	for _, o := range []agenttest.Option{agenttest.WithRun("x"), agenttest.WithTimeout(1), agenttest.WithUnknown(func(testing.TB, agenttest.Result) {})} {
		wantTold(t, func(tb testing.TB) { agenttest.Durable(tb, always(wait), protocol.Text("x"), o) }, "fatal: agenttest: With")
	}
	// A run that is stopped, or fails, is no fault of the test.
	r := agenttest.Durable(t, always(wait), protocol.Text("x"), agenttest.WithSignal("cancel", nil))
	if protocol.CodeOf(r.Err) != protocol.CodeCancelled || len(r.Events(protocol.EventCancelled)) != 1 {
		t.Errorf("got %v", r.Err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := agenttest.Durable(t, always(wait), protocol.Text("x"), agenttest.WithContext(ctx)); r.Err == nil {
		t.Error("it went on")
	}
	fail := code(func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		return protocol.OperatorOutput{}, fmt.Errorf("no")
	})
	if r := agenttest.Durable(t, always(fail), protocol.Text("x")); r.Err == nil || r.Err.Error() != "no" {
		t.Errorf("got %v", r.Err)
	}
}
