package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// doubling is a schema in which each of n schemas refers to the next one twice.
func doubling(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	return fmt.Sprintf(`{"type":"object","$ref":"#/$defs/a0","$defs":{%s"a%d":{}}}`, b.String(), n)
}

// A schema may come from anywhere. None ends the process or takes for ever, when it is read, shown or applied.
func TestHostileSchemas(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"items":`, 9000) + `{"title":"x"}` + strings.Repeat("}", 9000)
	for name, c := range map[string]struct {
		schema string
		ok     bool
	}{
		"itself":               {`{"type":"object","$ref":"#"}`, false},
		"itself in a choice":   {`{"type":"object","allOf":[{"anyOf":[{"$ref":"#"}]}]}`, false},
		"itself by turns":      {`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"not":{"$ref":"#/$defs/c"}},"c":{"if":{"$ref":"#/$defs/b"}}}}`, false},
		"itself by dependency": {`{"type":"object","dependentSchemas":{"a":{"$ref":"#"}}}`, false},
		"itself, escaped":      {`{"type":"object","$ref":"#/$defs/a~1%62","$defs":{"a/b":{"$ref":"#/%24defs/a~1b"}}}`, false},
		"itself by an anchor":  {`{"type":"object","$anchor":"a","allOf":[{"$ref":"#a"}]}`, false},
		"dynamic":              {`{"type":"object","$dynamicAnchor":"a","allOf":[{"$dynamicRef":"#a"}]}`, false},
		"another root":         {`{"type":"object","properties":{"a":{"$id":"http://a/b","allOf":[{"$ref":"#"}]}}}`, false},
		"from the network":     {`{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:1/x"}}}`, false},
		"doubling":             {doubling(60), false},
		"deep":                 {`{"type":"object","properties":{"a":` + deep + `}}`, false},

		"a tree":             {`{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#"}},"$ref":{"type":"string"}}}`, true},
		"definitions":        {`{"$id":"http://x/y","type":"object","properties":{"a":{"anyOf":[{"$ref":"#/$defs/b"},{"$ref":"#/$defs/b"}]}},"$defs":{"b":{"type":"object","properties":{"next":{"$ref":"#/$defs/b"}}}}}`, true},
		"doubling, a little": {doubling(8), true},
		"flags":              {`{"type":"object","additionalProperties":false,"items":true,"not":false}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			x, err := tool.Raw(protocol.ToolMetadata{Name: "x", InputSchema: json.RawMessage(c.schema)},
				func(context.Context, json.RawMessage) (tool.Result, error) { return tool.Result{}, nil })
			if (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
			if err == nil {
				_, err = x.Call(t.Context(), json.RawMessage(`{}`))
			}
			if c.ok && err != nil {
				t.Errorf("call: %v", err)
			}
			if shown := tool.CleanSchema(json.RawMessage(c.schema)); !json.Valid(shown) {
				t.Errorf("shown as %s", shown)
			}
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// A long result at the bottom of many lists was written anew for each of them.
func TestBoundDeep(t *testing.T) {
	t.Parallel()
	list := strings.Repeat(`"0123456789",`, 63) + `""`
	in := strings.Repeat("[", 9000) + `{"a":` + strings.Repeat(`[[`+list+`],`, 40) + `0` + strings.Repeat("]", 40) + "}" + strings.Repeat("]", 9000)
	var names []string
	for i := range 20_000 {
		names = append(names, fmt.Sprintf(`"%040d":"01234567"`, i))
	}
	for _, in := range []string{in, strings.Repeat("[", 9000) + "{" + strings.Join(names, ",") + "}" + strings.Repeat("]", 9000)} {
		start := time.Now()
		e := tool.Bound(json.RawMessage(in), tool.Bounds{MaxBytes: 1000})
		if !json.Valid(e.Payload) || len(e.Payload) > 1000 || !e.Truncated {
			t.Errorf("got %d bytes, %+v", len(e.Payload), e)
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("it took %v", took)
		}
	}
	if e := tool.Bound(json.RawMessage(`["abc",1,2]`), tool.Bounds{MaxChars: -1, MaxItems: -1, MaxBytes: -1}); e.Truncated {
		t.Errorf("bounds below 0 are the defaults, and cut %+v", e)
	}
}
