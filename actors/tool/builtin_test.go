package tool_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// store is state that only reads, by scope and key.
type store map[string]string

func (s store) Read(_ context.Context, scope protocol.Scope, key string) (json.RawMessage, error) {
	if key == "broken" {
		return nil, protocol.ErrSerialization("broken")
	}
	if v, ok := s[scope.String()+"/"+key]; ok {
		return json.RawMessage(v), nil
	}
	return nil, nil
}

func (store) List(context.Context, protocol.Scope, string) ([]string, error) { return nil, nil }

func (store) Search(context.Context, protocol.Scope, string, int) ([]protocol.SearchResult, error) {
	return nil, nil
}

func TestClock(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 1, 12, 0, 0, 7, time.FixedZone("x", 7200))
	x, err := tool.Builtin("clock", tool.Deps{Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	for _, input := range []string{``, `{}`, `null`} {
		if got, err := call(t, x, input); err != nil || got != `{"time":"2026-05-01T10:00:00Z"}` {
			t.Errorf("%q: got %s, %v", input, got, err)
		}
	}
	got, err := call(t, tool.Clock(), "")
	var r struct{ Time time.Time }
	if err != nil || json.Unmarshal([]byte(got), &r) != nil || time.Since(r.Time) > time.Minute {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestRememberDeclaresInTheRightScope(t *testing.T) {
	t.Parallel()
	session := protocol.SessionID("s1")
	for name, c := range map[string]struct {
		session *protocol.SessionID
		want    protocol.Scope
	}{
		"session":  {&session, protocol.InSession("s1")},
		"operator": {nil, protocol.OfOperator("", "coder")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The instance says nothing of the scope: it is the run where there is no session.
			ctx := protocol.WithInvocation(t.Context(), &protocol.Invocation{Operator: "coder", Instance: "r1"})
			ctx = tool.WithRun(ctx, tool.Run{Session: c.session})
			res, err := tool.Call(ctx, tool.Remember(), json.RawMessage(`{"key":"k","value":{"a":[1]}}`))
			if err != nil || res.Text() != `{"stored":true,"key":"k"}` {
				t.Fatalf("got %s, %v", res.Text(), err)
			}
			want := protocol.Effects{protocol.WriteMemory{Scope: c.want, Key: "k", Value: json.RawMessage(`{"a":[1]}`)}}
			if d := cmp.Diff(want, res.Effects, cmpopts.EquateComparable(protocol.Scope{})); d != "" {
				t.Error(d)
			}
		})
	}
	_, err := call(t, tool.Remember(), `{"key":"","value":1}`)
	wantKind(t, err, protocol.KindToolInvalidInput)
	_, err = call(t, tool.Remember(), `{"key":"k"}`)
	wantKind(t, err, protocol.KindToolInvalidInput)
}

func TestRecall(t *testing.T) {
	t.Parallel()
	session := protocol.SessionID("s1")
	mine, other := protocol.InSession("s1"), protocol.GlobalScope()
	x := tool.Recall(store{"session/s1/k": `"old"`})
	for name, c := range map[string]struct {
		declared protocol.Effects
		want     string
	}{
		"stored":      {nil, `{"key":"k","found":true,"value":"old"}`},
		"own write":   {protocol.Effects{protocol.WriteMemory{Scope: mine, Key: "k", Value: json.RawMessage(`1`)}}, `{"key":"k","found":true,"value":1}`},
		"own delete":  {protocol.Effects{protocol.DeleteMemory{Scope: mine, Key: "k"}}, `{"key":"k","found":false,"value":null}`},
		"last counts": {protocol.Effects{protocol.DeleteMemory{Scope: mine, Key: "k"}, protocol.WriteMemory{Scope: mine, Key: "k", Value: json.RawMessage(`null`)}}, `{"key":"k","found":true,"value":null}`},
		"other scope": {protocol.Effects{protocol.WriteMemory{Scope: other, Key: "k", Value: json.RawMessage(`1`)}}, `{"key":"k","found":true,"value":"old"}`},
		"other key":   {protocol.Effects{protocol.DeleteMemory{Scope: mine, Key: "j"}, protocol.Log{}}, `{"key":"k","found":true,"value":"old"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := tool.WithRun(t.Context(), tool.Run{Session: &session, Declared: c.declared})
			res, err := tool.Call(ctx, x, json.RawMessage(`{"key":"k"}`))
			if err != nil || res.Text() != c.want {
				t.Errorf("got %s, %v, want %s", res.Text(), err, c.want)
			}
		})
	}
	if got, err := call(t, x, `{"key":"none"}`); err != nil || got != `{"key":"none","found":false,"value":null}` {
		t.Errorf("got %s, %v", got, err)
	}
	_, err := call(t, x, `{"key":"broken"}`)
	wantKind(t, err, protocol.KindStateSerialization)
}

func TestBuiltin(t *testing.T) {
	t.Parallel()
	for _, name := range tool.Builtins() {
		x, err := tool.Builtin(name, tool.Deps{State: store{}})
		if err != nil || x.Metadata().Name != name {
			t.Errorf("%s: got %v, %v", name, x, err)
		}
	}
	_, err := tool.Builtin("none", tool.Deps{})
	wantKind(t, err, protocol.KindToolNotFound)
	if _, err = tool.Builtin("recall", tool.Deps{}); protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("got %v", err)
	}
	if _, err := tool.Builtin("clock", tool.Deps{}); err != nil {
		t.Error(err)
	}
}
