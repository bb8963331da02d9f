package embed_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
)

func consumerConfig(durable, filter string) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{Durable: durable, FilterSubject: filter}
}

// shortContext is for what is expected to get no answer.
func shortContext(t testing.TB) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(context.Background(), 300*time.Millisecond)
}

func TestGuestReadsLog(t *testing.T) {
	t.Parallel()
	s := start(t, config(t))
	j, ctx := topology(t, s), testContext(t)
	for i := range 20 {
		if _, err := j.Publish(ctx, "skg.log.echo.i1.run", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	g := js(t, guest(t, s))
	for name, cfg := range map[string]jetstream.OrderedConsumerConfig{
		"all":      {},
		"filtered": {FilterSubjects: []string{"skg.log.echo.>"}},
		"two":      {FilterSubjects: []string{"skg.log.echo.>", "skg.signal.>"}},
	} {
		cons, err := g.OrderedConsumer(ctx, "SKG_LOG", cfg)
		if err != nil {
			t.Fatal(name, err)
		}
		it, err := cons.Messages()
		if err != nil {
			t.Fatal(name, err)
		}
		for want := uint64(1); want <= 21; want++ {
			msg, err := it.Next(jetstream.NextContext(ctx))
			if err != nil {
				t.Fatal(name, err)
			}
			if meta, err := msg.Metadata(); err != nil || meta.Sequence.Stream != want {
				t.Fatalf("%s: got %+v, %v, want sequence %d", name, meta, err, want)
			}
		}
		it.Stop()
	}
	stream, err := g.Stream(ctx, "SKG_LOG")
	if err != nil {
		t.Fatal(err)
	}
	if msg, err := stream.GetLastMsgForSubject(ctx, "skg.log.echo.i1.run"); err != nil || string(msg.Data) != "19" {
		t.Errorf("last message: got %v, %v", msg, err)
	}
	// The way of clients that create a pull consumer and delete it again.
	cons, err := g.CreateConsumer(ctx, "SKG_DEAD", jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	msg, err := cons.Next()
	if err != nil {
		t.Fatal(err)
	}
	if err := msg.DoubleAck(ctx); err != nil {
		t.Error(err)
	}
	if err := g.DeleteConsumer(ctx, "SKG_DEAD", cons.CachedInfo().Name); err != nil {
		t.Error(err)
	}
}

// A guest's task is acknowledged to it, and it sees what waits, timers too.
func TestGuestGivesWork(t *testing.T) {
	t.Parallel()
	s := start(t, config(t))
	j, ctx := topology(t, s), testContext(t)
	if _, err := j.PublishMsg(ctx, &nats.Msg{Subject: "skg.timer.task.echo.later", Header: nats.Header{
		"Nats-Schedule": {"@at 2100-01-01T00:00:00Z"}, "Nats-Schedule-Target": {"skg.due.task.echo"},
	}}); err != nil {
		t.Fatal(err)
	}
	g := js(t, guest(t, s))
	ack, err := g.Publish(ctx, "skg.task.echo", []byte("do this"))
	if err != nil || ack.Stream != "SKG_TASKS" {
		t.Fatalf("got %+v, %v", ack, err)
	}
	for name, subject := range map[string]string{"SKG_TASKS": "skg.task.echo", "SKG_TIMERS": "skg.timer.task.echo.later"} {
		stream, err := g.Stream(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := stream.Info(ctx, jetstream.WithSubjectFilter(">")); err != nil || info.State.Subjects[subject] == 0 {
			t.Errorf("%s: got %+v, %v", name, info, err)
		}
		if msg, err := stream.GetLastMsgForSubject(ctx, subject); err != nil || msg.Subject != subject {
			t.Errorf("%s: got %+v, %v", name, msg, err)
		}
	}
	for name, header := range map[string]nats.Header{
		"scheduled": {"Nats-Schedule": {"@every 1s"}, "Nats-Schedule-Target": {"skg.log.echo.i1.run"}},
		"rolled up": {"Nats-Rollup": {"all"}},
		"sourced":   {"Nats-Stream-Source": {"SKG_LOG 99999 a b c"}},
		"a timer's": {"Nats-Scheduler": {"skg.timer.task.echo.later"}},
		"cancels":   {"Nats-Scheduler": {"skg.timer.task.echo.later"}, "Nats-Schedule-Next": {"purge"}},
		"expires":   {"Nats-TTL": {"1s"}},
	} {
		var refused *jetstream.APIError
		if _, err := g.PublishMsg(ctx, &nats.Msg{Subject: "skg.task.echo", Header: header}); !errors.As(err, &refused) {
			t.Errorf("a task %s: got %v", name, err)
		}
	}
}

// The server could not store the signal of a guest's message with longer headers among the tasks, and would try for ever.
func TestGuestCannotHoldUpSignals(t *testing.T) {
	t.Parallel()
	s := start(t, config(t))
	j, ctx := topology(t, s), testContext(t)
	nc := guest(t, s)
	before := messages(t, j)
	long := &nats.Msg{Subject: "skg.signal.echo.i1.steer", Header: nats.Header{"A": {strings.Repeat("a", 65_000)}}}
	if err := errors.Join(nc.PublishMsg(long), nc.Flush()); err != nil {
		t.Fatal(err)
	}
	if err := nc.LastError(); !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), "header_above_16384") {
		t.Errorf("got %v, want a permissions violation", err)
	}
	long.Header.Set("A", strings.Repeat("a", 16_000))
	if _, err := js(t, nc).PublishMsg(ctx, long); err != nil {
		t.Error(err)
	}
	before["SKG_LOG"]++
	before["SKG_TASKS"]++
	becomes(t, j, before)
}

func TestGuestReadsBuckets(t *testing.T) {
	t.Parallel()
	s := start(t, config(t))
	j, ctx := topology(t, s), testContext(t)
	g := js(t, guest(t, s))
	kv, err := g.KeyValue(ctx, "SKG_STATE")
	if err != nil {
		t.Fatal(err)
	}
	if e, err := kv.Get(ctx, "global.colour"); err != nil || string(e.Value()) != "blue" {
		t.Fatalf("get: got %v, %v", e, err)
	}
	if keys, err := kv.Keys(ctx); err != nil || len(keys) != 1 {
		t.Fatalf("keys: got %v, %v", keys, err)
	}
	watch, err := kv.Watch(ctx, "global.>") // a push consumer, with flow control
	if err != nil {
		t.Fatal(err)
	}
	if e := <-watch.Updates(); e == nil || string(e.Value()) != "blue" {
		t.Fatalf("watch: got %v, want blue", e)
	}
	if e := <-watch.Updates(); e != nil {
		t.Fatalf("watch: got %v, want the end of what is there", e)
	}
	owner, err := j.KeyValue(ctx, "SKG_STATE")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := owner.PutString(ctx, "global.colour", "red"); err != nil {
		t.Fatal(err)
	}
	if e := <-watch.Updates(); e == nil || string(e.Value()) != "red" {
		t.Fatalf("watch: got %v, want red", e)
	}
	if err := watch.Stop(); err != nil {
		t.Error(err)
	}
	blobs, err := g.ObjectStore(ctx, "SKG_BLOBS")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := blobs.GetString(ctx, fmt.Sprintf("echo/i1/%x", sha256.Sum256([]byte("a blob")))); err != nil || got != "a blob" {
		t.Errorf("blob: got %q, %v", got, err)
	}
	if list, err := blobs.List(ctx); err != nil || len(list) != 1 {
		t.Errorf("blobs: got %v, %v", list, err)
	}
	short, cancel := shortContext(t)
	defer cancel()
	if _, err := kv.PutString(short, "global.colour", "green"); err == nil {
		t.Error("a guest wrote state")
	}
}

func TestGuestCallsOperator(t *testing.T) {
	t.Parallel()
	s := start(t, config(t))
	j, ctx := topology(t, s), testContext(t)
	nc := node(t, s)
	svc, err := micro.AddService(nc, micro.Config{Name: "echo", Version: "1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := svc.Stop(); err != nil {
			t.Error(err)
		}
	}()
	reply := micro.HandlerFunc(func(r micro.Request) {
		if err := r.Respond(r.Data()); err != nil {
			t.Error(err)
		}
	})
	if err := svc.AddEndpoint("echo", reply, micro.WithEndpointSubject("skg.op.echo")); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	g := guest(t, s)
	for _, subject := range []string{"$SRV.PING", "$SRV.INFO.echo", "$SRV.STATS", "skg.op.echo"} {
		if msg, err := g.RequestWithContext(ctx, subject, []byte("hello")); err != nil || len(msg.Data) == 0 {
			t.Errorf("%s: got %v, %v", subject, msg, err)
		}
	}
	events, err := g.SubscribeSync("skg.event.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := js(t, g).Publish(ctx, "skg.task.other", []byte("do this")); err != nil {
		t.Errorf("task: %v", err)
	}
	if _, err := js(t, g).PublishMsg(ctx, &nats.Msg{
		Subject: "skg.signal.echo.i1.steer", Header: nats.Header{"Skg-Run-Id": {"r1"}}, Data: []byte("left"),
	}); err != nil {
		t.Errorf("signal: %v", err)
	}
	if _, err := j.Publish(ctx, "skg.log.echo.i1.run", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if msg, err := events.NextMsgWithContext(ctx); err != nil || msg.Subject != "skg.event.echo.i1.run" {
		t.Errorf("event: got %v, %v", msg, err)
	}
}
