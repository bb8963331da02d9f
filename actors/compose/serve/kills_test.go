package serve_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/budget"
	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/compose/dispatch"
	"github.com/skelegent/skelegent-go/actors/compose/serve"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// However a run is killed, chains in chains, remote delegates and remote tools give what they would have given: no effect and no
// cost is lost or there twice, by plain calls and by a dispatch with hooks.
func TestNestedChainsSurviveKills(t *testing.T) {
	t.Parallel()
	cent := protocol.MustDecimal("0.01")
	paid := func(name string, opts ...tool.Option) tool.Tool {
		x, err := tool.Raw(protocol.ToolMetadata{Name: name}, func(context.Context, json.RawMessage) (tool.Result, error) {
			return tool.Result{Output: json.RawMessage(`"` + name + `"`), Cost: &cent, Effects: protocol.Effects{protocol.Log{Level: protocol.LogInfo, Message: name}}}, nil
		}, opts...)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	member := protocol.OperatorFunc(func(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		out := protocol.Reply(`{"a":1}`)
		out.Metadata.Cost = cent
		out.Effects = protocol.Effects{protocol.Log{Level: protocol.LogInfo, Message: "member"}}
		return out, nil
	})
	d := agenttest.Operators(map[protocol.OperatorID]protocol.Operator{"m": member})
	mk := func(name string, calls []string, via bool, tools ...tool.Tool) *compose.ChainAgent {
		set, err := compose.NewTools(tools...)
		if err != nil {
			t.Fatal(err)
		}
		skills, _ := compose.NewSkills(compose.NewSkill("s", func(ctx context.Context, inv *compose.Investigation, ts *compose.Tools) (compose.Outcome, error) {
			if via {
				var cs []protocol.ToolCall
				for _, c := range calls {
					cs = append(cs, protocol.ToolCall{Name: c, Input: json.RawMessage(`{}`)})
				}
				res, err := dispatch.Dispatch(ctx, ts, cs, dispatch.WithHooks(dispatch.BudgetHook(budget.NewCounter(1), 1)))
				if err != nil {
					return compose.Outcome{}, err
				}
				for _, r := range res {
					inv.AddEvidence(compose.Evidence{SourceSkill: "s", Label: r.Call.Name, Detail: r.Output})
				}
				return compose.Delta(0.1), nil
			}
			for _, c := range calls {
				res, err := ts.Invoke(ctx, c, nil)
				if err != nil {
					return compose.Outcome{}, err
				}
				inv.AddEvidence(compose.Evidence{SourceSkill: "s", Label: c, Detail: res.Output})
			}
			return compose.Delta(0.1), nil
		}))
		a, err := compose.NewAgent(name, skills, set, compose.AgentConfig{Skills: []string{"s"}})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, via := range []bool{false, true} {
		rem, _ := compose.DelegateTool("rem", "", compose.Remote(nil, "m"))
		far, _ := tool.Remote(protocol.ToolMetadata{Name: "far"}, nil, "m")
		res := agenttest.SurvivesKills(t, func() protocol.Operator {
			inner := mk("inner", []string{"b", "rem", "far"}, via, paid("b", tool.Repeatable()), rem, far)
			del, err := compose.DelegateTool("del", "", compose.InProcess(inner))
			if err != nil {
				t.Fatal(err)
			}
			return serve.Chain(mk("outer", []string{"a", "del", "far"}, via, paid("a", tool.Repeatable()), del, far), serve.ChainConfig{Now: func() time.Time { return time.Unix(1, 0) }})
		}, protocol.Text("x"), agenttest.WithOperators(d), agenttest.WithBudget("1"))
		if got := res.Output.Metadata.Cost.String(); got != "0.05" || len(res.Output.Effects) != 5 {
			t.Errorf("it cost %s, and declared %d effects", got, len(res.Output.Effects))
		}
	}
}
