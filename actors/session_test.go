package actors_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed/embedtest"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/memory"
)

func inSession(session, text string) protocol.OperatorInput {
	return protocol.Text(text).WithSession(protocol.SessionID(session))
}

// Twenty clients talk to one session over three nodes: each is answered, one at a time, and every turn sees those before it.
func TestOneWriterPerSession(t *testing.T) {
	t.Parallel()
	t.Run("one server", func(t *testing.T) {
		t.Parallel()
		s, _ := server(t)
		oneWriter(t, 1, func() *bus.Conn { return connect(t, s) })
	})
	t.Run("three servers", func(t *testing.T) {
		t.Parallel()
		urls, next := embedtest.Cluster(t), 0
		oneWriter(t, 3, func() *bus.Conn {
			next++
			conn, err := bus.Connect(within(t, time.Minute), bus.ConnectConfig{URL: urls[next%len(urls)]})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { closeConn(t, conn) })
			return conn
		})
	})
}

func oneWriter(t *testing.T, replicas int, connection func() *bus.Conn) {
	t.Helper()
	conn := connection()
	var inside, most atomic.Int32
	var mu sync.Mutex
	var order []string
	op := func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		most.Store(max(most.Load(), inside.Add(1)))
		defer inside.Add(-1)
		said, _ := in.Message.AsText()
		info, _ := step.InfoFrom(ctx)
		_, err := actors.Step(ctx, "note", func(context.Context) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, said)
			return said, nil
		})
		return protocol.Reply(fmt.Sprintf("%s after %d", said, len(info.History))), err
	}
	for _, name := range []string{"one", "two", "three"} {
		n := node(t, connection(), actors.Config{Name: name, TaskWait: 5 * time.Second, Topology: bus.Topology{Replicas: replicas}})
		register(t, n, "chat", op, actors.Durable())
		start(t, n)
	}
	ctx := within(t, time.Minute)
	d := bus.NewDispatcher(conn)
	const clients = 20
	answers := make([]string, clients)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			out, err := d.Dispatch(ctx, "chat", inSession("s", fmt.Sprint("c", i)))
			if err != nil {
				t.Errorf("client %d: %v", i, err)
			}
			answers[i], _ = out.Message.AsText()
		})
	}
	wg.Wait()
	if most.Load() != 1 {
		t.Errorf("%d turns at a time", most.Load())
	}
	if len(order) != clients {
		t.Fatalf("%d turns, want one each: %v", len(order), order)
	}
	for i, said := range order {
		if want := fmt.Sprintf("%s after %d", said, i); !slices.Contains(answers, want) {
			t.Errorf("turn %d: nobody was answered %q", i, want)
		}
	}
}

// What is in work when an input comes decides by the policy what becomes of it.
func TestWhenBusy(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	begun := make(chan string, 16)
	goOn := make(chan struct{})
	register(t, n, "op", func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		said, _ := in.Message.AsText()
		begun <- said
		if said == "slow" {
			select {
			case <-goOn:
			case <-ctx.Done():
				return protocol.OperatorOutput{}, ctx.Err()
			}
		}
		return protocol.Reply("did " + said), nil
	}, actors.Durable())
	start(t, n)
	ctx := within(t, time.Minute)
	tasks, d := task.New(conn), bus.NewDispatcher(conn)
	ask := func(session, text string, busy actors.Busy) <-chan string {
		answer := make(chan string, 1)
		inbox := conn.NATS().NewInbox()
		sub, err := conn.NATS().SubscribeSync(inbox)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tasks.Submit(ctx, "op", inSession(session, text), task.Submission{Inboxes: []string{inbox}, WhenBusy: string(busy)}); err != nil {
			t.Fatal(err)
		}
		go func() {
			m, err := sub.NextMsgWithContext(ctx)
			if err != nil {
				answer <- err.Error()
				return
			}
			out, err := bus.DecodeReply(m)
			if err != nil {
				answer <- string(protocol.CodeOf(err))
				return
			}
			said, _ := out.Message.AsText()
			answer <- said
		}()
		return answer
	}
	want := func(what string, got <-chan string, want string) {
		t.Helper()
		select {
		case g := <-got:
			if g != want {
				t.Errorf("%s answered %q, want %q", what, g, want)
			}
		case <-ctx.Done():
			t.Fatalf("%s is not answered", what)
		}
	}
	slow := ask("s", "slow", "")
	want("begin", begun, "slow")
	rejected := ask("s", "turned away", actors.Reject)
	want("rejected", rejected, "unavailable")
	queued := ask("s", "later", actors.Enqueue)
	waitQueue(ctx, t, d, "op/s", 1)
	close(goOn)
	want("slow", slow, "did slow")
	want("queued", queued, "did later")
	want("begin", begun, "later")

	goOn = make(chan struct{})
	stopped := ask("i", "slow", "")
	want("begin", begun, "slow")
	interrupting := ask("i", "now", actors.Interrupt)
	want("interrupted", stopped, "cancelled")
	want("interrupting", interrupting, "did now")
}

