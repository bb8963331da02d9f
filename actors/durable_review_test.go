package actors_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
)

func sayAgain(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	s, _ := in.Message.AsText()
	return protocol.Reply("re " + s), nil
}

// tasksLeft is how many messages SKG_TASKS has.
func tasksLeft(ctx context.Context, t *testing.T, conn *bus.Conn) uint64 {
	t.Helper()
	stream, err := conn.JetStream().Stream(ctx, "SKG_TASKS")
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().State.Msgs
}

func tasksDone(t *testing.T, conn *bus.Conn, d time.Duration) bool {
	t.Helper()
	end := time.Now().Add(d)
	for time.Now().Before(end) {
		if tasksLeft(t.Context(), t, conn) == 0 {
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}

// A step that is still under way when Execute returns is recorded after the same task went on with the next queued input: into
// a log that nobody can fold any more.
func TestReviewLateStepPoisonsTheLog(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := must2[*actors.Node](t)(actors.NewNode(conn, actors.Config{Logger: logger(t)}))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = n.Stop(ctx)
	})
	begun, second := make(chan struct{}), make(chan struct{})
	late := make(chan error, 1) // of the step
	register(t, n, "op", func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		switch s, _ := in.Message.AsText(); s {
		case "1":
			inStep := make(chan struct{})
			go func() {
				_, err := actors.Step(ctx, "late", func(context.Context) (int, error) {
					close(inStep)
					<-second
					return 1, nil
				})
				late <- err
			}()
			<-inStep
			close(begun)
			time.Sleep(500 * time.Millisecond) // the other input is queued
		case "2":
			close(second)
			time.Sleep(500 * time.Millisecond)
		}
		return protocol.Reply("ok"), nil
	}, actors.Durable())
	start(t, n)
	ctx := within(t, 20*time.Second)
	d := bus.NewDispatcher(conn)
	go func() { _, _ = d.Dispatch(ctx, "op", inSession("s", "1")) }()
	<-begun
	short, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := d.Dispatch(short, "op", inSession("s", "2")); err != nil {
		t.Errorf("the second turn: %v", err)
	}
	select {
	case err := <-late:
		t.Logf("the late step returned %v", err)
	case <-time.After(3 * time.Second):
		t.Errorf("the late step never returns")
	}
	short, cancel = context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := d.Dispatch(short, "op", inSession("s", "3")); err != nil {
		t.Errorf("the third turn: %v", err)
	}
	if _, err := d.Query(ctx, "op/s", protocol.QueryPayload{QueryType: "status"}); err != nil {
		t.Errorf("status: %v", err)
	}
}

// A node with a hot fold of an earlier turn gets the timer of a run that another node suspended, and gives it back for ever.
func TestReviewStaleFoldNeverRefreshed(t *testing.T) {
	t.Parallel()
	s, conn := server(t)
	ctx := within(t, 40*time.Second)
	d := bus.NewDispatcher(conn)
	op := func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		if s, _ := in.Message.AsText(); s == "sleep" {
			if err := actors.Sleep(ctx, 4*time.Second); err != nil {
				return protocol.OperatorOutput{}, err
			}
		}
		return protocol.Reply("ok"), nil
	}
	one := node(t, conn, actors.Config{Name: "one"})
	var block atomic.Bool
	hold := make(chan struct{})
	// one is full while the second turn begins, so that two gets it
	register(t, one, "op", func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		if block.Load() {
			<-hold
		}
		return op(ctx, in)
	}, actors.Durable())
	start(t, one)
	if _, err := d.Dispatch(ctx, "op", inSession("s", "hi")); err != nil {
		t.Fatal(err)
	}
	// the second node begins a run in the same session; tried until it is two that gets it
	two := node(t, connect(t, s), actors.Config{Name: "two"})
	var onTwo atomic.Bool
	register(t, two, "op", func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		if s, _ := in.Message.AsText(); s == "sleep" {
			onTwo.Store(true)
		}
		return op(ctx, in)
	}, actors.Durable())
	start(t, two)
	close(hold)
	found := ""
	for i := range 20 {
		session := fmt.Sprint("t", i)
		onTwo.Store(false)
		// hot on one: keep asking until one has it is not needed, both are asked by turns
		for range 4 {
			if _, err := d.Dispatch(ctx, "op", inSession(session, "hi")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := task.New(conn).Submit(ctx, "op", inSession(session, "sleep"), task.Submission{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(700 * time.Millisecond) // no query: that would refresh the fold
		if onTwo.Load() {
			found = session
			break
		}
	}
	if found == "" {
		t.Fatal("the other node never got a turn")
	}
	stop, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := two.Stop(stop); err != nil {
		t.Fatal(err)
	}
	// queries refresh the fold, so only the tasks are looked at
	time.Sleep(5 * time.Second)
	if !tasksDone(t, conn, 10*time.Second) {
		t.Errorf("the timer of op/%s is given back for ever: %d tasks", found, tasksLeft(ctx, t, conn))
	}
}

// A guest names a reply subject longer than a control line: the node that answers is thrown out by the server, again and again.
func TestReviewLongReplySubject(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{TaskWait: 2 * time.Second})
	register(t, n, "op", sayAgain, actors.Durable())
	start(t, n)
	ctx := within(t, 20*time.Second)
	if _, err := conn.JetStream().PublishMsg(ctx, &nats.Msg{Subject: "skg.task.op", Data: []byte("x"), Header: nats.Header{
		"Skg-Run-Id": {"r"}, "Skg-Reply": {"_INBOX." + strings.Repeat("a", 8000)},
	}}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(6 * time.Second)
	if got := conn.NATS().Stats().Reconnects; got > 0 {
		t.Errorf("the node's connection was closed %d times: %v", got, conn.NATS().LastError())
	}
	if !tasksDone(t, conn, 5*time.Second) {
		t.Errorf("%d tasks never end", tasksLeft(ctx, t, conn))
	}
}

// The same with one that no client library publishes to.
func TestReviewBadReplySubject(t *testing.T) {
	t.Parallel()
	for i, inbox := range []string{"_INBOX.a b", "_INBOX.a..b", "_INBOX.a\tb", "_INBOX.>", "_INBOX.\xff", "_INBOX."} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			_, conn := server(t)
			n := node(t, conn, actors.Config{TaskWait: 2 * time.Second})
			register(t, n, "op", sayAgain, actors.Durable())
			start(t, n)
			ctx := within(t, 20*time.Second)
			if _, err := conn.JetStream().PublishMsg(ctx, &nats.Msg{Subject: "skg.task.op", Data: []byte("x"), Header: nats.Header{
				"Skg-Run-Id": {"r"}, "Skg-Reply": {inbox},
			}}); err != nil {
				t.Fatal(err)
			}
			if !tasksDone(t, conn, 4*time.Second) {
				t.Errorf("%q: %d tasks never end", inbox, tasksLeft(ctx, t, conn))
			}
			if got := conn.NATS().Stats().Reconnects; got > 0 {
				t.Errorf("%q: the node's connection was closed %d times: %v", inbox, got, conn.NATS().LastError())
			}
		})
	}
}

