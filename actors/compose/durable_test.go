package compose_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// stepping is an operator that is one delegation to the agent; it says what came back.
func stepping(a compose.Agent) protocol.Operator {
	return protocol.OperatorFunc(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		res, err := compose.InProcess(a).Invoke(ctx, nil)
		if err != nil {
			return protocol.OperatorOutput{}, err
		}
		out := protocol.Reply(res.Text())
		out.Effects = res.Effects
		if res.Cost != nil {
			out.Metadata.Cost = *res.Cost
		}
		return out, nil
	})
}

func beginRun(cfg steptest.Config) *steptest.Run {
	r := steptest.New(cfg)
	r.Input(protocol.Text("go"), run.Enqueue)
	return r
}

// counting is a tool that counts its calls by their idempotency keys, and costs something.
type counting struct {
	mu    sync.Mutex
	calls map[string]int
}

func (c *counting) tool(t *testing.T, name string, failure error, opts ...tool.Option) tool.Tool {
	t.Helper()
	return raw(t, name, func(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.calls[name+" "+tool.CallFrom(ctx).IdempotencyKey]++
		d := protocol.MustDecimal("0.1")
		return tool.Result{Output: json.RawMessage(`1`), Effects: protocol.Effects{protocol.Log{Level: protocol.LogInfo, Message: name}}, Cost: &d}, failure
	}, opts...)
}

// A run that is killed before or behind any of its records gives what it would have given, and calls no tool twice unless it may.
func TestToolCallsOfAChainAreStepsOfADurableRun(t *testing.T) {
	t.Parallel()
	finish := func(kill func(*steptest.Run)) (string, map[string]int, *steptest.Run) {
		c := &counting{calls: map[string]int{}}
		swallowing := compose.NewSkill("swallow", func(ctx context.Context, inv *investigation, r *registry) (outcome, error) {
			_, err := r.Invoke(ctx, "fails", nil)
			if step.Unwinding(err) {
				return compose.Outcome{}, err
			}
			if err != nil {
				inv.AddSignal(compose.Signal(err.Error()))
			}
			return compose.Delta(0.1), nil
		})
		view := tools(t, c.tool(t, "a", nil, tool.Repeatable()), c.tool(t, "b", nil), c.tool(t, "fails", errBoom))
		a := chain(t, compose.AgentConfig{}, view, using("s1", "a", "b"), swallowing, using("s2", "a"))
		r := beginRun(steptest.Config{Budget: new(protocol.MustDecimal("5"))})
		kill(r)
		out, err := r.Finish(t.Context(), func() protocol.Operator { return stepping(a) }, nil)
		if err != nil {
			return err.Error(), c.calls, r
		}
		text, _ := out.Message.AsText()
		return fmt.Sprint(text, len(out.Effects), out.Metadata.Cost.Text()), c.calls, r
	}
	want, calls, r := finish(func(*steptest.Run) {})
	same(t, "calls", map[string]int{"a r1/1": 1, "b r1/2": 1, "fails r1/3": 1, "a r1/4": 1}, calls)
	same(t, "cost of the run", "0.4", r.Fold().Cost.Text())
	for at, kill := range steptest.Kills(r.Records()) {
		got, calls, _ := finish(kill)
		for call, n := range calls {
			if n > 1 && call[0] != 'a' {
				t.Errorf("%s: %s was called %d times", at, call, n)
			}
		}
		if got != want && !strings.Contains(got, "is unknown") { // of one that may not be called twice
			t.Errorf("%s: got %s, want %s", at, got, want)
		}
	}
}

func TestACallWithAnUnknownOutcomeIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	c := &counting{calls: map[string]int{}}
	a := chain(t, compose.AgentConfig{}, tools(t, c.tool(t, "b", nil)), using("s", "b"))
	r := beginRun(steptest.Config{})
	r.KillBefore(2) // the call was made, and is not recorded
	_, err := r.Finish(t.Context(), func() protocol.Operator { return stepping(a) }, nil)
	if e := wantKind(t, err, compose.KindToolFailed); e.Retryable || c.calls["b r1/1"] != 1 {
		t.Errorf("got %v, %v", e, c.calls)
	}
}

