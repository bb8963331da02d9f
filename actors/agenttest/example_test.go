package agenttest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// An agent under test: its model is a script, and the result has all that observers and executors would see. In a test give t in
// place of nil; then steps that nobody took fail it.
func Example() {
	model := agenttest.NewModel(nil,
		agenttest.Call(tool.NameMemoryStore, map[string]any{"key": "name", "value": "Ann"}),
		agenttest.Say("Nice to meet you, Ann."),
	)
	greeter, err := agent.New(agent.Config{Provider: model, System: "Remember names.", Tools: []tool.Tool{tool.MemoryStore()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := agenttest.Run(nil, greeter, protocol.Text("I am Ann."), agenttest.WithSession("s1"))
	fmt.Println(r.Text(), r.Err)
	fmt.Println("asked:", model.Request(0).LastUser(), model.Request(0).Tools())
	for _, w := range agenttest.Effects[protocol.WriteMemory](r) {
		fmt.Println("writes:", w.Key, string(w.Value))
	}
	fmt.Println("calls:", len(r.Events(protocol.EventToolCallAssembled)))
	// Output:
	// Nice to meet you, Ann. <nil>
	// asked: I am Ann. [memory_store]
	// writes: name "Ann"
	// calls: 1
}

// Whatever happens to its process, this agent pays once, and says the same. In a test, give t.
func ExampleSurvivesKills() {
	var t testing.TB
	pay := tool.Func("pay", "Pays the bill.", func(context.Context, struct{}) (string, error) { return "paid", nil }, tool.RequiresApproval())
	model := agenttest.NewModel(t, agenttest.Call("pay", nil), agenttest.Say("The bill is paid."))
	clerk := func() protocol.Operator {
		a, err := agent.New(agent.Config{Provider: model, Tools: agenttest.Watch(pay)})
		if err != nil {
			panic(err)
		}
		return a
	}
	r := agenttest.SurvivesKills(t, clerk, protocol.Text("Pay the bill."), agenttest.WithSignal("approve", nil))
	fmt.Println(r.Text())
	fmt.Println("waited for:", r.Waits[0].Reason)
	fmt.Println("killed before and after each of", r.Records, "records")
	// Output:
	// The bill is paid.
	// waited for: approval
	// killed before and after each of 5 records
}

// A clock for what a test does at another time.
func ExampleClock() {
	ctx := context.Background()
	clock := agenttest.NewClock(time.Date(2026, 1, 2, 9, 0, 0, 0, time.UTC))
	done := make(chan error)
	go func() { done <- clock.Sleep(ctx, 3*time.Hour) }()
	if err := clock.WaitForSleepers(ctx, 1); err != nil { // else it could be advanced too early
		fmt.Println(err)
	}
	clock.Advance(3 * time.Hour)
	fmt.Println(<-done, clock.Now().Format(time.TimeOnly))
	// Output: <nil> 12:00:00
}
