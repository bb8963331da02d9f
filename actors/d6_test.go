package actors_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/kv"
)

// The acceptance cases D6 of the specification that need a node; 1 and 2 are with the patterns, 6 with the agent.

// Signals are counted, also those to a workflow that never was, and however many come at the same time.
func TestD6Fact3Signals(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{WithoutEffects: true})
	if err := n.Register("echo", echo, actors.Durable()); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	d := bus.NewDispatcher(conn)
	count := func(workflow protocol.WorkflowID, want string) {
		t.Helper()
		got, err := d.Query(testContext(t), workflow, protocol.QueryPayload{QueryType: "signals", Params: json.RawMessage(`{"ignored":true}`)})
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", workflow, got, err, want)
		}
	}
	count("echo/w.1", `{"signals":0}`)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			err := d.Signal(testContext(t), "echo/w.1", protocol.SignalPayload{SignalType: []string{"a", "b"}[i%2], Data: json.RawMessage(`{}`)})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	count("echo/w.1", `{"signals":20}`)
	count("echo/w.2", `{"signals":0}`)
	if _, err := d.Query(testContext(t), "nobody/w", protocol.QueryPayload{QueryType: "signals"}); err == nil {
		t.Error("an operator that nobody hosts answers")
	}
}

// Memory is written and deleted in order, and deleting what is not there is fine; then a delegate, a handoff and a signal.
func TestD6Fact4Executors(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	store, err := kv.Open(testContext(t), conn.JetStream(), kv.Config{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	n := node(t, conn, actors.Config{State: store})
	heard := make(chan protocol.OperatorInput, 2)
	scope := protocol.GlobalScope()
	ops := map[protocol.OperatorID]protocol.Operator{
		"op": declares(
			protocol.WriteMemory{Scope: scope, Key: "k1", Value: json.RawMessage(`1`)}, protocol.DeleteMemory{Scope: scope, Key: "k1"},
			protocol.DeleteMemory{Scope: scope, Key: "none"}, protocol.WriteMemory{Scope: scope, Key: "k2", Value: json.RawMessage(`2`)},
			protocol.Delegate{Operator: "listener", Input: protocol.Text("child task")},
			protocol.Handoff{Operator: "listener", State: json.RawMessage(`{"ticket":123}`)},
			protocol.Signal{Target: "op/wf1", Payload: protocol.SignalPayload{SignalType: "sig.type", Data: json.RawMessage(`{}`)}},
		),
		"listener": protocol.OperatorFunc(func(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			heard <- in
			return protocol.Reply("heard"), nil
		}),
	}
	for id, op := range ops {
		if err := n.Register(id, op, actors.Durable()); err != nil {
			t.Fatal(err)
		}
	}
	start(t, n)
	dispatch(t, conn, "op", "r1")
	var texts []string
	for range 2 {
		in := wait(t, heard)
		text, _ := in.Message.AsText()
		texts = append(texts, text+" "+string(in.Metadata))
	}
	slices.Sort(texts)
	if want := []string{"child task ", `{"ticket":123} {"handoff":true}`}; !slices.Equal(texts, want) {
		t.Errorf("dispatched %q, want %q", texts, want)
	}
	emptyEffects(t, conn)
	keys, err := store.List(testContext(t), scope, "")
	if err != nil || !slices.Equal(keys, []string{"k2"}) {
		t.Errorf("state has %v, %v", keys, err)
	}
	got, err := bus.NewDispatcher(conn).Query(testContext(t), "op/wf1", protocol.QueryPayload{QueryType: "signals"})
	if err != nil || string(got) != `{"signals":1}` {
		t.Errorf("signals: %s, %v", got, err)
	}
}

// A handoff's target answers the caller; an operator that calls itself ends somewhere; one that does not exist is not found.
func TestD6Fact5Followups(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	d := bus.NewDispatcher(conn)
	ops := map[protocol.OperatorID]protocol.Operator{
		"hands": protocol.OperatorFunc(func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
			out := protocol.Reply("over")
			out.ExitReason = protocol.Exit(protocol.ExitHandedOff)
			out.Effects = protocol.Effects{protocol.Handoff{Operator: "accepts", State: json.RawMessage(`{"ticket":123}`)}}
			return out, nil
		}),
		"accepts": protocol.OperatorFunc(func(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			text, _ := in.Message.AsText()
			return protocol.Reply("accepted " + text), nil
		}),
		"self": protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			return d.Dispatch(ctx, "self", in)
		}),
	}
	for id, op := range ops {
		var opts []actors.Option
		if id != "self" {
			opts = append(opts, actors.Durable())
		}
		if err := n.Register(id, op, opts...); err != nil {
			t.Fatal(err)
		}
	}
	start(t, n)
	out, err := d.Dispatch(testContext(t), "hands", protocol.Text("go"))
	if text, _ := out.Message.AsText(); err != nil || !strings.Contains(text, `{"ticket":123}`) || !strings.HasPrefix(text, "accepted") {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := d.Dispatch(testContext(t), "self", protocol.Text("go")); protocol.CodeOf(err) != protocol.CodeQuotaExceeded {
		t.Errorf("calls itself: %v", err)
	}
	if _, err := d.Dispatch(testContext(t), "missing-agent", protocol.Text("go")); protocol.CodeOf(err) != protocol.CodeNotFound || !strings.Contains(err.Error(), "operator not found: missing-agent") {
		t.Errorf("missing: %v", err)
	}
}
