package tool_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/memory"
)

func inSession(t *testing.T, declared ...protocol.Effect) context.Context {
	t.Helper()
	session := protocol.SessionID("s1")
	return tool.WithRun(t.Context(), tool.Run{Session: &session, Declared: declared})
}

func memoryTool(t *testing.T, name string, s protocol.StateReader) tool.Tool {
	t.Helper()
	x, err := tool.Builtin(name, tool.Deps{State: s})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestMemoryStoreDeclaresWithTheLifetime(t *testing.T) {
	t.Parallel()
	x := memoryTool(t, "memory_store", nil)
	for _, c := range []struct {
		scope, answered string
		lifetime        protocol.Lifetime
	}{
		{``, "session", protocol.LifetimeSession},
		{`,"scope":"session"`, "session", protocol.LifetimeSession},
		{`,"scope":"turn"`, "turn", protocol.LifetimeTransient},
		{`,"scope":"durable"`, "durable", protocol.LifetimeDurable},
		{`,"scope":"forever"`, "forever", protocol.LifetimeDurable},
	} {
		res, err := tool.Call(inSession(t), x, json.RawMessage(`{"key":"k","value":{"a":1}`+c.scope+`}`))
		if want := `{"stored":true,"key":"k","scope":"` + c.answered + `"}`; err != nil || res.Text() != want {
			t.Errorf("%s: got %s, %v", c.scope, res.Text(), err)
		}
		want := protocol.Effects{protocol.WriteMemory{
			Scope: protocol.InSession("s1"), Key: "k", Value: json.RawMessage(`{"a":1}`), Lifetime: &c.lifetime,
		}}
		if d := cmp.Diff(want, res.Effects, cmpopts.EquateComparable(protocol.Scope{})); d != "" {
			t.Errorf("%s: %s", c.scope, d)
		}
	}
	for _, in := range []string{`{"key":"","value":1}`, `{"key":"k"}`} {
		_, err := call(t, x, in)
		wantKind(t, err, protocol.KindToolInvalidInput)
	}
}

func TestMemoryForgetDeclares(t *testing.T) {
	t.Parallel()
	x := memoryTool(t, "memory_forget", nil)
	res, err := tool.Call(inSession(t), x, json.RawMessage(`{"key":"k"}`))
	want := protocol.Effects{protocol.DeleteMemory{Scope: protocol.InSession("s1"), Key: "k"}}
	if d := cmp.Diff(want, res.Effects, cmpopts.EquateComparable(protocol.Scope{})); d != "" || err != nil || res.Text() != `{"deleted":true,"key":"k"}` {
		t.Errorf("got %s, %v %s", res.Text(), err, d)
	}
	_, err = call(t, x, `{"key":""}`)
	wantKind(t, err, protocol.KindToolInvalidInput)
}

// Recall and search see what the run declared, over what the store has.
func TestMemorySeesTheRunsOwnWrites(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Config{})
	scope := protocol.InSession("s1")
	for key, v := range map[string]string{"a": `"red apple"`, "b": `"red"`, "c": `"green"`} {
		if err := s.Write(t.Context(), scope, key, json.RawMessage(v), protocol.StoreOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	write := func(key, v string) protocol.Effect {
		return protocol.WriteMemory{Scope: scope, Key: key, Value: json.RawMessage(v)}
	}
	forget := func(key string) protocol.Effect { return protocol.DeleteMemory{Scope: scope, Key: key} }
	for name, c := range map[string]struct {
		declared protocol.Effects
		input    string
		want     []string
		recalled string // of key b
	}{
		"stored":        {nil, `{"query":"RED"}`, []string{"b", "a"}, `"red"`},
		"limit":         {nil, `{"query":"red","limit":1}`, []string{"b"}, `"red"`},
		"none":          {nil, `{"query":"blue"}`, []string{}, `"red"`},
		"written":       {protocol.Effects{write("d", `"dark red wine"`)}, `{"query":"red"}`, []string{"b", "a", "d"}, `"red"`},
		"overwritten":   {protocol.Effects{write("b", `"blue"`)}, `{"query":"red"}`, []string{"a"}, `"blue"`},
		"deleted":       {protocol.Effects{forget("b")}, `{"query":"red","limit":1}`, []string{"a"}, ``},
		"deleted anew":  {protocol.Effects{write("b", `"red"`), forget("b")}, `{"query":"red"}`, []string{"a"}, ``},
		"written anew":  {protocol.Effects{forget("b"), write("b", `"red red"`)}, `{"query":"red"}`, []string{"b", "a"}, `"red red"`},
		"another scope": {protocol.Effects{protocol.DeleteMemory{Scope: protocol.GlobalScope(), Key: "b"}}, `{"query":"red"}`, []string{"b", "a"}, `"red"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := inSession(t, c.declared...)
			res, err := tool.Call(ctx, memoryTool(t, "memory_search", s), json.RawMessage(c.input))
			var got struct{ Results []protocol.SearchResult }
			if err != nil || json.Unmarshal(res.Output, &got) != nil {
				t.Fatalf("got %s, %v", res.Output, err)
			}
			keys := []string{}
			for _, r := range got.Results {
				keys = append(keys, r.Key)
				if r.Snippet == nil {
					t.Errorf("%s has no snippet", r.Key)
				}
			}
			if d := cmp.Diff(c.want, keys); d != "" {
				t.Error(d)
			}
			res, err = tool.Call(ctx, memoryTool(t, "memory_recall", s), json.RawMessage(`{"key":"b"}`))
			want := `{"key":"b","found":true,"value":` + c.recalled + `}`
			if c.recalled == "" {
				want = `{"key":"b","found":false,"value":null}`
			}
			if err != nil || res.Text() != want {
				t.Errorf("got %s, %v, want %s", res.Text(), err, want)
			}
		})
	}
}

func TestMemorySearchChecksItsInput(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Config{})
	for _, in := range []string{`{"query":""}`, `{"query":"x","limit":-1}`, `{"query":"x","limit":101}`, `{}`} {
		_, err := call(t, tool.MemorySearch(s), in)
		wantKind(t, err, protocol.KindToolInvalidInput)
	}
	for i := range 9 {
		if err := s.Write(t.Context(), protocol.OfOperator("", ""), string(rune('a'+i)), json.RawMessage(`"x"`), protocol.StoreOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	res, err := tool.Call(t.Context(), tool.MemorySearch(s), json.RawMessage(`{"query":"x"}`))
	var got struct{ Results []protocol.SearchResult }
	if err != nil || json.Unmarshal(res.Output, &got) != nil || len(got.Results) != 5 {
		t.Errorf("got %s, %v", res.Output, err)
	}
	for _, name := range []string{"memory_search", "memory_recall"} {
		if _, err := tool.Builtin(name, tool.Deps{}); protocol.CodeOf(err) != protocol.CodeInvalidInput {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
