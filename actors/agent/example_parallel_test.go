package agent_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// The calls of one answer run side by side where their tools say that they can. The model sees the results in the order of its
// calls, whichever ended first.
func Example_parallel() {
	var both sync.WaitGroup
	both.Add(2)
	search := tool.Func("search", "Searches.", func(_ context.Context, in struct {
		For string `json:"for"`
	},
	) (string, error) {
		both.Done()
		both.Wait() // until the other call is made, too
		return "found " + in.For, nil
	}, tool.ParallelSafe(), tool.Repeatable())

	model := agenttest.NewModel(nil,
		agenttest.Call("search", map[string]string{"for": "owls"}).And("search", map[string]string{"for": "bats"}),
		agenttest.Say("There are both."),
	)
	finder, err := agent.New(agent.Config{Provider: model, Tools: []tool.Tool{search}, MaxParallel: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := finder.Execute(context.Background(), protocol.Text("What is there?"))
	for _, r := range model.Request(1).ToolResults() {
		fmt.Println(r.Content)
	}
	text, _ := out.Message.AsText()
	fmt.Println(text, err)
	// Output:
	// found owls
	// found bats
	// There are both. <nil>
}
