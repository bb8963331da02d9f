package agent_test

import (
	"context"
	"fmt"
	"time"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

type Clock struct {
	Time string `json:"time"`
}

// An agent with a tool and a limit. The model of the example answers from a script.
func ExampleNew() {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := tool.Func("clock", "Tells the time.", func(_ context.Context, in struct {
		Zone string `json:"zone,omitempty" jsonschema:"IANA name; UTC if empty"`
	},
	) (Clock, error) {
		zone, err := time.LoadLocation(in.Zone)
		if err != nil {
			return Clock{}, err
		}
		return Clock{Time: now.In(zone).Format(time.RFC3339)}, nil
	})
	assistant, err := agent.New(agent.Config{
		Provider: &model{steps: []step{says("", uses("c1", "clock", `{"zone":"UTC"}`)), says("It is four past three.")}},
		Model:    "gpt-4o-mini",
		System:   "You are careful.",
		Tools:    []tool.Tool{clock},
		Limits:   agent.Limits{MaxTurns: 25, MaxCost: new(protocol.MustDecimal("0.50"))},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := assistant.Execute(context.Background(), protocol.Text("What time is it?"))
	if err != nil {
		fmt.Println(err)
		return
	}
	text, _ := out.Message.AsText()
	fmt.Println(text)
	fmt.Println(out.ExitReason, out.Metadata.TurnsUsed, out.Metadata.Cost)
	// Output:
	// It is four past three.
	// complete 2 0.010
}

func ExampleSingleShot() {
	shot, err := agent.SingleShot(agent.Config{Provider: &model{steps: []step{says("Hi!")}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := shot.Execute(context.Background(), protocol.Text("Say hi."))
	text, _ := out.Message.AsText()
	fmt.Println(text, err)
	// Output: Hi! <nil>
}
