package bus_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/protocol"
)

func event(t testing.TB, id string) []byte {
	t.Helper()
	body, err := protocol.Marshal(protocol.Event{
		ID: id, Kind: protocol.EventProgress, Operator: "op", Instance: "i", Run: "r", Time: time.Now(), Data: []byte(`{}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestObserve(t *testing.T) {
	t.Parallel()
	c, ctx := ensured(t, time.Minute), connectContext(t)
	live, log := bus.EventSubjects(c.Names(), "op", "")
	ready, seen := make(chan struct{}), []string{}
	done := make(chan error)
	go func() {
		done <- c.Observe(ctx, bus.ObserveConfig{Live: live, Log: log, Ready: func() { close(ready) }}, func(o bus.Observation) bool {
			seen = append(seen, fmt.Sprintf("%s %d %s %v", o.Subject, o.Seq, o.Event.ID, o.Err != nil))
			return len(seen) < 3
		})
	}()
	<-ready
	if _, err := c.JetStream().Publish(ctx, "skg.log.op.i.run", event(t, "e1")); err != nil {
		t.Fatal(err)
	}
	for subject, body := range map[string][]byte{"skg.live.other.i.x": event(t, "e2"), "skg.live.op.i.x": event(t, "e3")} {
		if err := c.NATS().Publish(subject, body); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.JetStream().Publish(ctx, "skg.log.op.i.run", []byte("rubbish")); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	want := []string{"skg.event.op.i.run 1 e1 false", "skg.event.op.i.run 2  true", "skg.live.op.i.x 0 e3 false"}
	if slices.Sort(seen); !slices.Equal(seen, want) {
		t.Errorf("got %q, want %q", seen, want)
	}
}

// What is in the log, what comes while reading, and what comes while the connection is away: each once, in order.
func TestObserveSinceWithoutGap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := embed.Config{Dir: dir, Listen: "127.0.0.1:0"}
	s := startEmbedded(t, cfg)
	observer := connect(t, bus.ConnectConfig{URL: s.URL(), NKey: filepath.Join(dir, embed.NodeKeyFile), InboxPrefix: embed.InboxPrefix})
	ctx := connectContext(t)
	publish := func(s *embed.Server, from, to int) {
		t.Helper()
		nc, err := s.Connect()
		if err != nil {
			t.Fatal(err)
		}
		c, err := bus.FromNATS(nc, wireNames, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Ensure(ctx, bus.Topology{}); err != nil {
			t.Fatal(err)
		}
		for i := from; i <= to; i++ {
			if _, err := c.JetStream().Publish(ctx, "skg.log.op.i.run", event(t, fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
		nc.Close()
	}
	publish(s, 1, 50)
	const last = 150
	got, done := make(chan uint64, last+1), make(chan error)
	go func() {
		defer close(got)
		done <- observer.Observe(ctx, bus.ObserveConfig{Log: "skg.event.>", Since: 11}, func(o bus.Observation) bool {
			if o.Event.ID != fmt.Sprint(o.Seq) || o.Subject != "skg.event.op.i.run" {
				t.Errorf("got %+v", o)
			}
			got <- o.Seq
			return o.Seq < last
		})
	}()
	next := uint64(11)
	read := func(to uint64) {
		t.Helper()
		for ; next <= to; next++ {
			select {
			case seq := <-got:
				if seq != next {
					t.Fatalf("got %d, want %d", seq, next)
				}
			case <-ctx.Done():
				t.Fatalf("%d never came", next)
			}
		}
	}
	read(50)
	publish(s, 51, 100)
	read(80)
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	cfg.Listen = strings.TrimPrefix(s.URL(), "nats://")
	s = startEmbedded(t, cfg)
	publish(s, 101, last)
	read(last)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestObserveEnds(t *testing.T) {
	t.Parallel()
	c := ensured(t, time.Minute)
	for name, cfg := range map[string]bus.ObserveConfig{
		"core": {Live: "skg.live.>", Log: "skg.event.>"},
		"log":  {Live: "skg.live.>", Log: "skg.event.>", Since: 1},
	} {
		ctx, cancel := context.WithCancelCause(t.Context()) // without a deadline
		enough := errors.New("enough")
		cfg.Ready = func() { cancel(enough) }
		if err := c.Observe(ctx, cfg, func(bus.Observation) bool { return true }); !errors.Is(err, enough) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	err := c.Observe(connectContext(t), bus.ObserveConfig{Log: "elsewhere.>", Since: 1}, func(bus.Observation) bool { return true })
	if protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("got %v", err)
	}
	empty := startEmbedded(t, embed.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	err = connect(t, bus.ConnectConfig{URL: empty.URL()}).Observe(connectContext(t), bus.ObserveConfig{Log: "skg.event.>", Since: 1},
		func(bus.Observation) bool { return true })
	if protocol.CodeOf(err) != protocol.CodeUnavailable {
		t.Errorf("without a stream: got %v", err)
	}
}
