package embed_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/bus/embed/embedtest"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

func TestMain(m *testing.M) { embedtest.VerifyTestMain(m) }

const patience = 20 * time.Second

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// config is a server on a free port with a directory of its own.
func config(t testing.TB) embed.Config {
	t.Helper()
	return embed.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", NoSync: true}
}

func start(t testing.TB, cfg embed.Config) *embed.Server {
	t.Helper()
	s, err := embed.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t testing.TB, s *embed.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func node(t testing.TB, s *embed.Server) *nats.Conn {
	t.Helper()
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// guest connects over TCP without credentials.
func guest(t testing.TB, s *embed.Server, opts ...nats.Option) *nats.Conn {
	t.Helper()
	opts = append([]nats.Option{nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})}, opts...)
	nc, err := nats.Connect(s.URL(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func js(t testing.TB, nc *nats.Conn) jetstream.JetStream {
	t.Helper()
	j, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// topology makes the streams and buckets that a node makes, with a message in each.
func topology(t testing.TB, s *embed.Server) jetstream.JetStream {
	t.Helper()
	nc := node(t, s)
	ctx, j := testContext(t), js(t, nc)
	conn, err := bus.FromNATS(nc, wire.Names{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Ensure(ctx, bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	for _, subject := range []string{"skg.log.echo.i1.run", "skg.task.echo", "skg.due.other.x", "skg.effect.log.echo.i1", "skg.dead.echo"} {
		if _, err := j.Publish(ctx, subject, []byte("{}")); err != nil {
			t.Fatal(subject, err)
		}
	}
	kv, err := j.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "SKG_STATE"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.PutString(ctx, "global.colour", "blue"); err != nil {
		t.Fatal(err)
	}
	blobs := runlog.NewBlobs(j, wire.Names{}) // not the client library's, whose Put can leave a goroutine behind
	if err := blobs.Ensure(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := blobs.Put(ctx, "echo", "i1", []byte("a blob")); err != nil {
		t.Fatal(err)
	}
	return j
}

// messages is how many each stream holds.
func messages(t testing.TB, j jetstream.JetStream) map[string]uint64 {
	t.Helper()
	got := map[string]uint64{}
	list := j.ListStreams(testContext(t))
	for info := range list.Info() {
		got[info.Config.Name] = info.State.Msgs
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return got
}

// becomes waits until the streams hold what is wanted: a signal is among the tasks a moment after it is in the log.
func becomes(t testing.TB, j jetstream.JetStream, want map[string]uint64) {
	t.Helper()
	ctx, tick := testContext(t), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		diff := cmp.Diff(want, messages(t, j))
		if diff == "" {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("stored messages (-want +got):\n%s", diff)
		}
	}
}
