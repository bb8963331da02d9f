package compose_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestInstructionsAreBuiltAndReadBack(t *testing.T) {
	t.Parallel()
	i := compose.NewInstructions("You are X.").WithResponseSchema(json.RawMessage(`{"type":"object"}`)).
		WithExample("hi", "hello").WithExample("bye", "ciao").WithMetadata(json.RawMessage(`{"k":"v"}`))
	raw, err := protocol.Marshal(i)
	noErr(t, err)
	same(t, "json", `{"system_prompt":"You are X.","response_schema":{"type":"object"},"examples":[["hi","hello"],["bye","ciao"]],`+
		`"metadata":{"k":"v"}}`, string(raw))
	var back compose.Instructions
	noErr(t, json.Unmarshal(raw, &back))
	same(t, "back", i, back)
	raw, err = protocol.Marshal(compose.NewInstructions("p"))
	noErr(t, err)
	same(t, "bare", `{"system_prompt":"p","examples":[],"metadata":null}`, string(raw))
	noErr(t, json.Unmarshal([]byte(`{"system_prompt":"p"}`), &back))
	same(t, "only a prompt", compose.NewInstructions("p"), back)
}

func TestInstructionsThatAreNotRead(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]protocol.ErrorKind{
		`{`:                                     compose.KindSerialization,
		`{}`:                                    compose.KindSerialization,
		`{"system_prompt":7}`:                   compose.KindSerialization,
		`{"system_prompt":"p","examples":[[]]}`: compose.KindSerialization,
		`{"system_prompt":"p","examples":[["a"]]}`:                                                                       compose.KindSerialization,
		`{"system_prompt":"p","examples":[["a","b","c"]]}`:                                                               compose.KindSerialization,
		fmt.Sprintf(`{"system_prompt":"p","examples":[%s["a","b"]]}`, strings.Repeat(`["a","b"],`, compose.MaxExamples)): compose.KindInvalidArgument,
		fmt.Sprintf(`{"system_prompt":%q}`, strings.Repeat("x", compose.MaxInstructions)):                                compose.KindInvalidArgument,
	} {
		var i compose.Instructions
		if err := i.UnmarshalJSON([]byte(raw)); compose.KindOf(err) != want || i.SystemPrompt != "" {
			t.Errorf("%.60s: got %v", raw, err)
		}
	}
}

func FuzzInstructions(f *testing.F) {
	f.Add([]byte(`{"system_prompt":"p","response_schema":{},"examples":[["a","b"]],"metadata":[1]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var i, back compose.Instructions
		if i.UnmarshalJSON(raw) != nil {
			return
		}
		first, err := protocol.Marshal(i)
		noErr(t, err)
		noErr(t, back.UnmarshalJSON(first))
		second, err := protocol.Marshal(back)
		noErr(t, err)
		same(t, "again", string(first), string(second))
	})
}
