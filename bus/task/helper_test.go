package task_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/bus/embed/embedtest"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

func TestMain(m *testing.M) { embedtest.VerifyTestMain(m) }

// serve starts a server without a listener and connects to it as a node.
func serve(t *testing.T, dir string) (*embed.Server, *bus.Conn) {
	t.Helper()
	s, err := embed.Start(embed.Config{Dir: dir, Listen: embed.ListenNone, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	conn, err := bus.FromNATS(nc, wire.Names{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, conn
}

func open(t *testing.T, topology bus.Topology) (*bus.Conn, *task.Tasks) {
	t.Helper()
	_, conn := serve(t, t.TempDir())
	if err := conn.Ensure(minute(t), topology); err != nil {
		t.Fatal(err)
	}
	return conn, task.New(conn)
}

func minute(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func consumer(t *testing.T, open func(context.Context, string, task.ConsumerConfig) (jetstream.Consumer, error), cfg task.ConsumerConfig) jetstream.Consumer {
	t.Helper()
	c, err := open(minute(t), "op", cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// next waits for a task and leaves it unacknowledged.
func next(t *testing.T, c jetstream.Consumer) jetstream.Msg {
	t.Helper()
	msg, err := c.Next(jetstream.FetchMaxWait(20 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

func input(id string) *nats.Msg {
	return &nats.Msg{Subject: "skg.task.op", Header: nats.Header{wire.HeaderRunID: {id}}, Data: []byte(id)}
}

func stored(t *testing.T, conn *bus.Conn, stream string) uint64 {
	t.Helper()
	s, err := conn.JetStream().Stream(minute(t), stream)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}
