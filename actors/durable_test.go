package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
)

func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func register(t testing.TB, n *actors.Node, id protocol.OperatorID, f protocol.OperatorFunc, opts ...actors.Option) {
	t.Helper()
	if err := n.Register(id, f, opts...); err != nil {
		t.Fatal(err)
	}
}

// text is what an output says.
func text(t testing.TB, out protocol.OperatorOutput) string {
	t.Helper()
	s, ok := out.Message.AsText()
	if !ok {
		t.Fatalf("no text: %+v", out.Message)
	}
	return s
}

func TestDurableDispatch(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	var runs atomic.Int32
	register(t, n, "echo", func(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		runs.Add(1)
		s, _ := in.Message.AsText()
		return protocol.Reply("echo " + s), nil
	}, actors.Durable())
	start(t, n)
	ctx := within(t, 30*time.Second)
	d := bus.NewDispatcher(conn)
	for i := range 3 {
		out, err := d.Dispatch(protocol.WithCall(ctx, protocol.Call{Run: "once"}), "echo", protocol.Text("hi"))
		if err != nil {
			t.Fatalf("dispatch %d: %v", i, err)
		}
		if got := text(t, out); got != "echo hi" {
			t.Errorf("answer %d = %q", i, got)
		}
	}
	if got := runs.Load(); got != 1 {
		t.Errorf("one run id ran %d times", got)
	}
	_, err := d.Dispatch(protocol.WithCall(ctx, protocol.Call{Run: "once"}), "echo", protocol.Text("something else"))
	if protocol.CodeOf(err) != protocol.CodeConflict {
		t.Errorf("another input under the same run id: %v", err)
	}
}

// A run whose node loses its connection in the middle goes on at another, and repeats no step.
func TestDurableTakeover(t *testing.T) {
	t.Parallel()
	s, conn := server(t)
	var first, second, third atomic.Int32
	stuck := make(chan struct{})
	var once atomic.Bool
	op := func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		a, err := actors.Step(ctx, "first", func(context.Context) (int, error) { return int(first.Add(1)), nil })
		if err != nil {
			return protocol.OperatorOutput{}, err
		}
		b, err := actors.Step(ctx, "second", func(ctx context.Context) (int, error) {
			n := int(second.Add(1))
			if once.CompareAndSwap(false, true) {
				close(stuck)
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return n, nil
		})
		if err != nil {
			return protocol.OperatorOutput{}, err
		}
		c, err := actors.Step(ctx, "third", func(context.Context) (int, error) { return int(third.Add(1)), nil })
		return protocol.Reply(fmt.Sprint(a, b, c)), err
	}
	dying := connect(t, s)
	one := node(t, dying, actors.Config{Name: "one", TaskWait: time.Second})
	register(t, one, "op", op, actors.Durable())
	start(t, one)
	ctx := within(t, time.Minute)
	answer := make(chan error, 1)
	go func() {
		out, err := bus.NewDispatcher(conn).Dispatch(ctx, "op", protocol.Text("x"))
		if got, _ := out.Message.AsText(); err == nil && got != "1 2 1" {
			err = fmt.Errorf("answer %q", got)
		}
		answer <- err
	}()
	<-stuck
	two := node(t, conn, actors.Config{Name: "two", TaskWait: time.Second})
	register(t, two, "op", op, actors.Durable())
	start(t, two)
	dying.NATS().Close()
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
	if first.Load() != 1 || second.Load() != 2 || third.Load() != 1 {
		t.Errorf("steps ran %d, %d, %d times", first.Load(), second.Load(), third.Load())
	}
}

