package agent_test

import (
	"context"
	"fmt"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/protocol"
)

// What the model says can be seen while it says it.
func Example_stream() {
	model := agenttest.NewModel(nil, agenttest.Say("Owls see well at night."))
	teller, err := agent.New(agent.Config{Provider: model})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := agent.WithStream(context.Background(), func(e protocol.StreamEvent) {
		switch e := e.(type) {
		case protocol.TextDelta:
			fmt.Printf("[%s]", e.Text)
		case protocol.Done: // of this answer; one that calls tools is followed by another
			fmt.Println(" and that took", e.Response.Usage.OutputTokens, "tokens")
		}
	})
	if _, err := teller.Execute(ctx, protocol.Text("Tell me of owls.")); err != nil {
		fmt.Println(err)
	}
	// Output:
	// [Owls s][ee wel][l at n][ight.] and that took 5 tokens
}