// What a skill is told of a failure is the same whenever the run goes on, with its cost.
func TestFailuresOfToolsAreRecordedWithTheirCost(t *testing.T) {
	t.Parallel()
	c := &counting{calls: map[string]int{}}
	limited := protocol.NewError(protocol.CodePermissionDenied, "no").With("who", "me")
	a := chain(t, compose.AgentConfig{}, tools(t, c.tool(t, "x", limited, tool.Repeatable())), using("s", "x"))
	r := beginRun(steptest.Config{})
	r.KillAfter(1)
	_, err := r.Finish(t.Context(), func() protocol.Operator { return stepping(a) }, nil)
	e := wantKind(t, err, compose.KindToolFailed)
	if e.Message != "tool invocation failed: no" || e.Code != protocol.CodePermissionDenied || e.Details["who"] != "me" || c.calls["x r1/1"] != 1 {
		t.Errorf("got %v, %v", e, c.calls)
	}
	same(t, "cost", "0.1", r.Fold().Cost.Text())
}

func TestARetryableFailureOfARepeatableToolIsNotRecorded(t *testing.T) {
	t.Parallel()
	for repeatable, records := range map[bool]int{true: 0, false: 2} {
		c := &counting{calls: map[string]int{}}
		var opts []tool.Option
		if repeatable {
			opts = append(opts, tool.Repeatable())
		}
		later := protocol.NewError(protocol.CodeUnavailable, "later")
		a := chain(t, compose.AgentConfig{}, tools(t, c.tool(t, "x", later, opts...)), using("s", "x"))
		r := beginRun(steptest.Config{})
		_, err := r.Execute(t.Context(), stepping(a))
		if e := wantKind(t, err, compose.KindToolFailed); e.Retryable != repeatable || r.Records() != records {
			t.Errorf("repeatable %v: got %+v, %d records", repeatable, e, r.Records())
		}
	}
}

func TestAResultThatCannotBeKeptIsAFailure(t *testing.T) {
	t.Parallel()
	x := raw(t, "x", func(context.Context, json.RawMessage) (tool.Result, error) {
		return tool.Result{Output: json.RawMessage(`{`)}, nil
	})
	r := beginRun(steptest.Config{})
	_, err := r.Execute(t.Context(), stepping(chain(t, compose.AgentConfig{}, tools(t, x), using("s", "x"))))
	if e := wantKind(t, err, compose.KindToolFailed); e.Code != protocol.CodeInternal {
		t.Errorf("got %v", e)
	}
}

func TestADurableRunWaitsForApproval(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`"ApproveAll"`: "", `{"RejectAll":{"reason":"risky"}}`: "The call was denied: risky",
		`{"Modify":{"call_id":"r1/1","new_input":{"a":1}}}`: "",
	} {
		var input string
		x := raw(t, "x", func(_ context.Context, in json.RawMessage) (tool.Result, error) {
			input = string(in)
			return tool.Result{Output: json.RawMessage(`1`)}, nil
		}, tool.RequiresApproval())
		op := stepping(chain(t, compose.AgentConfig{}, tools(t, x), using("s", "x")))
		r := beginRun(steptest.Config{})
		if _, err := r.Execute(t.Context(), op); !step.Unwinding(err) || input != "" || r.Wait().Reason != run.WaitApproval {
			t.Fatalf("got %v", err)
		}
		signal := "approve"
		if want != "" {
			signal = "deny"
		}
		r.Signal(signal, json.RawMessage(answer))
		_, err := r.Execute(t.Context(), op)
		switch {
		case want != "":
			if e := wantKind(t, err, compose.KindToolNotAuthorised); e.Message != want || input != "" {
				t.Errorf("got %v, %s", e, input)
			}
		case err != nil || (input == `{"a":1}`) != strings.Contains(answer, "Modify"):
			t.Errorf("got %v, %s", err, input)
		}
	}
}

