package actors_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/kv"
)

// store opens the state store on a connection.
func store(t testing.TB, conn *bus.Conn) *kv.Store {
	t.Helper()
	return must2[*kv.Store](t)(kv.Open(testContext(t), conn.JetStream(), kv.Config{Create: true}))
}

func write(key, value string) protocol.Effect {
	return protocol.WriteMemory{Scope: protocol.GlobalScope(), Key: key, Value: json.RawMessage(value)}
}

// Memory effects are applied in the order in which runs ended, over all nodes, kinds and keys.
func TestMemoryInOrder(t *testing.T) {
	t.Parallel()
	s, conn := server(t)
	writer := protocol.OperatorFunc(func(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		text, _ := in.Message.AsText()
		out := protocol.Reply("written")
		out.Effects = protocol.Effects{write("last", text)}
		return out, nil
	})
	undecided := declares(
		write("gone", `1`), protocol.DeleteMemory{Scope: protocol.GlobalScope(), Key: "gone"},
		protocol.DeleteMemory{Scope: protocol.GlobalScope(), Key: "kept"}, write("kept", `2`),
		protocol.LinkMemory{Scope: protocol.GlobalScope(), Link: protocol.MemoryLink{FromKey: "kept", ToKey: "last", Relation: "before"}},
	)
	for range 2 {
		c := connect(t, s)
		n := node(t, c, actors.Config{State: store(t, c)})
		for id, op := range map[protocol.OperatorID]protocol.Operator{"writer": writer, "undecided": undecided} {
			if err := n.Register(id, op); err != nil {
				t.Fatal(err)
			}
		}
		start(t, n)
	}
	d := bus.NewDispatcher(conn)
	const last = "100"
	for i := range 100 {
		if _, err := d.Dispatch(testContext(t), "writer", protocol.Text(string(must2[[]byte](t)(json.Marshal(i+1))))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Dispatch(testContext(t), "undecided", protocol.Text("x")); err != nil {
		t.Fatal(err)
	}
	emptyEffects(t, conn)
	state := store(t, conn)
	for key, want := range map[string]string{"last": last, "gone": "", "kept": "2"} {
		got := must2[json.RawMessage](t)(state.Read(testContext(t), protocol.GlobalScope(), key))
		if string(got) != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
	reached := must2[[]string](t)(state.Traverse(testContext(t), protocol.GlobalScope(), "kept", "before", 1))
	if len(reached) != 1 || reached[0] != "last" {
		t.Errorf("links lead to %v", reached)
	}
}

// A memory effect that cannot be applied fails for good; those behind it are applied.
func TestMemoryThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	state := must2[*kv.Store](t)(kv.Open(testContext(t), conn.JetStream(), kv.Config{Create: true, MaxValue: 64}))
	n := node(t, conn, actors.Config{State: state})
	if err := n.Register("op", declares(write("big", `"`+strings.Repeat("x", 100)+`"`), write("small", `1`))); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	next := ledgerEvents(t, conn)
	dispatch(t, conn, "op", "r1")
	_, outcomes := next(protocol.EventEffectDone)
	if len(outcomes) != 2 || outcomes[0].Status != protocol.OutcomeFailed || outcomes[1].Status != protocol.OutcomeOK {
		t.Errorf("outcomes = %+v", outcomes)
	}
	if letters := deadLetters(t, conn); len(letters) != 1 || letters[0].ID != "op/r1/memory/1/1" {
		t.Errorf("dead letters = %+v", letters)
	}
}