func waitQueue(ctx context.Context, t testing.TB, d *bus.Dispatcher, w protocol.WorkflowID, want int) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		raw, err := d.Query(ctx, w, protocol.QueryPayload{QueryType: "status"})
		var status struct{ Queue int }
		if err == nil && json.Unmarshal(raw, &status) == nil && status.Queue == want {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("queue of %s is not %d: %s, %v", w, want, raw, err)
		}
	}
}

// A turn reads what the turn before wrote, although executors perform the writes; and effects carry the numbers of the
// instance, over turns and nodes.
func TestReadYourWrites(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	store := memory.New(memory.Config{})
	n := node(t, conn, actors.Config{State: slowStore{store}})
	register(t, n, "count", func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		raw, err := store.Read(ctx, protocol.InSession("s"), "n")
		if err != nil {
			return protocol.OperatorOutput{}, err
		}
		var v int
		if raw != nil {
			if err := json.Unmarshal(raw, &v); err != nil {
				return protocol.OperatorOutput{}, err
			}
		}
		v++
		out := protocol.Reply(fmt.Sprint(v))
		out.Effects = protocol.Effects{protocol.WriteMemory{Scope: protocol.InSession("s"), Key: "n", Value: json.RawMessage(fmt.Sprint(v))}}
		return out, nil
	}, actors.Durable())
	start(t, n)
	ctx := within(t, time.Minute)
	d := bus.NewDispatcher(conn)
	for i := range 5 {
		out, err := d.Dispatch(ctx, "count", inSession("s", "next"))
		if err != nil {
			t.Fatal(err)
		}
		if got := text(t, out); got != fmt.Sprint(i+1) {
			t.Errorf("turn %d read %s", i, got)
		}
	}
}

// slowStore takes its time to write.
type slowStore struct{ protocol.StateStore }

func (s slowStore) Write(ctx context.Context, scope protocol.Scope, key string, value json.RawMessage, opts protocol.StoreOptions) error {
	time.Sleep(30 * time.Millisecond) // a slow disk
	return s.StateStore.Write(ctx, scope, key, value, opts)
}

// Who hands off does not answer; who is handed to does.
func TestHandoffAnswers(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	register(t, n, "first", func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		out := protocol.OperatorOutput{Message: protocol.TextContent("not this"), ExitReason: protocol.Exit(protocol.ExitHandedOff)}
		out.Effects = protocol.Effects{protocol.Handoff{Operator: "second", State: json.RawMessage(`{"ticket":1}`)}}
		return out, nil
	}, actors.Durable())
	register(t, n, "second", func(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		said, _ := in.Message.AsText()
		return protocol.Reply("took " + said), nil
	}, actors.Durable())
	start(t, n)
	out, err := bus.NewDispatcher(conn).Dispatch(within(t, time.Minute), "first", protocol.Text("x"))
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, out); got != `took {"ticket":1}` {
		t.Errorf("answer = %q", got)
	}
}

