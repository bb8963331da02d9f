package agent_test

import (
	"context"
	"fmt"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// An agent asks another one by a tool, and then hands the work over for good. On a cluster the dispatcher is that of package bus;
// here both are in the process.
func Example_operators() {
	expert, err := agent.New(agent.Config{Provider: agenttest.NewModel(nil, agenttest.Say("It is a barn owl.").Costs("0.02"))})
	if err != nil {
		fmt.Println(err)
		return
	}
	bus := agenttest.Operators(map[protocol.OperatorID]protocol.Operator{"expert": expert})
	model := agenttest.NewModel(nil,
		agenttest.Call("ask_expert", map[string]string{"message": "White, and with a heart for a face?"}).Costs("0.01"),
		agenttest.Call("transfer_to_ranger", map[string]string{"reason": "a barn owl in the attic"}).Costs("0.01"),
	)
	desk, err := agent.New(agent.Config{Provider: model, Tools: []tool.Tool{
		tool.Ask(bus, "expert", "Knows birds."), tool.Handoff("ranger", "Catches birds."),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := desk.Execute(context.Background(), protocol.Text("There is a bird in the attic."))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(model.Request(1).ToolResult("call_1").Content)
	fmt.Println(out.ExitReason, "for", out.Metadata.Cost.Text())
	if h, ok := out.Effects[0].(protocol.Handoff); ok {
		fmt.Println(h.Operator, string(h.State))
	}
	// Output:
	// It is a barn owl.
	// handed_off for 0.04
	// ranger {"task":"a barn owl in the attic"}
}
