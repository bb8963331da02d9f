package kv_test

import (
	"context"
	"encoding/json"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/kv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startServer runs a server on a directory until stop or the end of the test.
func startServer(t testing.TB, dir string, change func(*server.Options)) (ns *server.Server, stop func()) {
	t.Helper()
	opts := &server.Options{
		ServerName: "test", DontListen: true, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true, MaxPayload: 1 << 20,
	}
	if change != nil {
		change(opts)
	}
	ns, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	if !ns.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server is not ready")
	}
	stop = sync.OnceFunc(func() { ns.Shutdown(); ns.WaitForShutdown() })
	t.Cleanup(stop)
	return ns, stop
}

// connect returns a JetStream client of a server.
func connect(t testing.TB, ns *server.Server) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect("", nats.InProcessServer(ns), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// start is a server and a client of it.
func start(t testing.TB) jetstream.JetStream {
	t.Helper()
	ns, _ := startServer(t, t.TempDir(), nil)
	return connect(t, ns)
}

// open returns a store; what is missing is created.
func open(t testing.TB, js jetstream.JetStream, change func(*kv.Config)) *kv.Store {
	t.Helper()
	cfg := kv.Config{Create: true}
	if change != nil {
		change(&cfg)
	}
	s, err := kv.Open(t.Context(), js, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var scope = protocol.InSession("s1")

func write(t testing.TB, s *kv.Store, key, value string) {
	t.Helper()
	if err := s.Write(t.Context(), scope, key, json.RawMessage(value), protocol.StoreOptions{}); err != nil {
		t.Fatal(err)
	}
}

func wants(t testing.TB, s *kv.Store, key, want string) {
	t.Helper()
	got, err := s.Read(t.Context(), scope, key)
	if err != nil || string(got) != want {
		t.Errorf("read %q: got %.80q, %v, want %.80q", key, got, err, want)
	}
}

func wantCode(t testing.TB, err error, want protocol.Code) {
	t.Helper()
	if got := protocol.CodeOf(err); got != want {
		t.Errorf("got code %q (%v), want %q", got, err, want)
	}
}

// streamInfo returns what the server says of the bucket, or of the object store.
func streamInfo(t testing.TB, js jetstream.JetStream, name string) *jetstream.StreamInfo {
	t.Helper()
	stream, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo()
}

// blobs returns the names of the objects.
func blobs(t testing.TB, js jetstream.JetStream) []string {
	t.Helper()
	obs, err := js.ObjectStore(t.Context(), "SKG_BLOBS")
	if err != nil {
		t.Fatal(err)
	}
	all, err := obs.List(t.Context())
	if err != nil && err != jetstream.ErrNoObjectsFound {
		t.Fatal(err)
	}
	var names []string
	for _, info := range all {
		names = append(names, info.Name)
	}
	return names
}

// lossy is a client that loses answers: after a publish it runs lose, and an error of that is all that the caller sees.
type lossy struct {
	jetstream.JetStream
	before func(n int, msg *nats.Msg) error // an error: nothing is published
	after  func(n int, msg *nats.Msg) error

	mu sync.Mutex
	n  int
}

func (l *lossy) PublishMsg(ctx context.Context, msg *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	l.mu.Lock()
	l.n++
	n := l.n
	l.mu.Unlock()
	if l.before != nil {
		if err := l.before(n, msg); err != nil {
			return nil, err
		}
	}
	ack, err := l.JetStream.PublishMsg(ctx, msg, opts...)
	if l.after != nil && err == nil {
		if err := l.after(n, msg); err != nil {
			return nil, err
		}
	}
	return ack, err
}

func (l *lossy) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// switchboard connects a client to whatever server is there now.
type switchboard struct {
	mu sync.Mutex
	ns *server.Server
}

func (s *switchboard) set(ns *server.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ns = ns
}

// Dial implements nats.CustomDialer.
func (s *switchboard) Dial(string, string) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ns.InProcessConn()
}

func newJetStream(t testing.TB, nc *nats.Conn) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}
