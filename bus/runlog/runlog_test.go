package runlog_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/bus/embed/embedtest"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

func TestMain(m *testing.M) { embedtest.VerifyTestMain(m) }

const subject = "skg.log.op.i.done.memory"

func open(t *testing.T, topology bus.Topology) (*embed.Server, *bus.Conn, *runlog.Log) {
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
	if err := conn.Ensure(timeout(t, time.Minute), topology); err != nil {
		t.Fatal(err)
	}
	return s, conn, runlog.New(conn.JetStream(), wire.Names{})
}

func timeout(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func message(text string) *nats.Msg {
	return &nats.Msg{Subject: subject, Data: []byte(text), Header: nats.Header{}}
}

func TestAppendUnderTheFence(t *testing.T) {
	t.Parallel()
	_, _, log := open(t, bus.Topology{})
	ctx := timeout(t, time.Minute)
	if _, found, err := log.Last(ctx, subject); found || err != nil {
		t.Fatalf("empty subject: found %v, %v", found, err)
	}
	first, err := log.Append(ctx, message("1"), "a", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(ctx, message("x"), "b", 0); !errors.Is(err, runlog.ErrConflict) || protocol.CodeOf(err) != protocol.CodeConflict {
		t.Errorf("append behind somebody else: %v", err)
	}
	// The same message again, as after a lost answer, also when dedupe no longer remembers it.
	if seq, err := log.Append(ctx, message("1"), "a", 0); err != nil || seq != first {
		t.Errorf("repeated append = %d, %v; want %d", seq, err, first)
	}
	second, err := log.Append(ctx, message("2"), "c", first)
	if err != nil {
		t.Fatal(err)
	}
	last, found, err := log.Last(ctx, subject)
	if err != nil || !found || last.Seq != second || last.ID != "c" || string(last.Data) != "2" {
		t.Errorf("last = %+v, %v, %v", last, found, err)
	}
}

// forgetful lets the stream forget message ids almost at once, and returns how to wait until it has.
func forgetful(t *testing.T, conn *bus.Conn) func() {
	t.Helper()
	ctx := timeout(t, time.Minute)
	stream, err := conn.JetStream().Stream(ctx, "SKG_LOG")
	if err != nil {
		t.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	cfg.Duplicates = 100 * time.Millisecond
	if _, err := conn.JetStream().UpdateStream(ctx, cfg); err != nil {
		t.Fatal(err)
	}
	return func() { // an id of now is forgotten after all before it
		t.Helper()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for first := true; ; first = false {
			ack, err := conn.JetStream().Publish(ctx, "skg.log.op.probe.run", nil, jetstream.WithMsgID("probe"))
			if err != nil {
				t.Fatal(err)
			}
			if !first && !ack.Duplicate {
				return
			}
			<-tick.C
		}
	}
}

// A conflict is not lost ownership if what the fence met is our own message, left by an attempt whose answer was lost, also
// when the server has forgotten its id and others have written behind it.
func TestOwnMessageMeetsTheFence(t *testing.T) {
	t.Parallel()
	for name, others := range map[string]int{"nobody behind": 0, "one behind": 1, "many behind": 30} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, conn, log := open(t, bus.Topology{})
			ctx, forget := timeout(t, time.Minute), forgetful(t, conn)
			first, err := log.Append(ctx, message("1"), "a", 0)
			if err != nil {
				t.Fatal(err)
			}
			last := first
			for i := range others {
				if last, err = log.Append(ctx, message("other"), fmt.Sprintf("other-%d", i), last); err != nil {
					t.Fatal(err)
				}
			}
			forget()
			if seq, err := log.Append(ctx, message("1"), "a", 0); err != nil || seq != first {
				t.Errorf("append of what is there = %d, %v; want %d", seq, err, first)
			}
			if _, err := log.Append(ctx, message("2"), "b", 0); !errors.Is(err, runlog.ErrConflict) {
				t.Errorf("append of what is not there: %v", err)
			}
			if others > 0 {
				if _, err := log.Append(ctx, message("1"), "a", first); !errors.Is(err, runlog.ErrConflict) {
					t.Errorf("found before what it was to follow: %v", err)
				}
			}
		})
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	_, _, log := open(t, bus.Topology{MaxBytes: 4096})
	ctx := timeout(t, time.Minute)
	var err error
	var seq uint64
	for i := 0; err == nil && i < 100; i++ {
		seq, err = log.Append(ctx, message(strings.Repeat("x", 500)), nats.NewInbox(), seq)
	}
	if !errors.Is(err, runlog.ErrFull) || protocol.CodeOf(err) != protocol.CodeQuotaExceeded {
		t.Errorf("full log: %v", err)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	_, _, log := open(t, bus.Topology{})
	_, err := log.Append(timeout(t, time.Minute), message(strings.Repeat("x", 2<<20)), "a", 0)
	if !errors.Is(err, runlog.ErrTooLarge) {
		t.Errorf("error = %v", err)
	}
}

func TestNoStream(t *testing.T) {
	t.Parallel()
	_, conn, log := open(t, bus.Topology{})
	ctx := timeout(t, time.Minute)
	if err := conn.JetStream().DeleteStream(ctx, "SKG_LOG"); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(ctx, message("1"), "a", 0); !errors.Is(err, runlog.ErrUnavailable) {
		t.Errorf("append without a stream: %v", err)
	}
	if _, _, err := log.Last(ctx, subject); !errors.Is(err, runlog.ErrUnavailable) {
		t.Errorf("last without a stream: %v", err)
	}
}

// When nothing answers, the outcome is unknown, and that is said within the context's time.
func TestUnknown(t *testing.T) {
	t.Parallel()
	_, conn, log := open(t, bus.Topology{})
	ctx := timeout(t, time.Minute)
	if err := conn.JetStream().DeleteStream(ctx, "SKG_LOG"); err != nil {
		t.Fatal(err)
	}
	silent, err := conn.NATS().SubscribeSync("skg.log.>") // somebody listens, nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Unsubscribe() }()
	short := timeout(t, 300*time.Millisecond)
	if _, err := log.Append(short, message("1"), "a", 0); !errors.Is(err, runlog.ErrUnknown) || protocol.CodeOf(err) != protocol.CodeTimeout {
		t.Errorf("error = %v, want unknown", err)
	}
}
