package tool_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/tool"
)

func named(name, answer string) tool.Tool {
	return tool.Func(name, answer, func(context.Context, struct{}) (string, error) { return answer, nil }, tool.ParallelSafe())
}

func TestRegistryKeepsOrder(t *testing.T) {
	t.Parallel()
	r, err := tool.NewRegistry(named("z", "1"), named("a", "2"), named("m", "3"), named("z", "4"), tool.Alias(named("a", "5"), "b"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"z", "a", "m", "b"}, r.Names()); d != "" {
		t.Error(d)
	}
	for name, want := range map[string]string{"z": "4", "a": "2", "b": "5"} {
		x, ok := r.Get(name)
		if !ok {
			t.Fatalf("no %s", name)
		}
		if got, err := call(t, x, ""); err != nil || got != want {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
	if _, ok := r.Get("none"); ok {
		t.Error("got a tool that is not there")
	}
	var schemas []string
	for _, s := range r.Schemas() {
		schemas = append(schemas, s.Name+s.Description)
	}
	if d := cmp.Diff([]string{"z4", "a2", "m3", "b5"}, schemas); d != "" {
		t.Error(d)
	}
	only := r.Only([]string{"b", "none", "z"})
	if d := cmp.Diff([]string{"z", "b"}, only.Names()); d != "" || only.Len() != 2 || r.Len() != 4 {
		t.Error(d)
	}
	if none := r.Only([]string{}); none.Len() != 0 || none.Schemas() != nil {
		t.Error("an empty list must allow nothing")
	}
}

func TestAliasKeepsMetadata(t *testing.T) {
	t.Parallel()
	x := named("a", "d")
	want := x.Metadata()
	want.Name = "b"
	if d := cmp.Diff(want, tool.Alias(x, "b").Metadata()); d != "" || !want.ParallelSafe {
		t.Error(d)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"a": true, "A-b_9": true, strings.Repeat("x", 64): true,
		"": false, "a b": false, "a.b": false, "ä": false, strings.Repeat("x", 65): false,
	} {
		if err := tool.CheckName(name); (err == nil) != ok {
			t.Errorf("%q: got %v", name, err)
		}
		if _, err := tool.NewRegistry(named(name, "")); (err == nil) != ok {
			t.Errorf("registry, %q: got %v", name, err)
		}
	}
}
