package task_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestEnqueue(t *testing.T) {
	t.Parallel()
	_, tasks := open(t, bus.Topology{})
	inputs := consumer(t, tasks.Inputs, task.ConsumerConfig{})
	wakes := consumer(t, tasks.Wakes, task.ConsumerConfig{})
	first, err := tasks.Enqueue(minute(t), input("r1"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := tasks.Enqueue(minute(t), &nats.Msg{Subject: "skg.wake.op.i.child", Data: []byte("w")})
	if err != nil || second <= first {
		t.Fatalf("got %d behind %d, %v", second, first, err)
	}
	if m := next(t, inputs); string(m.Data()) != "r1" || m.Subject() != "skg.task.op" {
		t.Errorf("got %s %q", m.Subject(), m.Data())
	}
	if m := next(t, wakes); string(m.Data()) != "w" || m.Subject() != "skg.wake.op.i.child" {
		t.Errorf("got %s %q", m.Subject(), m.Data())
	}
}

func TestEnqueueRefuses(t *testing.T) {
	t.Parallel()
	_, tasks := open(t, bus.Topology{})
	for _, subject := range []string{
		"", "skg.task", "skg.task.", "skg.task.A", "skg.task.a.b", "skg.task.*", "skg.wake.op", "skg.wake.op.i", "skg.wake.op.i.>",
		"skg.wake.op..x", "skg.wake.op.i.x.", "skg.wake.op.i.a b", "skg.log.op.i.run", "other.task.op", "skg.timer.task.op.x",
	} {
		if _, err := tasks.Enqueue(minute(t), &nats.Msg{Subject: subject}); protocol.CodeOf(err) != protocol.CodeInvalidInput {
			t.Errorf("%q: got %v", subject, err)
		}
	}
	large := input("r")
	large.Data = make([]byte, 2<<20)
	if _, err := tasks.Enqueue(minute(t), large); protocol.CodeOf(err) != protocol.CodeQuotaExceeded {
		t.Errorf("too large: got %v", err)
	}
}

func TestFullStream(t *testing.T) {
	t.Parallel()
	_, tasks := open(t, bus.Topology{MaxBytes: 4096})
	var err error
	for i := 0; err == nil && i < 100; i++ {
		m := input("r")
		m.Data = make([]byte, 500)
		_, err = tasks.Enqueue(minute(t), m)
	}
	if protocol.CodeOf(err) != protocol.CodeQuotaExceeded {
		t.Errorf("got %v", err)
	}
}

// Where nobody answers for the stream yet it is tried again until it is there.
func TestEnqueueWaitsForTheStream(t *testing.T) {
	t.Parallel()
	_, conn := serve(t, t.TempDir())
	tasks, done := task.New(conn), make(chan error, 1)
	go func() {
		_, err := tasks.Enqueue(minute(t), input("r"))
		done <- err
	}()
	if err := conn.Ensure(minute(t), bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := stored(t, conn, "SKG_TASKS"); n != 1 {
		t.Errorf("%d tasks", n)
	}
}

// Who hears a task and does not answer leaves it unknown whether it is stored; ended by the context, that is said. With time
// for a second attempt it is sent again if it has a run id or is a wake, and not otherwise.
func TestEnqueueUnknown(t *testing.T) {
	t.Parallel()
	wake := &nats.Msg{Subject: "skg.wake.op.i.child"}
	for name, tc := range map[string]struct {
		msg    *nats.Msg
		within time.Duration
		sent   int
	}{
		"one attempt": {input("r"), 300 * time.Millisecond, 1},
		"run id":      {input("r"), 3 * time.Second, 2},
		"wake":        {wake, 3 * time.Second, 2},
		"none":        {input(""), 3 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, conn := serve(t, t.TempDir())
			heard, err := conn.NATS().SubscribeSync("skg.>")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = heard.Unsubscribe() }()
			ctx, cancel := context.WithTimeout(minute(t), tc.within)
			defer cancel()
			if _, err := task.New(conn).Enqueue(ctx, tc.msg); protocol.CodeOf(err) != protocol.CodeTimeout {
				t.Errorf("got %v", err)
			}
			if n, _, _ := heard.Pending(); n != tc.sent {
				t.Errorf("sent %d times, want %d", n, tc.sent)
			}
		})
	}
}

func TestSource(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{
		"": 0, "SKG_LOG": 0, "SKG_LOG x": 0, "SKG_LOG 0": 0, "SKG_LOG -1": 0, "SKG_LOG 12": 12,
		"SKG_LOG 7 skg.signal.*.*.* skg.wake.{{wildcard(1)}}.x skg.signal.a.b.c abc": 7,
	} {
		h := nats.Header{}
		h.Set("Nats-Stream-Source", text)
		if seq, ok := task.Source(h); seq != want || ok != (want > 0) {
			t.Errorf("%q: got %d, %v", text, seq, ok)
		}
	}
}

// A signal wakes its instance, with the sequence that it has in the log, and nobody can forge that.
func TestSignalWakes(t *testing.T) {
	t.Parallel()
	conn, tasks := open(t, bus.Topology{})
	wakes := consumer(t, tasks.Wakes, task.ConsumerConfig{})
	js := conn.JetStream()
	for range 3 {
		if _, err := js.Publish(minute(t), "skg.log.op.i.run", nil); err != nil {
			t.Fatal(err)
		}
	}
	msg := &nats.Msg{Subject: "skg.signal.op.a=2Fb.steer", Data: []byte("left"), Header: nats.Header{"Skg-Run-Id": {"r"}}}
	ack, err := js.PublishMsg(minute(t), msg)
	if err != nil {
		t.Fatal(err)
	}
	m := next(t, wakes)
	if seq, ok := task.Source(m.Headers()); !ok || seq != ack.Sequence {
		t.Errorf("source %d, %v, want %d", seq, ok, ack.Sequence)
	}
	if m.Subject() != "skg.wake.op.a=2Fb.sig.steer" || string(m.Data()) != "left" || m.Headers().Get("Skg-Run-Id") != "r" {
		t.Errorf("got %s %q %v", m.Subject(), m.Data(), m.Headers())
	}
	forged := input("r")
	forged.Header.Set("Nats-Stream-Source", "SKG_LOG 1000 a b c")
	if _, err := tasks.Enqueue(minute(t), forged); err == nil {
		t.Error("the server takes a forged source")
	}
}

// A wake is delivered while all that inputs may hold is held.
func TestWakesDoNotWaitBehindInputs(t *testing.T) {
	t.Parallel()
	_, tasks := open(t, bus.Topology{})
	inputs := consumer(t, tasks.Inputs, task.ConsumerConfig{MaxAckPending: 1})
	wakes := consumer(t, tasks.Wakes, task.ConsumerConfig{MaxAckPending: 1})
	for _, id := range []string{"r1", "r2"} {
		if _, err := tasks.Enqueue(minute(t), input(id)); err != nil {
			t.Fatal(err)
		}
	}
	held := next(t, inputs)
	if _, err := tasks.Enqueue(minute(t), &nats.Msg{Subject: "skg.wake.op.i.child"}); err != nil {
		t.Fatal(err)
	}
	next(t, wakes)
	if _, err := inputs.Next(jetstream.FetchMaxWait(100 * time.Millisecond)); !errors.Is(err, nats.ErrTimeout) {
		t.Errorf("more than MaxAckPending: %v", err)
	}
	if err := held.DoubleAck(minute(t)); err != nil {
		t.Fatal(err)
	}
	if m := next(t, inputs); string(m.Data()) != "r2" {
		t.Errorf("got %q", m.Data())
	}
}

func TestConsumersAreChanged(t *testing.T) {
	t.Parallel()
	_, tasks := open(t, bus.Topology{})
	for _, cfg := range []task.ConsumerConfig{{}, {MaxAckPending: 3, AckWait: time.Minute}} {
		want := cfg
		if want.AckWait == 0 {
			want = task.ConsumerConfig{AckWait: task.DefaultAckWait, MaxAckPending: task.DefaultMaxAckPending}
		}
		got := consumer(t, tasks.Inputs, cfg).CachedInfo().Config
		if got.Durable != "in_op" || got.MaxAckPending != want.MaxAckPending || got.AckWait != want.AckWait || got.MaxDeliver != -1 {
			t.Errorf("got %+v", got)
		}
	}
	for operator, cfg := range map[string]task.ConsumerConfig{"No": {}, "op": {AckWait: -1}} {
		if _, err := tasks.Wakes(minute(t), operator, cfg); protocol.CodeOf(err) != protocol.CodeInvalidInput {
			t.Errorf("%s: got %v", operator, err)
		}
	}
}

func TestGiveBack(t *testing.T) {
	t.Parallel()
	_, tasks := open(t, bus.Topology{})
	inputs := consumer(t, tasks.Inputs, task.ConsumerConfig{AckWait: time.Hour})
	if _, err := tasks.Enqueue(minute(t), input("r")); err != nil {
		t.Fatal(err)
	}
	held := next(t, inputs)
	if err := tasks.GiveBack(minute(t), held.Reply()); err != nil {
		t.Fatal(err)
	}
	again := next(t, inputs)
	if meta, err := again.Metadata(); err != nil || meta.NumDelivered != 2 || string(again.Data()) != "r" {
		t.Errorf("got %+v, %q, %v", meta, again.Data(), err)
	}
	if err := again.DoubleAck(minute(t)); err != nil {
		t.Fatal(err)
	}
	if err := tasks.GiveBack(minute(t), again.Reply()); err != nil {
		t.Errorf("of an acknowledged one: %v", err)
	}
	for _, subject := range []string{
		"", "$JS.ACK.", "_INBOX.x", "skg.log.op.i.run", strings.Replace(held.Reply(), "SKG_TASKS", "SKG_LOG", 1), held.Reply() + ".x",
		strings.Replace(held.Reply(), "in_op", "*", 1), "x" + held.Reply(),
	} {
		if err := tasks.GiveBack(minute(t), subject); protocol.CodeOf(err) != protocol.CodeInvalidInput {
			t.Errorf("%q: got %v", subject, err)
		}
	}
}

func TestPending(t *testing.T) {
	t.Parallel()
	conn, tasks := open(t, bus.Topology{})
	if found, err := tasks.Pending(minute(t)); err != nil || len(found) != 0 {
		t.Errorf("got %+v, %v", found, err)
	}
	for _, subject := range []string{"skg.task.op", "skg.task.op", "skg.wake.op.i.child", "skg.wake.op.j.effect", "skg.task.nobody"} {
		if _, err := conn.JetStream().Publish(minute(t), subject, nil); err != nil {
			t.Fatal(err)
		}
	}
	inputs := consumer(t, tasks.Inputs, task.ConsumerConfig{})
	consumer(t, tasks.Wakes, task.ConsumerConfig{})
	next(t, inputs)
	found, err := tasks.Pending(minute(t))
	if err != nil || len(found) != 2 {
		t.Fatalf("got %+v, %v", found, err)
	}
	if p := found[0]; p.Operator != "nobody" || p.Inputs.Messages != 1 || p.Inputs.Consumer || p.Inputs.Oldest.IsZero() || p.Wakes != (task.Queue{}) {
		t.Errorf("got %+v", p)
	}
	p := found[1]
	if in := p.Inputs; p.Operator != "op" || in.Messages != 2 || in.InFlight != 1 || !in.Consumer || !in.Listening || in.Oldest.IsZero() {
		t.Errorf("got %+v", p)
	}
	if w := p.Wakes; w.Messages != 2 || w.InFlight != 0 || !w.Consumer || w.Listening || w.Oldest.IsZero() {
		t.Errorf("got %+v", p)
	}
}
