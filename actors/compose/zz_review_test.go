package compose_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compose"
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
