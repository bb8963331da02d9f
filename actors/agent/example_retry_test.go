package agent_test

import (
	"context"
	"fmt"
	"time"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/protocol"
)

// Failed model calls are made again, as late as the provider asks for, and with a growing delay otherwise. The clock of the
// example is moved by whoever sleeps.
func Example_retry() {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := agenttest.NewClock(start)
	model := agenttest.NewModel(nil,
		agenttest.Fail(protocol.ErrRateLimited(20*time.Second)),
		agenttest.Fail(protocol.ErrProviderTransient("overloaded", 529)),
		agenttest.Say("Here I am."),
	)
	patient, err := agent.New(agent.Config{
		Provider: model, Now: clock.Now, Sleep: clock.Skip, Rand: func() float64 { return 0.5 },
		Retry: agent.Retry{Base: time.Second, MaxRetryAfter: time.Minute},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := patient.Execute(context.Background(), protocol.Text("Hello?"))
	text, _ := out.Message.AsText()
	fmt.Println(text, err)
	fmt.Println(model.Calls(), "calls in", clock.Now().Sub(start))
	// Output:
	// Here I am. <nil>
	// 3 calls in 21s
}
