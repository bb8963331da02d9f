package bus_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/bus/embed/embedtest"
)

func TestMain(m *testing.M) { embedtest.VerifyTestMain(m) }

const connectPatience = 20 * time.Second

func connectContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), connectPatience)
	t.Cleanup(cancel)
	return ctx
}

func startEmbedded(t testing.TB, cfg embed.Config) *embed.Server {
	t.Helper()
	cfg.NoSync = true
	s, err := embed.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), connectPatience)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

func connect(t testing.TB, cfg bus.ConnectConfig) *bus.Conn {
	t.Helper()
	c, err := bus.Connect(connectContext(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.NATS().Close)
	return c
}

// logged is a logger and the entries written to it, as "message key=value ...".
func logged() (*zap.Logger, <-chan string) {
	lines := make(chan string, 1000)
	return zap.New(&lineCore{LevelEnabler: zap.InfoLevel, lines: lines}), lines
}

type lineCore struct {
	zapcore.LevelEnabler
	lines chan<- string
}

func (c *lineCore) With([]zapcore.Field) zapcore.Core { return c }
func (c *lineCore) Sync() error                       { return nil }

func (c *lineCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	return ce.AddCore(e, c)
}

func (c *lineCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	enc := zapcore.NewMapObjectEncoder()
	for _, f := range fields {
		f.AddTo(enc)
	}
	data, err := json.Marshal(enc.Fields)
	c.lines <- e.Message + " " + string(data)
	return err
}

func waitFor(t testing.TB, lines <-chan string, message string) string {
	t.Helper()
	ctx := connectContext(t)
	for {
		select {
		case line := <-lines:
			if strings.HasPrefix(line, message+" ") {
				return line
			}
		case <-ctx.Done():
			t.Fatalf("%q was never logged", message)
		}
	}
}

func TestConnectAsGuestAndNode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startEmbedded(t, embed.Config{Dir: dir, Listen: "127.0.0.1:0"})
	node := connect(t, bus.ConnectConfig{
		URL: s.URL(), NKey: filepath.Join(dir, embed.NodeKeyFile), InboxPrefix: embed.InboxPrefix, Name: "a node",
	})
	guest := connect(t, bus.ConnectConfig{URL: s.URL()})
	inProcess, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	local, err := bus.FromNATS(inProcess, guest.Names(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := node.NATS().Subscribe(node.Names().Op("echo"), func(m *nats.Msg) {
		if err := m.Respond(m.Data); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	ctx := connectContext(t)
	if err := node.NATS().FlushWithContext(ctx); err != nil {
		t.Fatal(err)
	}
	conns := map[string]*bus.Conn{"node": node, "guest": guest, "in process": local}
	for name, c := range conns {
		if msg, err := c.NATS().RequestWithContext(ctx, "skg.op.echo", []byte("hello")); err != nil || string(msg.Data) != "hello" {
			t.Errorf("%s: got %v, %v", name, msg, err)
		}
		if _, err := c.JetStream().AccountInfo(ctx); err != nil {
			t.Errorf("%s: JetStream: %v", name, err)
		}
		if c.MaxPayload() != embed.DefaultMaxPayload || c.Logger() == nil {
			t.Errorf("%s: got payload %d, logger %v", name, c.MaxPayload(), c.Logger())
		}
	}
	for name, c := range conns {
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := c.Close(ctx); err != nil || !c.NATS().IsClosed() {
					t.Errorf("%s: close: %v, closed %v", name, err, c.NATS().IsClosed())
				}
			})
		}
		wg.Wait()
	}
}

func TestConnectByContextFile(t *testing.T) {
	t.Parallel()
	s := startEmbedded(t, embed.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	file := filepath.Join(t.TempDir(), "here.json")
	if err := os.WriteFile(file, []byte(`{"url":"`+s.URL()+`","jetstream_domain":""}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := connect(t, bus.ConnectConfig{Context: file})
	if err := c.Close(connectContext(t)); err != nil {
		t.Error(err)
	}
}

func TestReconnectAndLog(t *testing.T) {
	t.Parallel()
	cfg := embed.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0"}
	s := startEmbedded(t, cfg)
	log, lines := logged()
	c := connect(t, bus.ConnectConfig{URL: s.URL(), Logger: log})
	waitFor(t, lines, "connected")
	if err := c.NATS().Publish("skg.log.a.b.run", []byte("a secret")); err != nil {
		t.Fatal(err)
	}
	if line := waitFor(t, lines, "not permitted"); !strings.Contains(line, `"subject":"skg.log.a.b.run"`) || strings.Contains(line, "secret") {
		t.Errorf("got %s", line)
	}
	ctx := connectContext(t)
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	waitFor(t, lines, "disconnected")
	cfg.Listen = strings.TrimPrefix(s.URL(), "nats://")
	startEmbedded(t, cfg)
	waitFor(t, lines, "reconnected")
	if err := c.NATS().FlushWithContext(ctx); err != nil {
		t.Error(err)
	}
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
}

func TestSlowConsumerIsLogged(t *testing.T) {
	t.Parallel()
	s := startEmbedded(t, embed.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	log, lines := logged()
	c := connect(t, bus.ConnectConfig{URL: s.URL(), Logger: log})
	node, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	sub, err := c.NATS().SubscribeSync("skg.live.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sub.SetPendingLimits(1, -1), c.NATS().Flush()); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := node.Publish("skg.live.a.b.delta", []byte("token")); err != nil {
			t.Fatal(err)
		}
	}
	if line := waitFor(t, lines, "slow consumer"); !strings.Contains(line, `"subject":"skg.live.\u003e"`) {
		t.Errorf("got %s", line)
	}
}

func TestCloseGivesUp(t *testing.T) {
	t.Parallel()
	s := startEmbedded(t, embed.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	c := connect(t, bus.ConnectConfig{URL: s.URL()})
	node, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	entered, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	if _, err := c.NATS().Subscribe("skg.live.>", func(*nats.Msg) { close(entered); <-release }); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.NATS().Flush(), node.Publish("skg.live.a", nil)); err != nil {
		t.Fatal(err)
	}
	<-entered
	ctx, cancel := context.WithCancelCause(context.Background())
	enough := errors.New("enough")
	cancel(enough)
	if err := c.Close(ctx); !errors.Is(err, enough) || !c.NATS().IsClosed() {
		t.Errorf("got %v, closed %v, want %v", err, c.NATS().IsClosed(), enough)
	}
}

func TestCloseWhileDisconnected(t *testing.T) {
	t.Parallel()
	s := startEmbedded(t, embed.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	log, lines := logged()
	c := connect(t, bus.ConnectConfig{URL: s.URL(), Logger: log})
	ctx := connectContext(t)
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	waitFor(t, lines, "disconnected")
	if err := c.NATS().Publish("skg.op.echo", []byte("kept back")); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(ctx); err == nil || !c.NATS().IsClosed() {
		t.Errorf("got %v, closed %v, want an error that something was lost", err, c.NATS().IsClosed())
	}
}

func TestConnectEndsWithContext(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err = bus.Connect(ctx, bus.ConnectConfig{URL: "nats://" + ln.Addr().String()})
	if !errors.Is(err, bus.ErrConnect) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %v and %v", err, bus.ErrConnect, context.DeadlineExceeded)
	}
	if took := time.Since(begin); took > 4*time.Second {
		t.Errorf("took %s", took)
	}
}