// What is too large for the log is kept beside it, and comes back whole.
func TestLargeInputAndOutput(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	register(t, n, "big", func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		said, _ := in.Message.AsText()
		twice, err := actors.Step(ctx, "twice", func(context.Context) (string, error) { return said + said, nil })
		if err != nil {
			return protocol.OperatorOutput{}, err
		}
		if err := actors.Sleep(ctx, 1100*time.Millisecond); err != nil { // and comes back from the log
			return protocol.OperatorOutput{}, err
		}
		out := protocol.Reply(twice)
		out.Effects = protocol.Effects{protocol.Log{Level: protocol.LogInfo, Message: "done"}}
		return out, nil
	}, actors.Durable())
	start(t, n)
	large := strings.Repeat("x", 200<<10)
	out, err := bus.NewDispatcher(conn).Dispatch(within(t, time.Minute), "big", inSession("s", large))
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, out); got != large+large {
		t.Errorf("answer has %d bytes", len(got))
	}
	stream, err := conn.JetStream().Stream(t.Context(), "SKG_LOG")
	if err != nil {
		t.Fatal(err)
	}
	if size := stream.CachedInfo().State.Bytes; size > 20<<10 {
		t.Errorf("the log has %d bytes", size)
	}
}

// A run that fails again and again ends, with its input, among the dead letters, and can be tried again from there.
func TestAttemptsEnd(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	var tries atomic.Int32
	register(t, n, "flaky", func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		if tries.Add(1) <= 2 {
			return protocol.OperatorOutput{}, protocol.NewError(protocol.CodeUnavailable, "not now").After(time.Millisecond)
		}
		return protocol.Reply("at last"), nil
	}, actors.Durable(), actors.Attempts(2))
	start(t, n)
	ctx := within(t, time.Minute)
	_, err := bus.NewDispatcher(conn).Dispatch(protocol.WithCall(ctx, protocol.Call{Run: "r"}), "flaky", protocol.Text("the input"))
	if protocol.CodeOf(err) != protocol.CodeUnavailable {
		t.Errorf("error = %v", err)
	}
	dead := buried(t, conn, 1)[0]
	if dead.Letter.Attempts != 2 || !strings.Contains(string(dead.Letter.Input), "the input") || dead.Letter.Run != "r" {
		t.Errorf("letter = %+v", dead.Letter)
	}
	if err := conn.RetryDead(ctx, dead); err != nil {
		t.Fatal(err)
	}
	d := bus.NewDispatcher(conn)
	waitState(ctx, t, d, protocol.WorkflowID(fmt.Sprintf("flaky/r~retry-%d", dead.Seq)), "idle")
	if tries.Load() != 3 {
		t.Errorf("%d tries", tries.Load())
	}
}

// A run with a deadline ends by it, also while it waits and holds nothing.
func TestDeadlineOfASuspendedRun(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	register(t, n, "waits", func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		_, err := actors.Await[string](ctx, "never")
		return protocol.Reply("x"), err
	}, actors.Durable())
	start(t, n)
	ctx := within(t, 30*time.Second)
	accepted, err := task.New(conn).Submit(ctx, "waits", protocol.Text("x"), task.Submission{Deadline: time.Now().Add(700 * time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	waitState(ctx, t, bus.NewDispatcher(conn), accepted.Workflow, "idle")
	if l := buried(t, conn, 1)[0].Letter; l.Reason.Code != protocol.CodeTimeout {
		t.Errorf("letter = %+v", l)
	}
}

// A name that is too long for a subject is known by its digest, and what reaches the instance before its first input does
// not take its name away.
func TestLongNames(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	store := memory.New(memory.Config{})
	n := node(t, conn, actors.Config{State: store})
	session := strings.Repeat("s/", 200)
	register(t, n, "op", func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		out := protocol.Reply(protocol.InvocationFrom(ctx).Instance)
		out.Effects = protocol.Effects{protocol.WriteMemory{Scope: protocol.InSession(*in.Session), Key: "k", Value: json.RawMessage(`1`)}}
		return out, nil
	}, actors.Durable())
	start(t, n)
	ctx := within(t, 30*time.Second)
	d := bus.NewDispatcher(conn)
	if err := d.Signal(bus.ToRun(ctx, "other"), protocol.WorkflowID("op/"+session), protocol.SignalPayload{SignalType: "hello"}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second waits until the effect of the first is done
		out, err := d.Dispatch(ctx, "op", inSession(session, "x"))
		if err != nil {
			t.Fatal(err)
		}
		if got := text(t, out); got != session {
			t.Errorf("instance = %.50q", got)
		}
	}
}

// What an administrator removes from under a node does not confuse it for good.
func TestLogRemovedFromUnderANode(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	register(t, n, "op", func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		info, _ := step.InfoFrom(ctx)
		return protocol.Reply(fmt.Sprint(len(info.History))), nil
	}, actors.Durable())
	start(t, n)
	ctx := within(t, 30*time.Second)
	d := bus.NewDispatcher(conn)
	for _, want := range []string{"0", "1", "0", "1"} {
		if want == "0" {
			stream, err := conn.JetStream().Stream(ctx, "SKG_LOG")
			if err != nil {
				t.Fatal(err)
			}
			if err := stream.Purge(ctx); err != nil {
				t.Fatal(err)
			}
		}
		out, err := d.Dispatch(ctx, "op", inSession("s", "x"))
		if err != nil {
			t.Fatal(err)
		}
		if got := text(t, out); got != want {
			t.Errorf("sees %s turns, want %s", got, want)
		}
	}
}

