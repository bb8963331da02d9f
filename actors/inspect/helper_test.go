package inspect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/effect"
	"github.com/skelegent/skelegent-go/actors/inspect"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/bus/embed/embedtest"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
	"github.com/skelegent/skelegent-go/state/kv"
)

func TestMain(m *testing.M) { embedtest.VerifyTestMain(m) }

const patience = 60 * time.Second

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// world is a server with a node, a connection with all rights, and one of a guest.
type world struct {
	conn, guest *bus.Conn
	store       *kv.Store
	node        *actors.Node
	mail        chan error // what the executor of "mail" answers next
	hold        chan struct{}
}

func (w *world) reader() *inspect.Reader { return inspect.New(w.guest) }

func connect(t testing.TB, s *embed.Server) *bus.Conn {
	t.Helper()
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := bus.FromNATS(nc, wire.Names{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return conn
}

func newWorld(t testing.TB) *world {
	t.Helper()
	s, err := embed.Start(embed.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	w := &world{conn: connect(t, s), mail: make(chan error, 10), hold: make(chan struct{})}
	guest, err := bus.Connect(testContext(t), bus.ConnectConfig{URL: s.URL()})
	if err != nil {
		t.Fatal(err)
	}
	w.guest = guest
	t.Cleanup(guest.NATS().Close)
	if w.store, err = kv.Open(testContext(t), w.conn.JetStream(), kv.Config{Create: true}); err != nil {
		t.Fatal(err)
	}
	return w
}

// start starts the node with the operators of the tests.
func (w *world) start(t testing.TB) *world {
	t.Helper()
	n, err := actors.NewNode(w.conn, actors.Config{Name: "one", ID: "node-one", State: w.store, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	for id, op := range w.operators() {
		if err := n.Register(id, op, actors.Durable()); err != nil {
			t.Fatal(err)
		}
	}
	mail := effect.Func(func(ctx context.Context, _ effect.Request) error {
		select {
		case err := <-w.mail:
			return err
		default:
			return nil
		}
	})
	if err := n.RegisterEffect("mail", mail, effect.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := n.Start(testContext(t)); err != nil {
		t.Fatal(err)
	}
	w.node = n
	w.sourced(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := n.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return w
}

// sourced waits until the server takes signals over: one that is stored in the first moments of a stream, with a task behind
// it, is never taken over.
func (w *world) sourced(t testing.TB) {
	t.Helper()
	ctx := testContext(t)
	for {
		stream, err := w.conn.JetStream().Stream(ctx, "SKG_TASKS")
		if err != nil {
			t.Fatal(err)
		}
		sources := stream.CachedInfo().Sources
		if !slices.ContainsFunc(sources, func(s *jetstream.StreamSourceInfo) bool { return s.Active < 0 }) && len(sources) == 2 {
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("signals are not taken over")
		}
	}
}

type operator = protocol.OperatorFunc

func textOf(in protocol.OperatorInput) string {
	s, _ := in.Message.AsText()
	return s
}

func (w *world) operators() map[protocol.OperatorID]operator {
	return map[protocol.OperatorID]operator{
		"echo": func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			said, err := actors.Step(ctx, "say", func(context.Context) (string, error) { return "said " + textOf(in), nil })
			out := protocol.Reply(said)
			out.Metadata.Cost = protocol.MustDecimal("0.25")
			return out, err
		},
		"fails": func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
			return protocol.OperatorOutput{}, protocol.NewError(protocol.CodeToolError, "it broke")
		},
		"waits": func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
			word, err := actors.Await[string](ctx, "word")
			return protocol.Reply(word), err
		},
		"hears": func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
			if _, err := actors.Await[string](ctx, "word"); err != nil {
				return protocol.OperatorOutput{}, err
			}
			at := step.Next(ctx)
			said, err := at.Steer(ctx)
			if err != nil {
				return protocol.OperatorOutput{}, err
			}
			_, err = at.Run(ctx, step.Spec{Kind: run.StepCode, Name: "after"}, func(context.Context) (run.Entry, error) { return run.Entry{}, nil })
			return protocol.Reply(fmt.Sprint("heard ", len(said))), err
		},
		"holds": func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
			select {
			case <-w.hold:
			case <-ctx.Done():
			}
			return protocol.Reply("held"), ctx.Err()
		},
		"asks": func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
			decided, err := step.Approval(ctx, protocol.ApprovalRequest{Pending: []protocol.PendingToolCall{
				{CallID: "c1", ToolName: "delete", ToolInput: json.RawMessage(`{"path":"/secret"}`)},
				{CallID: "c2", ToolName: "mail", ToolInput: json.RawMessage(`{}`)},
			}})
			return protocol.Reply(fmt.Sprint(decided["c1"].Approved, decided["c2"].Approved)), err
		},
		"parent": func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			a, err := actors.Call(ctx, "first", "echo", protocol.Text("a"))
			if err != nil {
				return a, err
			}
			return actors.Call(ctx, "second", "waits", protocol.Text("b"))
		},
		"large": func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
			return protocol.Reply(string(make([]byte, 100_000))), nil
		},
		"hands": func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
			out := protocol.Reply("over to echo")
			out.ExitReason = protocol.Exit(protocol.ExitHandedOff)
			out.Effects = protocol.Effects{protocol.Handoff{Operator: "echo", State: json.RawMessage(`"state"`)}}
			return out, nil
		},
		"long": func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
			for range 30 {
				if _, err := actors.Step(ctx, "step", func(context.Context) (int, error) { return 1, nil }); err != nil {
					return protocol.OperatorOutput{}, err
				}
			}
			out := protocol.Reply("declared")
			out.Effects = protocol.Effects{protocol.CustomEffect{EffectType: "mail", Data: json.RawMessage(`{}`)}}
			return out, nil
		},
		"mails": func(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			out := protocol.Reply("declared")
			out.Effects = protocol.Effects{protocol.CustomEffect{EffectType: "mail", Data: json.RawMessage(`{}`)}}
			if in.Session != nil {
				out.Effects = append(out.Effects, protocol.WriteMemory{Scope: protocol.InSession(*in.Session), Key: "drink", Value: json.RawMessage(`"tea"`)})
			}
			return out, nil
		},
	}
}

