package agenttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/memory"
)

func TestRunIsAnInvocation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		op := code(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			inv := protocol.InvocationFrom(ctx)
			deadline, _ := ctx.Deadline()
			if inv.Operator != "bot" || inv.Run != "r7" || inv.Instance != "s" || inv.Budget.String() != "0.5" || string(*in.Session) != "s" {
				t.Errorf("got %+v of %+v", inv, in)
			}
			if time.Until(inv.Deadline) != time.Minute || !deadline.Equal(inv.Deadline) || ctx.Value(key{}) != 1 {
				t.Errorf("got %v, %v", inv.Deadline, deadline)
			}
			<-ctx.Done()
			return protocol.OperatorOutput{}, ctx.Err()
		})
		r := agenttest.Run(t, op, protocol.Text("go"), agenttest.WithOperator("bot"), agenttest.WithRun("r7"), agenttest.WithSession("s"),
			agenttest.WithBudget("0.5"), agenttest.WithTimeout(time.Minute), agenttest.WithContext(context.WithValue(t.Context(), key{}, 1)))
		if !errors.Is(r.Err, context.DeadlineExceeded) {
			t.Errorf("got %v", r.Err)
		}
	})
	op := code(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		inv := protocol.InvocationFrom(ctx)
		if inv.Operator != agenttest.DefaultOperator || inv.Run != agenttest.DefaultRun || inv.Instance != "r1" || !inv.Deadline.IsZero() {
			t.Errorf("got %+v", inv)
		}
		return protocol.Reply("x"), nil
	})
	if r := agenttest.Run(t, op, protocol.Text("go")); r.Text() != "x" || r.Err != nil {
		t.Errorf("got %+v", r)
	}
}

func TestRunTellsOfEventsAndEffects(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{})
	config := func(steps ...agenttest.Step) agent.Config {
		return agent.Config{
			Provider: agenttest.NewModel(t, steps...), Tools: []tool.Tool{tool.MemoryStore(), tool.MemoryRecall(store), tool.MemoryForget()},
		}
	}
	op := build(t, config(
		agenttest.Call(tool.NameMemoryStore, map[string]any{"key": "name", "value": "Ann"}).
			And(tool.NameMemoryStore, map[string]any{"key": "age", "value": 7}),
		agenttest.Say("I will remember.")))
	r := agenttest.Run(t, op, protocol.Text("I am Ann."), agenttest.WithSession("s"), agenttest.WithState(store))
	writes := agenttest.Effects[protocol.WriteMemory](r)
	if len(writes) != 2 || writes[0].Key != "name" || len(agenttest.Effects[protocol.Handoff](r)) != 0 {
		t.Errorf("got %+v", r.Output.Effects)
	}
	calls := r.Events(protocol.EventToolCallAssembled)
	var first struct {
		CallID string `json:"call_id"`
	}
	if len(calls) != 2 || calls[0].Decode(&first) != nil || first.CallID != "call_1" {
		t.Errorf("got %v", calls)
	}
	if n := len(r.Events("progress")); n == 0 || len(r.Events()) <= n || len(r.Events("failed")) != 0 {
		t.Errorf("got %d of %d events", n, len(r.Events()))
	}
	var kinds []protocol.EventKind
	for _, e := range r.Events(protocol.EventInferenceStarted, protocol.EventInferenceCompleted, protocol.EventToolResultReceived) {
		kinds = append(kinds, e.Kind)
	}
	asked, answered := protocol.EventInferenceStarted, protocol.EventInferenceCompleted
	want := []protocol.EventKind{asked, answered, protocol.EventToolResultReceived, protocol.EventToolResultReceived, asked, answered}
	if d := cmp.Diff(want, kinds); d != "" {
		t.Error(d)
	}

	// The next run reads what this one wrote.
	cfg := config(agenttest.Call(tool.NameMemoryRecall, map[string]any{"key": "name"}), agenttest.Say("You are Ann."))
	r = agenttest.Run(t, build(t, cfg), protocol.Text("Who am I?"), agenttest.WithSession("s"), agenttest.WithState(store))
	m, _ := cfg.Provider.(*agenttest.Model)
	if got := m.Request(1).ToolResult("call_1"); got.Content != `{"key":"name","found":true,"value":"Ann"}` || r.Text() != "You are Ann." {
		t.Errorf("got %+v, %q", got, r.Text())
	}
}

