package serve_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/compose/serve"
	"github.com/skelegent/skelegent-go/actors/compose/workflow"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// Members that spend all that they may never spend more together than the input allows, in whatever order they are asked.
func TestAWorkflowNeverSpendsMoreThanItMay(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var given []string
	part := func(share string) protocol.Operator {
		return protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			out := protocol.Reply("x")
			mu.Lock()
			defer mu.Unlock()
			b := protocol.InvocationFrom(ctx).Budget
			if b == nil {
				given = append(given, "none")
				return out, nil
			}
			given = append(given, b.Text())
			out.Metadata.Cost = protocol.Decimal{Decimal: b.Mul(protocol.MustDecimal(share).Decimal)}
			return out, nil
		})
	}
	d := agenttest.Operators(map[protocol.OperatorID]protocol.Operator{"most": part("0.8"), "all": part("1")})
	ask := func(id protocol.OperatorID) workflow.Workflow[string, string] {
		return serve.Operator[string, string](d, id)
	}
	first := workflow.Func("first", func(_ context.Context, in []string) (string, error) { return in[0], nil })
	par := func(all ...workflow.Workflow[string, string]) workflow.Workflow[string, string] {
		return workflow.Then("t", workflow.Parallel("p", 0, all...), first)
	}
	for name, w := range map[string]workflow.Workflow[string, string]{
		"parallel behind another": workflow.Sequence("s", ask("most"), par(ask("all"), ask("all"))),
		"two in one branch":       par(workflow.Sequence("s", ask("most"), ask("all")), ask("all")),
		"parallel in a branch":    par(workflow.Sequence("s", ask("most"), par(ask("all"), ask("all"))), ask("all")),
	} {
		given = nil
		in := protocol.Text("x")
		in.Config = &protocol.OperatorConfig{MaxCost: new(protocol.MustDecimal("10"))}
		out, err := serve.Workflow(w).Execute(t.Context(), in)
		if err != nil || out.Metadata.Cost.GreaterThan(decimal.NewFromInt(10)) {
			t.Errorf("%s: it cost %s of 10: %v, %v", name, out.Metadata.Cost.Text(), given, err)
		}
	}
}

// A run that goes on knows what the branches cost that are in its log, also where its limit is that of the input alone.
func TestAWorkflowThatGoesOnKnowsWhatItSpent(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var given []string
	part := func(share string) protocol.Operator {
		return protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			mu.Lock()
			defer mu.Unlock()
			out, b := protocol.Reply("x"), protocol.InvocationFrom(ctx).Budget
			given = append(given, b.Text())
			out.Metadata.Cost = protocol.Decimal{Decimal: b.Mul(protocol.MustDecimal(share).Decimal)}
			return out, nil
		})
	}
	d := agenttest.Operators(map[protocol.OperatorID]protocol.Operator{"most": part("0.8"), "all": part("1")})
	ask := func(id protocol.OperatorID) workflow.Workflow[string, string] {
		return serve.Operator[string, string](nil, id)
	}
	first := workflow.Func("first", func(ctx context.Context, in []string) (string, error) {
		return in[0], step.Sleep(ctx, time.Hour) // it goes on in another process
	})
	w := workflow.Then("t", workflow.Then("p", workflow.Parallel("p", 0, ask("most")), first), ask("all"))
	in := protocol.Text("x")
	in.Config = &protocol.OperatorConfig{MaxCost: new(protocol.MustDecimal("10"))}
	res := agenttest.Durable(t, func() protocol.Operator { return serve.Workflow(w) }, in, agenttest.WithOperators(d))
	if got := res.Output.Metadata.Cost; res.Err != nil || got.GreaterThan(decimal.NewFromInt(10)) {
		t.Errorf("it cost %s of 10: %v, %v", got.Text(), given, res.Err)
	}
}
