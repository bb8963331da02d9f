package rule_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/rule"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// budget ends runs that cost more than a dollar.
type budget struct{ rule.NopHooks }

func (budget) AfterInference(_ context.Context, s rule.State, _ protocol.Content) rule.Action {
	if s.Cost.GreaterThan(protocol.MustDecimal("1.00").Decimal) {
		return rule.Halt("budget exceeded $1.00")
	}
	return rule.Continue()
}

func ExampleHooks_budget() {
	dear := says("Let me look.", uses("c1", "look", `{}`))
	dear.Cost = new(protocol.MustDecimal("0.60"))
	a, err := agent.New(agent.Config{
		Provider: &model{answers: []protocol.InferResponse{dear}}, Rules: rule.FromHooks("budget", 50, budget{}),
		Tools: []tool.Tool{tool.Func("look", "", func(context.Context, struct{}) (string, error) { return "nothing", nil })},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := a.Execute(context.Background(), protocol.Text("Find it."))
	fmt.Println(out.ExitReason, out.Metadata.TurnsUsed, err)
	// Output: interceptor_halt: budget exceeded $1.00 2 <nil>
}

// stripSecret keeps keys from tools.
type stripSecret struct{ rule.NopHooks }

func (stripSecret) BeforeToolCall(_ context.Context, _ rule.State, _ string, input json.RawMessage) rule.Action {
	var members map[string]json.RawMessage
	if json.Unmarshal(input, &members) != nil || members["api_key"] == nil {
		return rule.Continue()
	}
	delete(members, "api_key")
	cleaned, err := json.Marshal(members)
	if err != nil {
		return rule.Halt("the input cannot be cleaned")
	}
	return rule.ModifyInput(cleaned)
}

func ExampleHooks_stripSecret() {
	search, err := tool.Raw(protocol.ToolMetadata{Name: "search"}, func(_ context.Context, in json.RawMessage) (tool.Result, error) {
		fmt.Println("searched with", string(in))
		return tool.Result{Output: json.RawMessage(`"found"`)}, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := agent.New(agent.Config{
		Provider: &model{answers: []protocol.InferResponse{
			says("", uses("c1", "search", `{"q":"tea","api_key":"sk-1"}`)), says("Here it is."),
		}},
		Tools: []tool.Tool{search}, Rules: rule.FromHooks("strip secret", 50, stripSecret{}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := a.Execute(context.Background(), protocol.Text("Find tea."))
	fmt.Println(out.ExitReason, err)
	// Output:
	// searched with {"q":"tea"}
	// complete <nil>
}

// Limits beside those of the agent. What the last answer costs does not take it away.
func ExampleBudget() {
	limit := protocol.MustDecimal("0.004")
	a, err := agent.New(agent.Config{
		Provider: &model{answers: []protocol.InferResponse{says("Hello!")}}, Rules: rule.Budget(engine.Limits{MaxCost: &limit, MaxTurns: 25}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := a.Execute(context.Background(), protocol.Text("Hi."))
	text, _ := out.Message.AsText()
	fmt.Println(text, out.ExitReason, out.Metadata.Cost, err)
	// Output: Hello! complete 0.005 <nil>
}
