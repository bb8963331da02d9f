package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

// sameJSON reports whether two texts are the same JSON value. Nothing is {}.
func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, okX := valueOf(a)
	y, okY := valueOf(b)
	return okX && okY && reflect.DeepEqual(x, y)
}

func valueOf(raw json.RawMessage) (v any, ok bool) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		raw = json.RawMessage(`{}`)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return v, d.Decode(&v) == nil
}

// withIDs gives calls ids that have none of their own, names that a record takes, and an input that is JSON: an aside need not be
// what an agent would take.
func withIDs(resp protocol.InferResponse) protocol.InferResponse {
	calls := make([]protocol.ToolCall, len(resp.ToolCalls))
	taken, seen := map[string]bool{}, map[string]bool{}
	for _, c := range resp.ToolCalls {
		taken[c.ID] = true
	}
	for i, c := range resp.ToolCalls {
		for n := i + 1; c.ID == "" || seen[c.ID]; n++ {
			if id := fmt.Sprintf("aside_%d", n); !taken[id] {
				c.ID = id
			}
		}
		if c.Name == "" {
			c.Name = "unnamed"
		}
		if len(c.Name) > maxNameSize {
			c.Name = strings.ToValidUTF8(c.Name[:maxNameSize], "")
		}
		if !json.Valid(c.Input) {
			c.Input, _ = protocol.Marshal(string(c.Input)) // a string always marshals
		}
		seen[c.ID] = true
		calls[i] = c
	}
	resp.ToolCalls = calls
	return resp
}
