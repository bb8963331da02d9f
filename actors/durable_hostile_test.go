package actors_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
)

// Steering inputs with long run ids make the record of what was said too large: the run cannot go on, nor be cancelled.
func TestReviewSteerTooLarge(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := must2[*actors.Node](t)(actors.NewNode(conn, actors.Config{}))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = n.Stop(ctx)
	})
	begun, goOn := make(chan struct{}, 9), make(chan struct{})
	register(t, n, "op", func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		if s, _ := in.Message.AsText(); s != "first" {
			return protocol.Reply("own turn"), nil
		}
		begun <- struct{}{}
		<-goOn
		said, err := step.Next(ctx).Steer(ctx)
		return protocol.Reply(fmt.Sprint(len(said))), err
	}, actors.Durable())
	start(t, n)
	ctx := within(t, 45*time.Second)
	d := bus.NewDispatcher(conn)
	done := make(chan string, 1)
	go func() {
		out, err := d.Dispatch(ctx, "op", inSession("s", "first"))
		got, _ := out.Message.AsText()
		done <- fmt.Sprint(got, " ", err)
	}()
	<-begun
	in, err := protocol.Marshal(inSession("s", "x"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 400 {
		if _, err := conn.JetStream().PublishMsg(ctx, &nats.Msg{Subject: "skg.task.op", Data: in, Header: nats.Header{
			"Skg-Run-Id": {"r" + strings.Repeat("\x01", 505) + fmt.Sprintf("%04d", i)}, "Skg-When-Busy": {"steer"},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(20 * time.Second); tasksLeft(ctx, t, conn) > 1 && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
	t.Logf("%d tasks left", tasksLeft(ctx, t, conn))
	close(goOn)
	select {
	case got := <-done:
		t.Log(got)
	case <-time.After(5 * time.Second):
		_ = d.Signal(ctx, "op/s", protocol.SignalPayload{SignalType: "cancel"})
		select {
		case got := <-done:
			t.Errorf("after cancel: %s", got)
		case <-time.After(5 * time.Second):
			t.Errorf("the run hangs, and cannot be cancelled")
		}
	}
}

// Names that no JSON can say.
func TestReviewTokensNotUTF8(t *testing.T) {
	t.Parallel()
	for i, m := range []*nats.Msg{
		{Subject: "skg.signal.op.=FF.hello", Data: []byte("x")},
		{Subject: "skg.signal.op.i.=FF", Data: []byte("x")},
		{Subject: "skg.signal.op.a=b.hello", Data: []byte("x")},
		{Subject: "skg.signal.op.i.a=b", Data: []byte("x")},
		{Subject: "skg.signal.op.===.hello", Data: []byte("x")},
		{Subject: "skg.signal.op." + strings.Repeat("a", 3000) + ".hello", Data: []byte("x")},
		{Subject: "skg.signal.op.i." + strings.Repeat("a", 3000), Data: []byte("x")},
		{Subject: "skg.signal.op." + strings.Repeat("a", 3990) + ".x", Data: []byte("x")},
		{Subject: "skg.task.op", Data: []byte("x"), Header: nats.Header{"Skg-Run-Id": {"r"}, "Skg-Parent": {"op/\xff"}, "Skg-Parent-Seq": {"1"}, "Skg-Parent-Run-Id": {"q"}}},
		{Subject: "skg.task.op", Data: []byte("x"), Header: nats.Header{"Skg-Run-Id": {"r"}, "Skg-Parent": {"op/" + strings.Repeat("a", 9000)}, "Skg-Parent-Seq": {"1"}, "Skg-Parent-Run-Id": {"q"}}},
		{Subject: "skg.task.op", Data: []byte("x"), Header: nats.Header{"Skg-Run-Id": {"r"}, "Skg-Deadline": {"9999-12-31T23:59:59-23:00"}}},
		{Subject: "skg.task.op", Data: []byte(`{"message":"x","session":""}`)},
		{Subject: "skg.task.op", Data: []byte(`{"message":"x","session":"` + strings.Repeat("s", 40000) + `"}`)},
		{Subject: "skg.task.op", Data: []byte("x\xff\xfe")},
		{Subject: "skg.task.op", Data: []byte("x"), Header: nats.Header{"Skg-Run-Id": {"r"}, "Skg-Budget": {"1e127"}}},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			_, conn := server(t)
			n := node(t, conn, actors.Config{})
			register(t, n, "op", func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
				if _, err := actors.Step(ctx, "x", func(context.Context) (int, error) { return 1, nil }); err != nil {
					return protocol.OperatorOutput{}, err
				}
				if err := actors.Sleep(ctx, 1100*time.Millisecond); err != nil {
					return protocol.OperatorOutput{}, err
				}
				return sayAgain(ctx, in)
			}, actors.Durable())
			start(t, n)
			ctx := within(t, 30*time.Second)
			if err := conn.NATS().PublishMsg(m); err != nil {
				t.Skip(err)
			}
			time.Sleep(2500 * time.Millisecond)
			if !tasksDone(t, conn, 6*time.Second) {
				t.Errorf("%.100q %.200v: %d tasks never end", m.Subject, m.Header, tasksLeft(ctx, t, conn))
			}
		})
	}
}

// Somebody deletes the consumer of a running node.
func TestReviewConsumerDeleted(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	register(t, n, "op", sayAgain, actors.Durable())
	start(t, n)
	ctx := within(t, 30*time.Second)
	if err := conn.JetStream().DeleteConsumer(ctx, "SKG_TASKS", "in_op"); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if _, err := bus.NewDispatcher(conn).Dispatch(short, "op", protocol.Text("x")); err != nil {
		t.Errorf("the node is deaf: %v", err)
	}
}

// Inputs of one instance whose log cannot be read take all the places of the operator, on every node.
func TestReviewOneBadLogStarvesTheOperator(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	register(t, n, "op", sayAgain, actors.Durable(), actors.Concurrency(4))
	start(t, n)
	ctx := within(t, 30*time.Second)
	if _, err := conn.JetStream().PublishMsg(ctx, &nats.Msg{Subject: "skg.log.op.bad.run", Data: []byte(
		`{"id":"x","kind":"step_completed","operator":"op","instance":"bad","run":"r","time":"2026-01-01T00:00:00Z","data":{"path":"1","step":"step","name":"x"}}`,
	), Header: nats.Header{"Skg-Kind": {"step_completed"}}}); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := task.New(conn).Submit(ctx, "op", inSession("bad", "x"), task.Submission{}); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(500 * time.Millisecond)
	short, cancel := context.WithTimeout(ctx, 8*time.Second)
	defer cancel()
	if _, err := bus.NewDispatcher(conn).Dispatch(short, "op", inSession("good", "x")); err != nil {
		t.Errorf("another session: %v", err)
	}
}

// An operator that deals with the error that should leave it is taken at its word.
func TestReviewSwallowedUnwind(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	register(t, n, "op", func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		if err := actors.Sleep(ctx, time.Hour); err != nil {
			return protocol.Reply("an hour later"), nil //nolint:nilerr // that is what is tested
		}
		return protocol.Reply("done"), nil
	}, actors.Durable())
	start(t, n)
	ctx := within(t, 3*time.Second)
	if out, err := bus.NewDispatcher(conn).Dispatch(ctx, "op", protocol.Text("x")); err == nil {
		t.Errorf("it is over: %s", text(t, out))
	}
}

// A graceful drain costs the only attempt.
func TestReviewDrainCostsTheOnlyAttempt(t *testing.T) {
	t.Parallel()
	s, conn := server(t)
	ctx := within(t, 30*time.Second)
	began, goOn := make(chan struct{}, 9), make(chan struct{})
	op := func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		began <- struct{}{}
		<-goOn
		if _, err := actors.Step(ctx, "a", func(context.Context) (int, error) { return 1, nil }); err != nil {
			return protocol.OperatorOutput{}, err
		}
		return sayAgain(ctx, in)
	}
	one := node(t, connect(t, s), actors.Config{Name: "one"})
	register(t, one, "op", op, actors.Durable(), actors.Attempts(1))
	start(t, one)
	done := make(chan error, 1)
	go func() { _, err := bus.NewDispatcher(conn).Dispatch(ctx, "op", protocol.Text("x")); done <- err }()
	<-began
	stopped := make(chan error, 1)
	go func() { stopped <- one.Stop(ctx) }()
	time.Sleep(300 * time.Millisecond)
	close(goOn)
	<-stopped
	two := node(t, conn, actors.Config{Name: "two"})
	register(t, two, "op", op, actors.Durable(), actors.Attempts(1))
	start(t, two)
	if err := <-done; err != nil {
		t.Errorf("a run that was given back in good order failed: %v", err)
	}
}

