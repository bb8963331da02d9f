package dispatch_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/skelegent/skelegent-go/actors/budget"
	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/compose/dispatch"
	"github.com/skelegent/skelegent-go/protocol"
)

func ExampleDispatch() {
	tools, err := compose.NewTools(returns("get_weather", `{"sky":"clear"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	berlin, _ := compose.NewCall("1", "get_weather", []byte(`{"city":"Berlin"}`))
	again, _ := compose.NewCall("2", "get_weather", []byte(`{ "city": "Berlin" }`))
	results, err := dispatch.Dispatch(context.Background(), tools, []protocol.ToolCall{berlin, again}, dispatch.WithHooks(
		dispatch.BudgetHook(budget.NewCounter(8), 1), dispatch.StuckLoopHook(1),
	))
	for _, r := range results {
		fmt.Println(r.Call.ID, r.Outcome.Kind, string(r.Output))
	}
	fmt.Println(errors.Is(err, &protocol.Error{Kind: compose.KindDispatchTerminated}))
	fmt.Println(err)
	// Output:
	// 1 completed {"sky":"clear"}
	// true
	// tool dispatch terminated: stuck loop detected: `get_weather` was requested 2 times with the same arguments
}
