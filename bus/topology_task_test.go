package bus_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/bus/embed/embedtest"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// shape is the configuration that a stream is to have.
func shape(t *testing.T, names wire.Names, suffix string) jetstream.StreamConfig {
	t.Helper()
	all := (bus.Topology{}).Streams(names)
	i := slices.IndexFunc(all, func(c jetstream.StreamConfig) bool { return c.Name == names.Stream(suffix) })
	if i < 0 {
		t.Fatalf("no stream %s", suffix)
	}
	return all[i]
}

func TestTaskStreamsOfAnotherShape(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stream string
		change func(*jetstream.StreamConfig)
		says   string
	}{
		"no sources":    {wire.StreamTasks, func(c *jetstream.StreamConfig) { c.Sources = nil }, "sources is none, must be SKG_LOG by to_tasks on skg.source.log skg.signal.*.*.* to skg.wake."},
		"one source":    {wire.StreamTasks, func(c *jetstream.StreamConfig) { c.Sources = c.Sources[:1] }, "sources is SKG_LOG"},
		"no transform":  {wire.StreamTasks, func(c *jetstream.StreamConfig) { c.Sources[0].SubjectTransforms[0].Destination = "" }, "sources is"},
		"whole source":  {wire.StreamTasks, func(c *jetstream.StreamConfig) { c.Sources[0].SubjectTransforms = nil }, "sources is"},
		"dedupe":        {wire.StreamTasks, func(c *jetstream.StreamConfig) { c.Duplicates = time.Minute }, "duplicate window is 1m0s, must be 0s"},
		"retention":     {wire.StreamTasks, func(c *jetstream.StreamConfig) { c.Retention = jetstream.LimitsPolicy }, "retention is Limits, must be WorkQueue"},
		"no schedules":  {wire.StreamTimers, func(c *jetstream.StreamConfig) { c.AllowMsgSchedules = false }, "message schedules"},
		"no TTL":        {wire.StreamTimers, func(c *jetstream.StreamConfig) { c.AllowMsgTTL = false }, "per-message TTL is false, must be true"},
		"forgets":       {wire.StreamTimers, func(c *jetstream.StreamConfig) { c.MaxMsgs = 1000 }, "max messages is 1000, must be -1"},
		"forgets bytes": {wire.StreamTimers, func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 }, "max bytes is 1048576, must be -1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, ctx := embedded(t), minute(t)
			cfg := shape(t, conn.Names(), tc.stream)
			tc.change(&cfg)
			if _, err := conn.JetStream().CreateStream(ctx, cfg); err != nil {
				t.Fatal(err)
			}
			err := conn.Ensure(ctx, bus.Topology{})
			if protocol.CodeOf(err) != protocol.CodeConflict || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error = %v, want a conflict that says %q", err, tc.says)
			}
		})
	}
}