// A guest gives any operator a task that names another's child as its run: what that gives is taken for what the child gave.
func TestReviewForgedChild(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	hold := make(chan struct{})
	defer close(hold)
	register(t, n, "trusted", func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		select {
		case <-hold:
		case <-ctx.Done():
		}
		return protocol.Reply("the truth"), ctx.Err()
	}, actors.Durable())
	register(t, n, "echo", sayAgain, actors.Durable())
	register(t, n, "parent", func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		return actors.Call(ctx, "ask", "trusted", in)
	}, actors.Durable())
	start(t, n)
	ctx := within(t, 20*time.Second)
	d := bus.NewDispatcher(conn)
	answer := make(chan string, 1)
	go func() {
		out, err := d.Dispatch(protocol.WithCall(ctx, protocol.Call{Run: "p"}), "parent", protocol.Text("x"))
		got, _ := out.Message.AsText()
		answer <- fmt.Sprint(got, " ", err)
	}()
	waitState(ctx, t, d, "parent/p", "suspended")
	if _, err := conn.JetStream().PublishMsg(ctx, &nats.Msg{Subject: "skg.task.echo", Data: []byte("a lie"), Header: nats.Header{
		"Skg-Run-Id": {"p.1"}, "Skg-Parent": {"parent/p"}, "Skg-Parent-Seq": {"1"}, "Skg-Parent-Run-Id": {"p"},
	}}); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-answer:
		t.Errorf("the parent was told %q", got)
	case <-time.After(4 * time.Second):
	}
}

// A guest names a parent that waits behind a record that will never be: its wake goes round for ever.
func TestReviewParentSeqNeverReached(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	register(t, n, "op", sayAgain, actors.Durable())
	start(t, n)
	ctx := within(t, 20*time.Second)
	if _, err := conn.JetStream().PublishMsg(ctx, &nats.Msg{Subject: "skg.task.op", Data: []byte("x"), Header: nats.Header{
		"Skg-Run-Id": {"r"}, "Skg-Parent": {"op/victim"}, "Skg-Parent-Seq": {"18446744073709551615"}, "Skg-Parent-Run-Id": {"q"},
	}}); err != nil {
		t.Fatal(err)
	}
	if !tasksDone(t, conn, 6*time.Second) {
		t.Errorf("%d tasks go round for ever", tasksLeft(ctx, t, conn))
	}
}

// Run ids of 512 bytes that JSON writes as 3 KiB, in signals for runs that never begin and in inputs, make the fold too large for
// a message: the task that should write the snapshot is never acknowledged.
func TestReviewSnapshotTooLarge(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	register(t, n, "op", sayAgain, actors.Durable())
	start(t, n)
	ctx := within(t, 40*time.Second)
	long := strings.Repeat("\x01", 500)
	in := must2[[]byte](t)(protocol.Marshal(inSession("s", "x")))
	for i := range 256 {
		m := &nats.Msg{Subject: "skg.signal.op.s.hello", Header: nats.Header{"Skg-Run-Id": {fmt.Sprint("never", i, long)}}}
		if _, err := conn.JetStream().PublishMsg(ctx, m); err != nil {
			t.Fatal(err)
		}
	}
	stream := must2[jetstream.Stream](t)(conn.JetStream().Stream(ctx, "SKG_LOG"))
	waitRecords := func(n uint64) {
		for ctx.Err() == nil {
			info := must2[*jetstream.StreamInfo](t)(stream.Info(ctx, jetstream.WithSubjectFilter("skg.log.op.s.run")))
			if info.State.Subjects["skg.log.op.s.run"] >= n {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	waitRecords(256)
	for i := range 150 {
		m := &nats.Msg{Subject: "skg.task.op", Data: in, Header: nats.Header{"Skg-Run-Id": {fmt.Sprint("r", i, long)}}}
		if _, err := conn.JetStream().PublishMsg(ctx, m); err != nil {
			t.Fatal(err)
		}
	}
	if !tasksDone(t, conn, 15*time.Second) {
		t.Errorf("%d tasks are never acknowledged", tasksLeft(ctx, t, conn))
	}
	last := must2[*jetstream.RawStreamMsg](t)(stream.GetLastMsgForSubject(ctx, "skg.log.op.s.run"))
	t.Logf("the last record is %s of %d bytes", last.Header.Get("Skg-Kind"), len(last.Data))
}