// Effects that are too large for a message are committed, and then cannot be published: the run is never settled.
func TestReviewEffectsTooLarge(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := must2[*actors.Node](t)(actors.NewNode(conn, actors.Config{}))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = n.Stop(ctx)
	})
	register(t, n, "op", func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		out := protocol.Reply("ok")
		big, _ := json.Marshal(strings.Repeat("x", 1200<<10))
		out.Effects = protocol.Effects{custom("mail", string(big))}
		return out, nil
	}, actors.Durable())
	start(t, n)
	ctx := within(t, 6*time.Second)
	_, err := bus.NewDispatcher(conn).Dispatch(ctx, "op", protocol.Text("x"))
	if protocol.CodeOf(err) == protocol.CodeTimeout {
		t.Errorf("nobody is answered: %v", err)
	}
	t.Log(err)
}

// Odd outputs: whatever they are, the caller hears of it, and the log can still be read.
func TestReviewOddOutputs(t *testing.T) {
	t.Parallel()
	reply := func(f func(*protocol.OperatorOutput)) protocol.OperatorOutput {
		out := protocol.Reply("x")
		f(&out)
		return out
	}
	// Not here: effects for executors that this node does not have, and handoffs to nobody.
	for i, out := range []protocol.OperatorOutput{
		{},
		reply(func(o *protocol.OperatorOutput) { o.Effects = protocol.Effects{nil} }),
		reply(func(o *protocol.OperatorOutput) { o.Effects = protocol.Effects{custom("", "1")} }),
		reply(func(o *protocol.OperatorOutput) { o.Effects = protocol.Effects{custom("a\xff", "1")} }),
		reply(func(o *protocol.OperatorOutput) { o.Effects = protocol.Effects{custom("x", "")} }),
		reply(func(o *protocol.OperatorOutput) { o.Effects = protocol.Effects{custom(strings.Repeat("x", 5000), "1")} }),
		reply(func(o *protocol.OperatorOutput) { o.Effects = protocol.Effects{protocol.Delegate{}} }),
		reply(func(o *protocol.OperatorOutput) { o.Effects = protocol.Effects{protocol.Handoff{}} }),
		reply(func(o *protocol.OperatorOutput) {
			o.Effects = protocol.Effects{protocol.Handoff{Operator: "Bad Name", State: json.RawMessage("1")}}
		}),
		reply(func(o *protocol.OperatorOutput) { o.Effects = protocol.Effects{protocol.Log{}} }),
		reply(func(o *protocol.OperatorOutput) { o.Effects = protocol.Effects{protocol.Signal{}} }),
		reply(func(o *protocol.OperatorOutput) { o.Message = protocol.TextContent("\xff") }),
		reply(func(o *protocol.OperatorOutput) { o.Metadata.Cost = protocol.MustDecimal("-5") }),
		reply(func(o *protocol.OperatorOutput) { o.ExitReason = protocol.OperatorOutput{}.ExitReason }),
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			_, conn := server(t)
			n := must2[*actors.Node](t)(actors.NewNode(conn, actors.Config{}))
			t.Cleanup(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				defer cancel()
				_ = n.Stop(ctx)
			})
			register(t, n, "op", func(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
				return out, nil
			}, actors.Durable())
			start(t, n)
			ctx := within(t, 15*time.Second)
			for range 2 {
				short, cancel := context.WithTimeout(ctx, 4*time.Second)
				_, err := bus.NewDispatcher(conn).Dispatch(short, "op", inSession("s", "x"))
				cancel()
				if protocol.CodeOf(err) == protocol.CodeTimeout {
					t.Errorf("output %d: %v", i, err)
				}
			}
			if _, err := bus.NewDispatcher(conn).Query(ctx, "op/s", protocol.QueryPayload{QueryType: "status"}); err != nil {
				t.Errorf("output %d: status: %v", i, err)
			}
		})
	}
}