// The run finds the child that it began, takes its effects, and holds nothing meanwhile.
func TestARemoteDelegateIsACallOfADurableRun(t *testing.T) {
	t.Parallel()
	nobody := protocol.DispatcherFunc(func(context.Context, protocol.OperatorID, protocol.OperatorInput) (output, error) {
		t.Error("a durable run used its dispatcher")
		return protocol.OperatorOutput{}, errBoom
	})
	remote := delegateTool(t, compose.Remote(nobody, "coder"))
	a := chain(t, compose.AgentConfig{}, tools(t, remote), using("s", "ask"))
	op := protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		return stepping(a).Execute(protocol.WithCall(ctx, protocol.Call{Budget: new(protocol.MustDecimal("0.5"))}), in)
	})
	r := beginRun(steptest.Config{Budget: new(protocol.MustDecimal("1"))})
	if _, err := r.Execute(t.Context(), op); !step.Unwinding(err) {
		t.Fatalf("got %v", err)
	}
	e, ok := r.Entry("1.1")
	if !ok || !e.Begun || e.Child.Operator != "coder" || !e.Child.TakeEffects || e.Child.Budget == nil || e.Child.Budget.Text() != "0.5" {
		t.Fatalf("got %v, %+v", ok, e.Child)
	}
	out := protocol.Reply(`{"a":1}`)
	out.Metadata.Cost, out.Effects = protocol.MustDecimal("0.2"), protocol.Effects{protocol.Log{Level: protocol.LogInfo, Message: "m"}}
	r.EndChild(e.Child.Run, out, nil)
	got, err := r.Execute(t.Context(), op)
	if err != nil || len(got.Effects) != 1 || got.Metadata.Cost.Text() != "0.2" {
		t.Errorf("got %+v, %v", got, err)
	}
	same(t, "cost of the run", "0.2", r.Fold().Cost.Text())
}

func TestTheFailureOfARemoteDelegateInADurableRun(t *testing.T) {
	t.Parallel()
	child := func(context.Context, run.Child, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		return protocol.OperatorOutput{}, protocol.NewError(protocol.CodePermissionDenied, "no")
	}
	a := chain(t, compose.AgentConfig{}, tools(t, delegateTool(t, compose.Remote(nil, "coder"))), using("s", "ask"))
	r := beginRun(steptest.Config{Children: child})
	_, err := r.Finish(t.Context(), func() protocol.Operator { return stepping(a) }, nil)
	if e := wantKind(t, err, compose.KindToolFailed); e.Code != protocol.CodePermissionDenied || errors.Is(err, errBoom) {
		t.Errorf("got %v", err)
	}
}

func TestCostsBelowNestedDelegatesAreRecordedOnce(t *testing.T) {
	t.Parallel()
	finish := func(kill func(*steptest.Run)) (string, *steptest.Run) {
		c := &counting{calls: map[string]int{}}
		nest := func(name string, x tool.Tool) tool.Tool {
			a := chain(t, compose.AgentConfig{}, tools(t, x), using("s", x.Metadata().Name))
			d, err := compose.DelegateTool(name, "", compose.InProcess(a))
			noErr(t, err)
			return d
		}
		d := nest("outer", nest("inner", c.tool(t, "a", nil, tool.Repeatable())))
		a := chain(t, compose.AgentConfig{}, tools(t, d), using("s", "outer"))
		r := beginRun(steptest.Config{})
		kill(r)
		out, err := r.Finish(t.Context(), func() protocol.Operator { return stepping(a) }, nil)
		noErr(t, err)
		return out.Metadata.Cost.Text(), r
	}
	_, r := finish(func(*steptest.Run) {})
	same(t, "cost", "0.1", r.Fold().Cost.Text())
	for at, kill := range steptest.Kills(r.Records()) {
		got, r := finish(kill)
		if got != "0.1" || r.Fold().Cost.Text() != "0.1" {
			t.Errorf("%s: output %s, run %s", at, got, r.Fold().Cost.Text())
		}
	}
}
