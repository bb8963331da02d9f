package compose_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// greedy spends all that it may.
func greedy(t *testing.T, name string, seen *[]string) tool.Tool {
	t.Helper()
	return raw(t, name, func(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
		b := protocol.NextCall(ctx).Budget
		if b == nil {
			*seen = append(*seen, "none")
			return tool.Result{}, nil
		}
		*seen = append(*seen, b.Text())
		return tool.Result{Output: json.RawMessage(`1`), Cost: b}, nil
	}, tool.Repeatable(), tool.Spending())
}

// What the tools of a delegate may spend together is the budget of its call, and not that of each of them.
func TestToolsOfADelegateShareItsBudget(t *testing.T) {
	t.Parallel()
	for _, durable := range []bool{false, true} {
		var seen []string
		a := chain(t, compose.AgentConfig{}, tools(t, greedy(t, "a", &seen), greedy(t, "b", &seen)), using("s", "a", "b"))
		budget := protocol.MustDecimal("10")
		op := protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			return stepping(a).Execute(protocol.WithCall(ctx, protocol.Call{Budget: &budget}), in)
		})
		var out protocol.OperatorOutput
		var err error
		if durable {
			r := beginRun(steptest.Config{Budget: &budget})
			out, err = r.Finish(t.Context(), func() protocol.Operator { return op }, nil)
		} else {
			out, err = op.Execute(t.Context(), protocol.Text("go"))
		}
		noErr(t, err)
		same(t, fmt.Sprint("budgets, durable ", durable), []string{"10", "0"}, seen)
		same(t, "cost", "10", out.Metadata.Cost.Text())
	}
}

// Who allows one call of a tool has not allowed the next one.
func TestCallsThatWaitForApprovalHaveIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	calls := 0
	x := raw(t, "x", func(context.Context, json.RawMessage) (tool.Result, error) {
		calls++
		return tool.Result{Output: json.RawMessage(`1`)}, nil
	}, tool.RequiresApproval())
	inner, err := compose.DelegateTool("inner", "", compose.InProcess(chain(t, compose.AgentConfig{}, tools(t, x), using("s", "x", "x"))))
	noErr(t, err)
	op := stepping(chain(t, compose.AgentConfig{}, tools(t, x, inner), using("s", "x", "inner")))
	r := beginRun(steptest.Config{})
	seen := map[string]bool{}
	for range 3 {
		if _, err := r.Execute(t.Context(), op); !step.Unwinding(err) {
			t.Fatalf("got %v", err)
		}
		id := r.Wait().Approval.Pending[0].CallID
		if seen[id] {
			t.Errorf("two calls are %s", id)
		}
		for before := range seen { // once more: it came late
			r.Signal("approve", protocol.Approve{CallIDs: []string{before}})
		}
		if seen[id] = true; len(seen) > 1 {
			if _, err := r.Execute(t.Context(), op); !step.Unwinding(err) || calls != len(seen)-1 {
				t.Fatalf("got %v, %d calls", err, calls)
			}
		}
		r.Signal("approve", protocol.Approve{CallIDs: []string{id}})
	}
	if _, err := r.Execute(t.Context(), op); err != nil || calls != 3 {
		t.Errorf("got %v, %d calls", err, calls)
	}
}

// What was spent before a run went on is gone from its budget once.
func TestABudgetIsTheSameBehindAWait(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"", "10", "7"} {
		var seen []string
		spends := raw(t, "a", func(context.Context, json.RawMessage) (tool.Result, error) {
			return tool.Result{Cost: new(protocol.MustDecimal("4"))}, nil
		}, tool.Repeatable(), tool.Spending())
		waits := compose.NewSkill("wait", func(ctx context.Context, _ *investigation, _ *registry) (outcome, error) {
			return compose.Noop(), step.Sleep(ctx, time.Hour)
		})
		a := chain(t, compose.AgentConfig{}, tools(t, spends, greedy(t, "b", &seen)), using("s1", "a"), waits, using("s2", "b"))
		op := stepping(a)
		want := "6"
		if limit != "" {
			op = protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
				return stepping(a).Execute(protocol.WithCall(ctx, protocol.Call{Budget: new(protocol.MustDecimal(limit))}), in)
			})
		}
		if limit == "7" {
			want = "3"
		}
		r := beginRun(steptest.Config{Budget: new(protocol.MustDecimal("10"))})
		if _, err := r.Finish(t.Context(), func() protocol.Operator { return op }, nil); err != nil {
			t.Fatal(err)
		}
		same(t, "limit "+limit, []string{want}, seen)
	}
}

// Children of a durable run get no more than what is left when they begin.
func TestRemoteDelegatesGetWhatIsLeft(t *testing.T) {
	t.Parallel()
	far, err := tool.Remote(protocol.ToolMetadata{Name: "far"}, nil, "other")
	noErr(t, err)
	var seen []string
	op := protocol.OperatorFunc(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		if _, err := compose.Remote(nil, "coder").Invoke(ctx, nil); err != nil {
			return protocol.OperatorOutput{}, err
		}
		if _, err := tool.Call(ctx, far, nil); err != nil {
			return protocol.OperatorOutput{}, err
		}
		_, err := compose.Remote(nil, "coder").Invoke(ctx, nil)
		return protocol.Reply(""), err
	})
	r := beginRun(steptest.Config{
		Budget: new(protocol.MustDecimal("10")),
		Children: func(_ context.Context, c run.Child, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
			seen = append(seen, c.Budget.Text())
			out := protocol.Reply("1")
			out.Metadata.Cost = protocol.MustDecimal("4")
			return out, nil
		},
	})
	_, err = r.Finish(t.Context(), func() protocol.Operator { return op }, nil)
	noErr(t, err)
	same(t, "budgets", []string{"10", "6", "2"}, seen)
}
