package actors_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/bus/embed/embedtest"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

func TestMain(m *testing.M) { embedtest.VerifyTestMain(m) }

// server starts an embedded server without a listener and returns it with a connection of a node.
func server(t testing.TB) (*embed.Server, *bus.Conn) {
	t.Helper()
	s, err := embed.Start(embed.Config{Dir: t.TempDir(), Listen: embed.ListenNone, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Errorf("stop server: %v", err)
		}
	})
	return s, connect(t, s)
}

func connect(t testing.TB, s *embed.Server) *bus.Conn {
	t.Helper()
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := bus.FromNATS(nc, wire.Names{}, logger(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeConn(t, conn) })
	return conn
}

func closeConn(t testing.TB, conn *bus.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := conn.Close(ctx); err != nil {
		t.Errorf("close connection: %v", err)
	}
}

func logger(t testing.TB) *zap.Logger {
	if testing.Verbose() {
		return zaptest.NewLogger(t)
	}
	return zap.NewNop()
}

// node makes a node and stops it at the end of the test.
func node(t testing.TB, conn *bus.Conn, cfg actors.Config) *actors.Node {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = logger(t)
	}
	n, err := actors.NewNode(conn, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := n.Stop(ctx); err != nil {
			t.Errorf("stop node: %v", err)
		}
	})
	return n
}

func start(t testing.TB, n *actors.Node) {
	t.Helper()
	if err := n.Start(context.Background()); err != nil { // it bounds itself
		t.Fatal(err)
	}
}

// testContext ends with the test, and in time for a clear failure.
func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func must[T any](t testing.TB, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var echo = protocol.OperatorFunc(func(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	return protocol.OperatorOutput{Message: in.Message, ExitReason: protocol.Exit(protocol.ExitComplete)}, nil
})

// request sends a raw body to an operator.
func request(t testing.TB, conn *bus.Conn, operator string, body []byte) *nats.Msg {
	t.Helper()
	m, err := conn.NATS().RequestWithContext(testContext(t), "skg.op."+operator, body)
	return must(t, m, err)
}

// buried waits for n dead letters and returns them.
func buried(t testing.TB, conn *bus.Conn, n int) []bus.DeadMessage {
	t.Helper()
	ctx := testContext(t)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		all, err := conn.DeadLetters(ctx, "", n+1)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) >= n {
			return all
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%d dead letters, want %d", len(all), n)
		}
	}
}
