package actors_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/bus/embed/embedtest"
	"github.com/skelegent/skelegent-go/protocol"
)

// TestDurableRatio prints what a durable dispatch costs beside the least that a task on a bus can cost: store a task, pull
// it, store a result, answer, acknowledge.
func TestDurableRatio(t *testing.T) { //nolint:paralleltest // it measures
	if *ratio == 0 {
		t.Skip("run by make bench")
	}
	for _, always := range []bool{false, true} { //nolint:paralleltest // it measures
		t.Run(fmt.Sprintf("sync always %v", always), func(t *testing.T) {
			s, err := embed.Start(embed.Config{Dir: t.TempDir(), Listen: embed.ListenNone, NoSync: !always})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Stop(context.Background()) })
			durableRatio(t, connect(t, s), connect(t, s), 1)
		})
	}
	t.Run("three servers", func(t *testing.T) {
		urls := embedtest.Cluster(t)
		var conns []*bus.Conn
		for _, url := range urls[:2] {
			conn, err := bus.Connect(t.Context(), bus.ConnectConfig{URL: url})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { closeConn(t, conn) })
			conns = append(conns, conn)
		}
		durableRatio(t, conns[0], conns[1], len(urls))
	})
}

func durableRatio(t *testing.T, worker, caller *bus.Conn, replicas int) {
	t.Helper()
	n := node(t, worker, actors.Config{Logger: zap.NewNop(), WithoutEffects: true, Topology: bus.Topology{Replicas: replicas}})
	if err := n.Register("echo", echo, actors.Durable(), actors.Concurrency(256)); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	floor := taskFloor(t, worker, caller, replicas)
	d := bus.NewDispatcher(caller)
	compare(t, measured{"floor: task, pull, result, reply", floor}, measured{"dispatch to a durable operator", func(ctx context.Context, _ []byte) error {
		_, err := d.Dispatch(ctx, "echo", protocol.Text("hello"))
		return err
	}})
}

// taskFloor returns a call that stores a task and waits for the reply of a worker that does as little as can be done.
func taskFloor(t *testing.T, worker, caller *bus.Conn, replicas int) func(context.Context, []byte) error {
	t.Helper()
	ctx := t.Context()
	js := worker.JetStream()
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "FLOOR_TASKS", Subjects: []string{"floor.task"}, Retention: jetstream.WorkQueuePolicy, Replicas: replicas}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "FLOOR_LOG", Subjects: []string{"floor.log.>"}, Replicas: replicas}); err != nil {
		t.Fatal(err)
	}
	consumer, err := js.CreateConsumer(ctx, "FLOOR_TASKS", jetstream.ConsumerConfig{Durable: "w", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 256})
	if err != nil {
		t.Fatal(err)
	}
	consume, err := consumer.Consume(func(m jetstream.Msg) {
		go func() {
			inbox := m.Headers().Get("Reply")
			if _, err := js.Publish(ctx, "floor.log."+inbox, m.Data()); err != nil {
				return
			}
			_ = worker.NATS().Publish(inbox, m.Data())
			_ = m.Ack()
		}()
	}, jetstream.PullMaxMessages(256))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(consume.Stop)
	// One subscription for all answers, as clients have it.
	var waiting sync.Map
	prefix := caller.NATS().NewInbox() + "."
	sub, err := caller.NATS().Subscribe(prefix+"*", func(m *nats.Msg) {
		if done, ok := waiting.LoadAndDelete(m.Subject); ok {
			close(done.(chan struct{}))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Unsubscribe() })
	var count atomic.Uint64
	return func(ctx context.Context, body []byte) error {
		inbox := prefix + strconv.FormatUint(count.Add(1), 10)
		done := make(chan struct{})
		waiting.Store(inbox, done)
		if _, err := caller.JetStream().PublishMsg(ctx, &nats.Msg{Subject: "floor.task", Data: body, Header: nats.Header{"Reply": {inbox}}}); err != nil {
			return err
		}
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