// wakesOf has a consumer of everything in the stream of tasks.
func wakesOf(t *testing.T, conn *bus.Conn) jetstream.Consumer {
	t.Helper()
	c, err := conn.JetStream().CreateConsumer(minute(t), conn.Names().Stream(wire.StreamTasks), jetstream.ConsumerConfig{
		AckPolicy: jetstream.AckExplicitPolicy,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func nextOf(t *testing.T, c jetstream.Consumer) jetstream.Msg {
	t.Helper()
	m, err := c.Next(jetstream.FetchMaxWait(20 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func schedule(t *testing.T, conn *bus.Conn, subject, target string, in time.Duration) {
	t.Helper()
	if _, err := conn.JetStream().PublishMsg(minute(t), &nats.Msg{Subject: subject, Data: []byte(subject), Header: nats.Header{
		"Nats-Schedule":        {"@at " + time.Now().Add(in).UTC().Format(time.RFC3339Nano)},
		"Nats-Schedule-Target": {target}, "Nats-Schedule-TTL": {"1s"}, "Skg-Run-Id": {"r"},
	}}); err != nil {
		t.Fatal(err)
	}
}

// Under any prefix: a signal becomes a wake and a due timer a wake or a task, a cancelled one nothing.
func TestWhatReachesTheTasks(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "acme-1"} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			t.Parallel()
			names, err := wire.NewNames(prefix)
			if err != nil {
				t.Fatal(err)
			}
			plain := embedded(t)
			conn, err := bus.FromNATS(plain.NATS(), names, nil)
			if err != nil {
				t.Fatal(err)
			}
			ctx := minute(t)
			if err := conn.Ensure(ctx, bus.Topology{}); err != nil {
				t.Fatal(err)
			}
			c, p := wakesOf(t, conn), names.Prefix()
			if _, err := conn.JetStream().Publish(ctx, names.RunLog("op", "i"), nil); err != nil {
				t.Fatal(err)
			}
			ack, err := conn.JetStream().Publish(ctx, names.Signal("op", "a/b", "steer"), []byte("left"), jetstream.WithMsgID("same"))
			if err != nil {
				t.Fatal(err)
			}
			m := nextOf(t, c)
			source := strings.Fields(m.Headers().Get("Nats-Stream-Source"))
			if m.Subject() != p+".wake.op.a=2Fb.sig.steer" || string(m.Data()) != "left" || len(source) < 2 ||
				!strings.HasPrefix(source[0], names.Stream(wire.StreamLog)) || source[1] != fmt.Sprint(ack.Sequence) {
				t.Errorf("got %s %q %v", m.Subject(), m.Data(), m.Headers())
			}
			schedule(t, conn, names.TimerWake("op", "i", "cancelled"), names.DueWake("op", "i"), 400*time.Millisecond)
			schedule(t, conn, names.TimerWake("op", "i", "t"), names.DueWake("op", "i"), 500*time.Millisecond)
			schedule(t, conn, names.TimerTask("op", "t"), names.DueTask("op"), 600*time.Millisecond)
			timers, err := conn.JetStream().Stream(ctx, names.Stream(wire.StreamTimers))
			if err != nil {
				t.Fatal(err)
			}
			if err := timers.Purge(ctx, jetstream.WithPurgeSubject(names.TimerWake("op", "i", "cancelled"))); err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for range 2 {
				m := nextOf(t, c)
				got[m.Subject()] = string(m.Data())
				if m.Headers().Get("Skg-Run-Id") != "r" || m.Headers().Get("Nats-Scheduler") != string(m.Data()) {
					t.Errorf("%s: headers %v", m.Subject(), m.Headers())
				}
			}
			want := map[string]string{
				p + ".wake.op.i.timer": p + ".timer.wake.op.i.t", p + ".task.op": p + ".timer.task.op.t",
			}
			if !maps.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			// Somebody's task with the message id of the signal is another message.
			if _, err := conn.JetStream().Publish(ctx, names.Task("op"), []byte("task"), jetstream.WithMsgID("same")); err != nil {
				t.Fatal(err)
			}
			if m := nextOf(t, c); string(m.Data()) != "task" {
				t.Errorf("got %s %q", m.Subject(), m.Data())
			}
		})
	}
}

// What became due goes from the timers after its time to live, and stays among the tasks.
func TestDueExpiresAmongTheTimersOnly(t *testing.T) {
	t.Parallel()
	conn, ctx := embedded(t), minute(t)
	if err := conn.Ensure(ctx, bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	schedule(t, conn, "skg.timer.task.op.x", "skg.due.task.op", 0)
	nextOf(t, wakesOf(t, conn))
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ; messages(ctx, t, conn, "SKG_TIMERS") > 0; <-tick.C {
		if ctx.Err() != nil {
			t.Fatal("what became due stays among the timers")
		}
	}
	if n := messages(ctx, t, conn, "SKG_TASKS"); n != 1 {
		t.Errorf("%d tasks, want 1", n)
	}
}

// A full stream of tasks takes over what waits when there is room again, in order and none of it lost.
func TestFullTasksCatchUp(t *testing.T) {
	t.Parallel()
	conn, ctx := embedded(t), minute(t)
	if err := conn.Ensure(ctx, bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	cfg := shape(t, conn.Names(), wire.StreamTasks)
	cfg.MaxMsgs = 2
	if _, err := conn.JetStream().UpdateStream(ctx, cfg); err != nil {
		t.Fatal(err)
	}
	const n = 5
	for i := range n {
		if _, err := conn.JetStream().Publish(ctx, "skg.signal.op.i.x", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	c := wakesOf(t, conn)
	for i := range n {
		m := nextOf(t, c)
		if string(m.Data()) != fmt.Sprint(i) {
			t.Errorf("got %q, want %d", m.Data(), i)
		}
		if err := m.DoubleAck(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// Nodes that start at once on a cluster that has no leader yet agree on the streams, and what is stored arrives.
func TestTasksOnACluster(t *testing.T) {
	t.Parallel()
	var conns []*bus.Conn
	for _, url := range embedtest.Cluster(t) {
		conns = append(conns, connect(t, bus.ConnectConfig{URL: url}))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var nodes sync.WaitGroup
	for _, conn := range append(conns, conns...) {
		nodes.Go(func() {
			if err := conn.Ensure(ctx, bus.Topology{Replicas: 3}); err != nil {
				t.Error(err)
			}
		})
	}
	nodes.Wait()
	if t.Failed() {
		return
	}
	c := wakesOf(t, conns[0])
	if _, err := conns[1].JetStream().Publish(ctx, "skg.signal.op.i.x", []byte("signal")); err != nil {
		t.Fatal(err)
	}
	schedule(t, conns[2], "skg.timer.wake.op.i.t", "skg.due.wake.op.i", 300*time.Millisecond)
	got := []string{nextOf(t, c).Subject(), nextOf(t, c).Subject()}
	slices.Sort(got)
	if want := []string{"skg.wake.op.i.sig.x", "skg.wake.op.i.timer"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A signal that was stored while the stream of tasks did not take over is taken over later, although a task came to that
// stream meanwhile: the server's own guess of where to go on would be the time of that task.
func TestNoSignalIsSkipped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	up := func() (*embed.Server, *bus.Conn) {
		s, err := embed.Start(embed.Config{Dir: dir, Listen: embed.ListenNone, NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		nc, err := s.Connect()
		if err != nil {
			t.Fatal(err)
		}
		conn, err := bus.FromNATS(nc, wire.Names{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s, conn
	}
	s, conn := up()
	if err := conn.Ensure(ctx, bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	js := conn.JetStream()
	publish := func(subject string) {
		if _, err := js.Publish(ctx, subject, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	take := func(want string) {
		t.Helper()
		c, err := js.CreateOrUpdateConsumer(ctx, "SKG_TASKS", jetstream.ConsumerConfig{Durable: "c", AckPolicy: jetstream.AckExplicitPolicy})
		if err != nil {
			t.Fatal(err)
		}
		m := nextOf(t, c)
		if m.Subject() != want {
			t.Errorf("took %s, want %s", m.Subject(), want)
		}
		if err := m.DoubleAck(ctx); err != nil {
			t.Fatal(err)
		}
	}
	publish("skg.task.op")
	take("skg.task.op")
	// Without its source the stream takes nothing over; then a signal comes, and a task behind it, which is done.
	stream, err := js.Stream(ctx, "SKG_TASKS")
	if err != nil {
		t.Fatal(err)
	}
	whole := stream.CachedInfo().Config
	deaf := whole
	deaf.Sources = nil
	if _, err := js.UpdateStream(ctx, deaf); err != nil {
		t.Fatal(err)
	}
	publish("skg.signal.op.i.approve")
	time.Sleep(20 * time.Millisecond) // the task has to be of a later time
	publish("skg.task.op")
	take("skg.task.op")
	if _, err := js.UpdateStream(ctx, whole); err != nil {
		t.Fatal(err)
	}
	take("skg.wake.op.i.sig.approve")
	// The same over a restart of the server.
	publish("skg.signal.op.i.cancel")
	take("skg.wake.op.i.sig.cancel")
	conn.NATS().Close()
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	s, conn = up()
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	js = conn.JetStream()
	publish("skg.signal.op.i.steer")
	take("skg.wake.op.i.sig.steer")
	conn.NATS().Close()
}