var _ = jetstream.ErrMsgNotFound

// What a child is asked is not UTF-8, as the output of a program can be.
func TestReviewChildInputNotUTF8(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	register(t, n, "child", sayAgain, actors.Durable())
	register(t, n, "parent", func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		return actors.Call(ctx, "ask", "child", protocol.Text("bad \xff"))
	}, actors.Durable())
	start(t, n)
	if _, err := bus.NewDispatcher(conn).Dispatch(within(t, 8*time.Second), "parent", protocol.Text("x")); err != nil {
		t.Errorf("call: %v", err)
	}
}

// A guest begins the run of a child before its parent does, with the same input: the parent never hears of its end.
func TestReviewSquattedChild(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	register(t, n, "child", func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		time.Sleep(2500 * time.Millisecond)
		return sayAgain(ctx, in)
	}, actors.Durable())
	register(t, n, "parent", func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		return actors.Call(ctx, "ask", "child", in)
	}, actors.Durable())
	start(t, n)
	ctx := within(t, 9*time.Second)
	if _, err := conn.JetStream().PublishMsg(ctx, &nats.Msg{Subject: "skg.task.child", Data: []byte("x"), Header: nats.Header{"Skg-Run-Id": {"p.1"}}}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	if _, err := bus.NewDispatcher(conn).Dispatch(protocol.WithCall(ctx, protocol.Call{Run: "p"}), "parent", protocol.Text("x")); err != nil {
		t.Errorf("parent: %v", err)
	}
}
