package agent_test

import (
	"context"
	"fmt"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/protocol"
)

// The answer as a Go value: its schema follows from the type, and the model gets what does not fit back with what is wrong.
func Example_output() {
	type weather struct {
		City   string `json:"city"`
		Degree int    `json:"degree"`
	}
	type result map[string]map[string]any
	model := agenttest.NewModel(nil,
		agenttest.Call(agent.DefaultOutputTool, result{"result": {"city": "Oslo", "degree": "cold"}}),
		agenttest.Call(agent.DefaultOutputTool, result{"result": {"city": "Oslo", "degree": -7}}),
	)
	station, err := agent.New(agent.Config{Provider: model, Output: agent.OutputOf[weather]()})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := station.Execute(context.Background(), protocol.Text("How is Oslo?"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(model.Request(1).ToolResult("call_1").Content)
	w, err := agent.ResultOf[weather](out)
	fmt.Println(w.City, w.Degree, err)
	// Output:
	// Validation error: validating /properties/degree: type: cold has type "string", want "integer"
	// Oslo -7 <nil>
}
