package agent_test

import (
	"context"
	"fmt"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/budget"
	"github.com/skelegent/skelegent-go/protocol"
)

// Runs that share an account never spend more than it has, however many there are at a time: before each model call the most that
// it can cost is reserved. If there is less, the answer is made shorter, or the call is not made.
func Example_budget() {
	model := agenttest.NewModel(nil,
		agenttest.Say("First.").Usage(1000, 1000),
		agenttest.Say("Second.").Usage(1000, 1000),
	).WithPrice("10", "40") // USD per million tokens
	writer, err := agent.New(agent.Config{Provider: model, MaxTokens: 1500})
	if err != nil {
		fmt.Println(err)
		return
	}
	limit := protocol.MustDecimal("0.102")
	ctx := budget.With(context.Background(), budget.New(&limit))
	for range 3 {
		out, err := writer.Execute(ctx, protocol.Text("Write."))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(out.ExitReason, "for", out.Metadata.Cost.Text())
	}
	for _, asked := range model.Requests() {
		fmt.Println("asked for at most", *asked.MaxTokens, "tokens")
	}
	// Output:
	// complete for 0.05
	// complete for 0.05
	// budget_exhausted for 0
	// asked for at most 1500 tokens
	// asked for at most 1298 tokens
}