// submit gives an operator a task and returns what it became.
func (w *world) submit(t testing.TB, operator protocol.OperatorID, session string, s task.Submission) task.Accepted {
	t.Helper()
	in := protocol.Text("hello")
	if session != "" {
		in = in.WithSession(protocol.SessionID(session))
	}
	accepted, err := task.New(w.conn).Submit(testContext(t), operator, in, s)
	if err != nil {
		t.Fatal(err)
	}
	return accepted
}

// done submits a task and waits for its end.
func (w *world) done(t testing.TB, operator protocol.OperatorID, session string) inspect.Result {
	t.Helper()
	a := w.submit(t, operator, session, task.Submission{})
	result, err := w.reader().Wait(testContext(t), a.Workflow, a.Run, nil)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// until waits until an instance has a state.
func (w *world) until(t testing.TB, workflow protocol.WorkflowID, want run.State) {
	t.Helper()
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	_, err := w.reader().Wait(ctx, workflow, "", func(s run.Status) {
		if s.State == want {
			cancel()
		}
	})
	if ctx.Err() == nil || t.Context().Err() != nil {
		t.Fatalf("%s is never %s: %v", workflow, want, err)
	}
}

func (w *world) signal(t testing.TB, workflow protocol.WorkflowID, typ, data string) {
	t.Helper()
	err := bus.NewDispatcher(w.guest).Signal(testContext(t), workflow, protocol.SignalPayload{SignalType: typ, Data: json.RawMessage(data)})
	if err != nil {
		t.Fatal(err)
	}
}

func text(t testing.TB, out *protocol.OperatorOutput) string {
	t.Helper()
	if out == nil {
		t.Fatal("no output")
	}
	s, _ := out.Message.AsText()
	return s
}

func wantCode(t testing.TB, err error, code protocol.Code) {
	t.Helper()
	if protocol.CodeOf(err) != code {
		t.Errorf("got %v, want %s", err, code)
	}
}
