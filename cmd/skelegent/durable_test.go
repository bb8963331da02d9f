package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/provider/scripted"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// newDurable is a world whose operators are durable.
func newDurable(t testing.TB) *world {
	t.Helper()
	w := newServer(t)
	w.startDurable(t)
	return w
}

func (w *world) startDurable(t testing.TB) {
	t.Helper()
	n, err := actors.NewNode(w.conn, actors.Config{Name: "test", ID: "node-one", State: w.store, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	for id, op := range w.durable() {
		if err := n.Register(id, op, actors.Durable()); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Register("agent", newAgent(t), actors.Durable()); err != nil {
		t.Fatal(err)
	}
	if err := n.Register("plain", echo); err != nil { // keeps no log
		t.Fatal(err)
	}
	w.host(t, n, func() {})
}

// newAgent asks for approval before it deletes something.
func newAgent(t testing.TB) protocol.Operator {
	t.Helper()
	remove := tool.Func("delete", "Deletes a file.", func(_ context.Context, in struct {
		Path string `json:"path"`
	},
	) (string, error) {
		return "deleted " + in.Path, nil
	}, tool.RequiresApproval())
	cost := protocol.MustDecimal("0.001")
	yes, no := true, false
	a, err := agent.New(agent.Config{
		Name: "agent", Model: "m", Tools: []tool.Tool{remove}, Provider: scripted.New(
			scripted.Step{Match: &scripted.Match{LastUserContains: "delete", HasToolResult: &no}, Text: "Let me see.", Cost: &cost, ToolCalls: []protocol.ToolCall{
				{ID: "call-1", Name: "delete", Input: json.RawMessage(`{"path":"/etc"}`)}, {ID: "call-2", Name: "delete", Input: json.RawMessage(`{"path":"/tmp"}`)},
			}},
			scripted.Step{Match: &scripted.Match{HasToolResult: &yes}, Text: "That is done.", Cost: &cost},
			scripted.Step{Text: "Nothing to delete.", Cost: &cost},
		),
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func saidOf(in protocol.OperatorInput) string {
	s, _ := in.Message.AsText()
	return s
}

const evil = "evil\x1b[2J\u009b1m\r"

func (w *world) durable() map[protocol.OperatorID]protocol.OperatorFunc {
	return map[protocol.OperatorID]protocol.OperatorFunc{
		"echo": func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			said, err := actors.Step(ctx, "say", func(context.Context) (string, error) { return saidOf(in), nil })
			out := protocol.Reply(said)
			out.Metadata.Cost = protocol.MustDecimal("0.25")
			return out, err
		},
		"session": func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			info, _ := step.InfoFrom(ctx)
			before := "nothing"
			if n := len(info.History); n > 0 {
				before = string(info.History[n-1].In)
			}
			return protocol.Reply(fmt.Sprintf("before: %s, now: %s", before, saidOf(in))), nil
		},
		"waits": func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
			word, err := actors.Await[string](ctx, "word")
			return protocol.Reply(word), err
		},
		"steps": func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
			for n := 0; ; n++ {
				if word, err := actors.Await[string](ctx, "word"); err != nil || word == "end" {
					return protocol.Reply(fmt.Sprint(n)), err
				}
			}
		},
		"holds": func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
			w.running <- protocol.InvocationFrom(ctx).Run
			select {
			case <-w.release:
			case <-ctx.Done():
			}
			return protocol.Reply("released"), ctx.Err()
		},
		"talks": func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
			events := protocol.InvocationFrom(ctx).Events
			events.Emit(protocol.EventInferenceStarted, map[string]string{"model": "m"})
			for _, word := range []string{"one ", "two ", "three"} {
				events.Emit(protocol.EventProgress, map[string]string{"content": word})
			}
			w.running <- protocol.InvocationFrom(ctx).Run
			<-w.release
			return protocol.Reply("one two three"), nil
		},
		"parent": func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
			if _, err := actors.Call(ctx, "first", "echo", protocol.Text("a secret")); err != nil {
				return protocol.OperatorOutput{}, err
			}
			return actors.Call(ctx, "second", "waits", protocol.Text("b"))
		},
		"fails": func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
			return protocol.OperatorOutput{}, protocol.NewError(protocol.CodeToolError, "it broke")
		},
		"mails": func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
			out := protocol.Reply("declared")
			out.Effects = protocol.Effects{protocol.CustomEffect{EffectType: "mail", Data: json.RawMessage(`{}`)}}
			return out, nil
		},
		"hands": func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
			out := protocol.Reply("over to echo")
			out.ExitReason = protocol.Exit(protocol.ExitHandedOff)
			out.Effects = protocol.Effects{protocol.Handoff{Operator: "echo", State: json.RawMessage(`"state"`)}}
			return out, nil
		},
		"evil": func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
			_, err := step.Approval(ctx, protocol.ApprovalRequest{Pending: []protocol.PendingToolCall{
				{CallID: evil + "c", ToolName: evil + "t", ToolInput: json.RawMessage(`{"a":"\u001b[2J\u009b"}`), Reason: protocol.PolicyPredicate(evil)},
			}})
			if err != nil {
				return protocol.OperatorOutput{}, err
			}
			_, err = actors.Step(ctx, evil, func(context.Context) (string, error) {
				return "", protocol.NewError(protocol.CodeToolError, evil)
			})
			return protocol.Reply(evil), err
		},
	}
}

// task submits something and returns OPERATOR/INSTANCE.
func (w *world) task(t testing.TB, args ...string) string {
	t.Helper()
	r := w.run(t, append([]string{"dispatch", "--task"}, args...)...)
	if r.code != exitDone {
		t.Fatalf("got %+v", r)
	}
	return strings.TrimSuffix(r.out, "\n")
}

// until repeats `runs` until it says that a workflow is in a state.
func (w *world) until(t testing.TB, workflow, state string) {
	t.Helper()
	ctx := testContext(t)
	for {
		r := w.run(t, "runs", "--json")
		var list []struct{ Workflow, State string }
		if r.code == exitDone && json.Unmarshal([]byte(r.out), &list) == nil {
			for _, s := range list {
				if s.Workflow == workflow && s.State == state {
					return
				}
			}
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("%s is never %s: %+v", workflow, state, r)
		}
	}
}
