package agent_test

import (
	"context"
	"fmt"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Somebody says something to a run while it works. It comes before the next model call, behind the results. Durable runs are
// steered by the signal steer.
func Example_steer() {
	inbox := &agent.Inbox{}
	dig := tool.Func("dig", "Digs.", func(context.Context, struct{}) (string, error) {
		inbox.Say("Mind the roots!") // anybody may, at any time
		return "a hole", nil
	})
	model := agenttest.NewModel(nil, agenttest.Call("dig", nil), agenttest.Say("I did."))
	gardener, err := agent.New(agent.Config{Provider: model, Tools: []tool.Tool{dig}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := gardener.Execute(agent.WithInbox(context.Background(), inbox), protocol.Text("Dig.")); err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range model.Request(1).Conversation() {
		fmt.Println(line)
	}
	// Output:
	// user: Dig.
	// call call_1: dig {}
	// result call_1: a hole
	// user: Mind the roots!
}