func TestStateIsChangedInOrder(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{})
	s := protocol.InSession("s")
	link := protocol.MemoryLink{FromKey: "a", ToKey: "b", Relation: "knows"}
	say := func(effects ...protocol.Effect) protocol.Operator {
		return code(func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
			out := protocol.Reply("x")
			out.Effects = effects
			return out, nil
		})
	}
	write := protocol.WriteMemory{Scope: s, Key: "a", Value: json.RawMessage(`1`)}
	agenttest.Run(t, say(write, protocol.DeleteMemory{Scope: s, Key: "a"}, protocol.LinkMemory{Scope: s, Link: link},
		protocol.Log{Level: protocol.LogInfo, Message: "x"}), protocol.Text("go"), agenttest.WithState(store))
	reached, err := store.Traverse(t.Context(), s, "a", "knows", 1)
	if value, _ := store.Read(t.Context(), s, "a"); value != nil || err != nil || len(reached) != 1 {
		t.Errorf("got %s, %v, %v", value, reached, err)
	}
	unlink := protocol.UnlinkMemory{Scope: s, FromKey: "a", ToKey: "b", Relation: "knows"}
	agenttest.Run(t, say(unlink), protocol.Text("go"), agenttest.WithState(store))
	if reached, _ := store.Traverse(t.Context(), s, "a", "knows", 1); len(reached) != 0 {
		t.Errorf("got %v", reached)
	}
	type flat struct{ protocol.StateStore } // no graph
	for _, e := range []protocol.Effect{unlink, protocol.LinkMemory{Scope: s, Link: link}} {
		wantTold(t, func(tb testing.TB) {
			agenttest.Run(tb, say(e), protocol.Text("go"), agenttest.WithState(flat{store}))
		}, "the state store keeps no links")
	}
}

func TestRunComplains(t *testing.T) {
	t.Parallel()
	wantTold(t, func(tb testing.TB) { agenttest.Run(tb, code(echo), protocol.OperatorInput{}) }, "fatal: agenttest: the input cannot be sent")
	wantTold(t, func(tb testing.TB) {
		in := protocol.Text("x")
		in.Metadata = json.RawMessage(`{`)
		agenttest.Run(tb, code(echo), in)
	}, "fatal: agenttest: the input cannot be sent")
	wantTold(t, func(tb testing.TB) {
		agenttest.Run(tb, code(echo), protocol.Text("x"), agenttest.WithSignal("approve", nil))
	}, "for durable runs")
	wantTold(t, func(tb testing.TB) {
		agenttest.Run(tb, code(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			protocol.InvocationFrom(ctx).Events.Emit("log", make(chan int))
			return echo(ctx, in)
		}), protocol.Text("x"))
	}, "an event cannot be sent")
	r := agenttest.Run(t, code(func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		out := protocol.Reply("x")
		out.Effects = protocol.Effects{protocol.WriteMemory{Key: "a", Value: json.RawMessage(`{`)}}
		return out, nil
	}), protocol.Text("x"))
	if protocol.CodeOf(r.Err) != protocol.CodeInternal {
		t.Errorf("got %v", r.Err)
	}
}

//nolint:paralleltest // it changes http.DefaultTransport
func TestDenyRealRequests(t *testing.T) {
	wantTold(t, func(tb testing.TB) {
		agenttest.DenyRealRequests(tb)
		dial(tb, "http://192.0.2.1/")
	}, "1 connections to elsewhere were denied: 192.0.2.1:80")
}
