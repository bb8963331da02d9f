package builtin_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/skill/builtin"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// named returns the skill's tool of that name.
func named(t testing.TB, c builtin.Code, name string) tool.Tool {
	t.Helper()
	for _, x := range c.Tools() {
		if x.Metadata().Name == name {
			return x
		}
	}
	t.Fatalf("skill %s has no tool %s", c.Name(), name)
	return nil
}

// call calls a tool of a skill with a value as the input.
func call(t testing.TB, c builtin.Code, name string, input any) (map[string]any, error) {
	t.Helper()
	raw, ok := input.(string)
	if !ok {
		data, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		raw = string(data)
	}
	res, err := tool.Call(t.Context(), named(t, c, name), json.RawMessage(raw))
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if err := json.Unmarshal(res.Output, &out); err != nil {
		t.Fatalf("%v in %s", err, res.Output)
	}
	return out, nil
}

// must is call where no error is wanted.
func must(t testing.TB, c builtin.Code, name string, input any) map[string]any {
	t.Helper()
	out, err := call(t, c, name, input)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

type in map[string]any

func wantKind(t testing.TB, err error, kind protocol.ErrorKind) {
	t.Helper()
	if !errors.Is(err, &protocol.Error{Kind: kind}) {
		t.Fatalf("got %#v, want an error of kind %s", err, kind)
	}
}

func put(t testing.TB, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
