package bus_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// embedded starts a server without a listener and connects to it as a node.
func embedded(t *testing.T) *bus.Conn {
	t.Helper()
	s, err := embed.Start(embed.Config{Dir: t.TempDir(), Listen: embed.ListenNone, NoSync: true})
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
	return conn
}

func minute(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestEnsureIsIdempotent(t *testing.T) {
	t.Parallel()
	conn, ctx := embedded(t), minute(t)
	for range 2 {
		if err := conn.Ensure(ctx, bus.Topology{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range (bus.Topology{}).Streams(conn.Names()) {
		if _, err := conn.JetStream().Stream(ctx, want.Name); err != nil {
			t.Errorf("stream %s: %v", want.Name, err)
		}
	}
}

func TestStreamOfAnotherShape(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*jetstream.StreamConfig)
		says   string
	}{
		"subjects":  {func(c *jetstream.StreamConfig) { c.Subjects = []string{"skg.log.>"} }, "subjects is [skg.log.>], must be [skg.log.> skg.signal.>]"},
		"retention": {func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy }, "retention is Interest, must be Limits"},
		"max age":   {func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, "max age is 1h0m0s, must be 0s"},
		"discard":   {func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld }, "discard is DiscardOld, must be DiscardNew"},
		"republish": {func(c *jetstream.StreamConfig) { c.RePublish = nil }, "republish is none, must be skg.log.> to skg.event.>"},
		"storage":   {func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage }, "storage is Memory, must be File"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, ctx := embedded(t), minute(t)
			cfg := (bus.Topology{}).Streams(conn.Names())[0]
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

func TestTooFewReplicas(t *testing.T) {
	t.Parallel()
	conn, ctx := embedded(t), minute(t)
	if err := conn.Ensure(ctx, bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	err := conn.Ensure(ctx, bus.Topology{Replicas: 3})
	if protocol.CodeOf(err) != protocol.CodeConflict || !strings.Contains(err.Error(), "replicas is 1, must be 3") {
		t.Errorf("error = %v", err)
	}
}

// What the log refuses is seen by nobody; what it takes is seen as an event with its sequence.
func TestEventsAreWhatWasCommitted(t *testing.T) {
	t.Parallel()
	conn, ctx := embedded(t), minute(t)
	if err := conn.Ensure(ctx, bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	sub, err := conn.NATS().SubscribeSync("skg.event.>")
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{"first", "refused", "second"} {
		expect := uint64(0)
		if data == "second" {
			expect = 1
		}
		_, err := conn.JetStream().Publish(ctx, "skg.log.op.i.run", []byte(data), jetstream.WithExpectLastSequencePerSubject(expect))
		if (err != nil) != (data == "refused") {
			t.Fatalf("%s: %v", data, err)
		}
	}
	for _, want := range []string{"first", "second"} {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if m.Subject != "skg.event.op.i.run" || string(m.Data) != want || m.Header.Get("Nats-Sequence") == "" {
			t.Errorf("event %s %q %v, want %q", m.Subject, m.Data, m.Header, want)
		}
	}
	if n, _, _ := sub.Pending(); n != 0 {
		t.Errorf("%d more events", n)
	}
	_ = sub.Unsubscribe()
}

func TestEffectRequests(t *testing.T) {
	t.Parallel()
	effects := protocol.Effects{
		protocol.Log{Level: protocol.LogInfo, Message: "a"},
		protocol.WriteMemory{Key: "k", Value: []byte("1")},
		protocol.CustomEffect{EffectType: "a/b", Data: []byte("1")},
		protocol.DeleteMemory{Key: "k"},
		protocol.Log{Level: protocol.LogInfo, Message: "b"},
	}
	head := protocol.EffectRequest{Operator: "op", Instance: "x", Run: "r"}
	requests, err := protocol.EffectRequests(head, effects, func(string) uint64 { return 7 })
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range requests {
		for _, e := range r.Effects {
			got = append(got, e.EffectID+" "+string(e.Effect.Kind()))
		}
	}
	want := "op/x/memory/7/1 write_memory, op/x/memory/7/2 delete_memory, op/x/log/7/1 log, op/x/log/7/2 log, op/x/a=2Fb/7/1 custom"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}