func TestDurableWaits(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	var begun atomic.Int32
	register(t, n, "onboard", func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		begun.Add(1)
		if err := actors.Sleep(ctx, 1200*time.Millisecond); err != nil {
			return protocol.OperatorOutput{}, err
		}
		answer, err := actors.Await[struct{ By string }](ctx, "manager approval", actors.Deadline(time.Hour))
		if err != nil {
			return protocol.OperatorOutput{}, err
		}
		_, err = actors.Await[json.RawMessage](ctx, "never", actors.Deadline(1500*time.Millisecond))
		if !errors.Is(err, actors.ErrExpired) {
			return protocol.OperatorOutput{}, err
		}
		return protocol.Reply(answer.By), nil
	}, actors.Durable())
	start(t, n)
	ctx := within(t, time.Minute)
	tasks := task.New(conn)
	inbox := conn.NATS().NewInbox()
	sub, err := conn.NATS().SubscribeSync(inbox)
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := tasks.Submit(ctx, "onboard", protocol.Text("ann"), task.Submission{Inboxes: []string{inbox}})
	if err != nil {
		t.Fatal(err)
	}
	d := bus.NewDispatcher(conn)
	// It comes while the run sleeps, and is kept for the step that wants it.
	waitState(ctx, t, d, accepted.Workflow, "suspended")
	if err := d.Signal(ctx, accepted.Workflow, protocol.SignalPayload{SignalType: "manager approval", Data: json.RawMessage(`{"By":"eve"}`)}); err != nil {
		t.Fatal(err)
	}
	m, err := sub.NextMsgWithContext(ctx)
	if err != nil {
		t.Fatal(err)
	}
	out, err := bus.DecodeReply(m)
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, out); got != "eve" {
		t.Errorf("answer = %q", got)
	}
	if got := begun.Load(); got != 3 {
		t.Errorf("the code began %d times, want 3: at first, after the sleep, after the deadline", got)
	}
}

// waitState polls the status query: it is what there is for clients.
func waitState(ctx context.Context, t testing.TB, d *bus.Dispatcher, w protocol.WorkflowID, want string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var last json.RawMessage
	for {
		raw, err := d.Query(ctx, w, protocol.QueryPayload{QueryType: "status"})
		var status struct{ State string }
		if err == nil && json.Unmarshal(raw, &status) == nil && status.State == want {
			return
		}
		last = raw
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s is not %s: %s, %v", w, want, last, err)
		}
	}
}

func TestDurableChild(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	slow := make(chan struct{})
	register(t, n, "child", func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		s, _ := in.Message.AsText()
		if s == "slow" {
			select {
			case <-slow:
			case <-ctx.Done():
				return protocol.OperatorOutput{}, ctx.Err()
			}
		}
		out := protocol.Reply("child of " + s)
		out.Metadata.Cost = protocol.MustDecimal("0.25")
		return out, nil
	})
	register(t, n, "parent", func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		a, err := actors.Call(ctx, "quick", "child", protocol.Text("quick"))
		if err != nil {
			return protocol.OperatorOutput{}, err
		}
		b, err := actors.Call(ctx, "slow", "child", protocol.Text("slow"))
		if err != nil {
			return protocol.OperatorOutput{}, err
		}
		x, _ := a.Message.AsText()
		y, _ := b.Message.AsText()
		return protocol.Reply(x + ", " + y), nil
	}, actors.Durable())
	start(t, n)
	ctx := within(t, time.Minute)
	d := bus.NewDispatcher(conn)
	answer := make(chan string, 1)
	go func() {
		out, err := d.Dispatch(protocol.WithCall(ctx, protocol.Call{Run: "p"}), "parent", protocol.Text("x"))
		got, _ := out.Message.AsText()
		answer <- fmt.Sprint(got, " ", err)
	}()
	waitState(ctx, t, d, "parent/p", "suspended")
	close(slow)
	if got := <-answer; got != "child of quick, child of slow <nil>" {
		t.Errorf("answer = %q", got)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	running := make(chan struct{}, 2)
	register(t, n, "model", func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		running <- struct{}{}
		<-ctx.Done()
		return protocol.OperatorOutput{}, ctx.Err()
	}, actors.Durable())
	register(t, n, "parent", func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		return actors.Call(ctx, "model", "model", protocol.Text("x"))
	}, actors.Durable())
	start(t, n)
	ctx := within(t, time.Minute)
	d := bus.NewDispatcher(conn)
	done := make(chan error, 1)
	go func() {
		_, err := d.Dispatch(protocol.WithCall(ctx, protocol.Call{Run: "p"}), "parent", protocol.Text("x"))
		done <- err
	}()
	<-running
	if err := d.Signal(ctx, "parent/p", protocol.SignalPayload{SignalType: "cancel", Data: json.RawMessage(`"enough"`)}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; protocol.CodeOf(err) != protocol.CodeCancelled {
		t.Errorf("cancelled run answered %v", err)
	}
	raw, err := d.Query(ctx, "model/p.1", protocol.QueryPayload{QueryType: "status"})
	if err != nil {
		t.Fatal(err)
	}
	var status struct{ State, Ended string }
	if err := json.Unmarshal(raw, &status); err != nil || status.Ended != "cancelled" {
		t.Errorf("child is %s, %v", raw, err)
	}
}
