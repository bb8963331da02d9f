package agent_test

import (
	"context"
	"fmt"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// A durable run is suspended until a person has decided on a call, for days if it takes days, and holds nothing meanwhile. On a
// node the answer is the signal approve or deny; here package steptest stands for the node.
func Example_approval() {
	order := tool.Func("order", "Orders something.", func(_ context.Context, in struct {
		What string `json:"what"`
	},
	) (string, error) {
		fmt.Println("ordered", in.What)
		return "ordered", nil
	}, tool.RequiresApproval())
	model := agenttest.NewModel(nil,
		agenttest.Say("May I?").And("order", map[string]string{"what": "tea"}),
		agenttest.Say("The tea is on its way."),
	)
	buyer, err := agent.New(agent.Config{Provider: model, Tools: []tool.Tool{order}})
	if err != nil {
		fmt.Println(err)
		return
	}
	node := steptest.New(steptest.Config{Operator: "buyer"})
	node.Input(protocol.Text("We have no tea."), run.Enqueue)

	_, err = node.Execute(context.Background(), buyer)
	fmt.Println(err)
	for _, call := range node.Wait().Approval.Pending {
		fmt.Println("pending:", call.ToolName, string(call.ToolInput))
	}

	node.Signal(run.SignalApprove, nil)
	out, err := node.Execute(context.Background(), buyer) // from the top; what the model said is in the log
	text, _ := out.Message.AsText()
	fmt.Println(text, err)
	// Output:
	// the run is suspended: approval
	// pending: order {"what":"tea"}
	// ordered tea
	// The tea is on its way. <nil>
}
