package pattern_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/skelegent/skelegent-go/actors/pattern"
	"github.com/skelegent/skelegent-go/protocol"
)

// team stands for the bus: three operators within the process.
var team = protocol.DispatcherFunc(
	func(_ context.Context, id protocol.OperatorID, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		task, _ := in.Message.AsText()
		switch id {
		case "researcher":
			return protocol.Reply("facts about " + task), nil
		case "writer":
			return protocol.Reply("a text of " + task), nil
		case "clerk":
			out := protocol.Reply("")
			out.ExitReason = protocol.Exit(protocol.ExitHandedOff)
			out.Effects = protocol.Effects{protocol.Handoff{Operator: "writer", State: json.RawMessage(`{"task":"a refund"}`)}}
			return out, nil
		}
		return protocol.OperatorOutput{}, protocol.ErrOperatorNotFound(id)
	})

// One after another: each works on what the one before it said.
func ExampleSequential() {
	report := pattern.Sequential(team, "researcher", "writer")
	out, err := report.Execute(context.Background(), protocol.Text("owls"))
	text, _ := out.Message.AsText()
	fmt.Println(text, err)
	// Output: a text of facts about owls <nil>
}

// All at once on the same input. One that fails does not stop the others.
func ExampleParallel() {
	views := pattern.Parallel(team, "researcher", "nobody", "writer")
	out, err := views.Execute(context.Background(), protocol.Text("owls"))
	text, _ := out.Message.AsText()
	fmt.Println(out.ExitReason, err)
	fmt.Println(text)
	// Output:
	// error <nil>
	// facts about owls
	// a text of owls
	// nobody: operator not found: nobody
}

// A selector chooses who begins; who is handed the work goes on.
func ExampleSupervisor() {
	desk, err := pattern.Supervisor(team, pattern.SupervisorConfig{
		Operators: []protocol.OperatorID{"clerk", "researcher", "writer"},
		Select: pattern.FirstMatch(
			pattern.Case{Operator: "researcher", Match: func(in protocol.OperatorInput) bool {
				text, _ := in.Message.AsText()
				return strings.HasSuffix(text, "?")
			}},
			pattern.Case{Operator: "clerk"},
		),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, says := range []string{"owls?", "I want my money back."} {
		out, err := desk.Execute(context.Background(), protocol.Text(says))
		text, _ := out.Message.AsText()
		fmt.Println(text, err)
	}
	// Output:
	// facts about owls? <nil>
	// a text of {"task":"a refund"} <nil>
}
