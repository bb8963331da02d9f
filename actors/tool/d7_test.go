package tool_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Case D7.9 of the specification, as far as a function in Go has what a macro in Rust has.
func TestD7Fact9Schemas(t *testing.T) {
	t.Parallel()
	type weather struct {
		Location string `json:"location"`
	}
	type search struct {
		Query string `json:"query"`
		Limit int    `json:"limit,omitempty"`
	}
	type optional struct {
		Query string `json:"query"`
		Limit *int   `json:"limit,omitempty"`
	}
	answer := func(any) (string, error) { return "ok", nil }
	for name, c := range map[string]struct {
		tool tool.Tool
		want string
	}{
		"required": {
			tool.Func("get_weather", "", func(_ context.Context, in weather) (string, error) { return answer(in) }),
			`{"type":"object","properties":{"location":{"type":"string"}},"required":["location"],"additionalProperties":false}`,
		},
		"optional": {
			tool.Func("search", "", func(_ context.Context, in search) (string, error) { return answer(in) }),
			`{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"}},"required":["query"],"additionalProperties":false}`,
		},
		"optional, told from 0": {
			tool.Func("search", "", func(_ context.Context, in optional) (string, error) { return answer(in) }),
			`{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":["null","integer"]}},"required":["query"],"additionalProperties":false}`,
		},
		"no parameters, and the context is none": {
			tool.Func("ping", "", func(context.Context, struct{}) (string, error) { return "ok", nil }),
			`{"type":"object","properties":{},"additionalProperties":false}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := string(c.tool.Metadata().InputSchema); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestD7Fact9AbsentIsNull(t *testing.T) {
	t.Parallel()
	x := tool.Func("search", "", func(_ context.Context, in struct {
		Query string `json:"query"`
		Limit *int   `json:"limit,omitempty"`
	},
	) (*int, error) {
		return in.Limit, nil
	})
	for in, want := range map[string]string{`{"query":"a"}`: "null", `{"query":"a","limit":null}`: "null", `{"query":"a","limit":0}`: "0"} {
		if got, err := call(t, x, in); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", in, got, err, want)
		}
	}
	_, err := tool.Call(t.Context(), x, json.RawMessage(`{"query":"a","limit":"3"}`))
	wantKind(t, err, protocol.KindToolInvalidInput)
}

func TestD7Fact9ConcurrencyHint(t *testing.T) {
	t.Parallel()
	if echo().Metadata().ParallelSafe || !echo(tool.ParallelSafe()).Metadata().ParallelSafe {
		t.Error("the hint is not what the option says")
	}
}