// A node that is told to stop lets a run reach its next step, and another goes on at once.
func TestDrainHandsOver(t *testing.T) {
	t.Parallel()
	s, conn := server(t)
	inStep := make(chan struct{})
	finish := make(chan struct{})
	var steps atomic.Int32
	var once sync.Once
	op := func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		for range 3 {
			if _, err := actors.Step(ctx, "step", func(context.Context) (int, error) {
				once.Do(func() { close(inStep); <-finish })
				return int(steps.Add(1)), nil
			}); err != nil {
				return protocol.OperatorOutput{}, err
			}
		}
		return protocol.Reply(fmt.Sprint(steps.Load())), nil
	}
	one := node(t, connect(t, s), actors.Config{Name: "one"})
	register(t, one, "op", op, actors.Durable())
	start(t, one)
	ctx := within(t, time.Minute)
	answer := make(chan string, 1)
	go func() {
		out, err := bus.NewDispatcher(conn).Dispatch(ctx, "op", protocol.Text("x"))
		got, _ := out.Message.AsText()
		answer <- fmt.Sprint(got, err)
	}()
	<-inStep
	two := node(t, conn, actors.Config{Name: "two"})
	register(t, two, "op", op, actors.Durable())
	start(t, two)
	stopped := make(chan error, 1)
	go func() { stopped <- one.Stop(ctx) }()
	close(finish)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	at := time.Now()
	if got := <-answer; got != "3<nil>" {
		t.Errorf("answer = %q", got)
	}
	if took := time.Since(at); took > 10*time.Second { // AckWait is 30 s
		t.Errorf("the other node went on after %v", took)
	}
}

// A task that names no run is one run; one that nobody can read is answered and, without anyone to answer, buried.
func TestPlainTasks(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	done := make(chan string, 4)
	register(t, n, "plain", func(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		said, _ := in.Message.AsText()
		done <- said
		return protocol.Reply(said), nil
	}, actors.Durable())
	start(t, n)
	ctx := within(t, time.Minute)
	if _, err := conn.JetStream().Publish(ctx, conn.Names().Task("plain"), []byte("just text")); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got != "just text" {
		t.Errorf("got %q", got)
	}
	if _, err := conn.JetStream().Publish(ctx, conn.Names().Task("plain"), []byte(`{"message":7}`)); err != nil {
		t.Fatal(err)
	}
	if l := buried(t, conn, 1)[0].Letter; l.Reason.Code != protocol.CodeInvalidInput || string(l.Raw) != `{"message":7}` {
		t.Errorf("letter = %+v", l)
	}
	tasks := task.New(conn)
	if _, err := tasks.Submit(ctx, "plain", protocol.Text("later"), task.Submission{At: time.Now().Add(300 * time.Millisecond)}); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got != "later" {
		t.Errorf("got %q", got)
	}
}
