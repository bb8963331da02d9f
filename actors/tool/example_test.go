package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/skelegent/skelegent-go/actors/tool"
)

type Clock struct {
	Time string `json:"time"`
}

// A Go function as a tool: the schema follows from its input.
func ExampleFunc() {
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
	}, tool.Repeatable(), tool.ParallelSafe())

	ctx := context.Background()
	good, _ := tool.Call(ctx, clock, json.RawMessage(`{"zone":"UTC"}`))
	fmt.Println(good.Text())
	_, err := tool.Call(ctx, clock, json.RawMessage(`{"zone":1}`))
	fmt.Println(err)
	// Output:
	// {"time":"2026-01-02T03:04:05Z"}
	// invalid input: validating /properties/zone: type: 1 has type "integer", want "string"
}
