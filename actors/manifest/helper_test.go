package manifest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/manifest"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
	"github.com/skelegent/skelegent-go/state/memory"
)

// apiKey is what must not be seen anywhere but by the model's server. It does not look like a key.
const apiKey = "test-THEKEY0123456789"

// provider is the beginning of a manifest whose model is the test's. A call of m with 1000 tokens in and 100 out costs
// 0.00021 USD.
const provider = `
providers:
  main:
    kind: openai
    base_url: LLM
    api_key: {file: key}
    prices: {m: {input: "0.15", output: "0.60"}, m2: {input: "1.5", output: "6"}}
operators:
`

type bedConfig struct {
	model  *llm              // the place of LLM in the manifest
	urls   map[string]string // more of such places
	files  map[string]string // beside the manifest
	state  protocol.StateStore
	logger *zap.Logger
}

// bed runs a manifest on a node with a server of its own, and returns a connection of a caller.
func bed(t testing.TB, in string, cfg bedConfig) *bus.Conn {
	t.Helper()
	return bedIn(t, t.TempDir(), in, cfg)
}

// bedIn is bed with its files in a directory that is there.
func bedIn(t testing.TB, dir, in string, cfg bedConfig) *bus.Conn {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte(apiKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if cfg.model != nil {
		in = strings.ReplaceAll(in, "LLM", cfg.model.URL)
	}
	for place, url := range cfg.urls {
		in = strings.ReplaceAll(in, place, url)
	}
	for name, content := range cfg.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	m, err := manifest.Parse([]byte(in), "x.yaml", dir)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.state == nil {
		cfg.state = memory.New(memory.Config{})
	}
	s, err := embed.Start(embed.Config{Dir: t.TempDir(), Listen: embed.ListenNone, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	atEnd(t, s.Stop)
	conn, caller := connect(t, s), connect(t, s)
	n, err := actors.NewNode(conn, actors.Config{State: cfg.state, Logger: cfg.logger})
	if err != nil {
		t.Fatal(err)
	}
	atEnd(t, n.Stop)
	if err := m.Register(t.Context(), n, manifest.Deps{Dispatcher: bus.NewDispatcher(conn), State: cfg.state, Logger: cfg.logger}); err != nil {
		t.Fatal(err)
	}
	if err := n.Start(testContext(t)); err != nil {
		t.Fatal(err)
	}
	return caller
}

func connect(t testing.TB, s *embed.Server) *bus.Conn {
	t.Helper()
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := bus.FromNATS(nc, wire.Names{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	atEnd(t, conn.Close)
	return conn
}

func atEnd(t testing.TB, stop func(context.Context) error) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := stop(ctx); err != nil {
			t.Errorf("at the end: %v", err)
		}
	})
}

// testContext ends with the test, and in time for a clear failure.
func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func dispatch(t testing.TB, conn *bus.Conn, id protocol.OperatorID, in protocol.OperatorInput) protocol.OperatorOutput {
	t.Helper()
	out, err := bus.NewDispatcher(conn).Dispatch(testContext(t), id, in)
	if err != nil {
		t.Fatalf("dispatch to %s: %v", id, err)
	}
	return out
}

func textOf(t testing.TB, out protocol.OperatorOutput) string {
	t.Helper()
	text, ok := out.Message.AsText()
	if !ok {
		t.Errorf("message is no text: %+v", out.Message)
	}
	return text
}

func wait[T any](t testing.TB, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-testContext(t).Done():
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// events follows a subject: each call of what it returns gives the next event of a kind, of any if it is empty.
func events(t testing.TB, conn *bus.Conn, subject string) func(kind protocol.EventKind) protocol.Event {
	t.Helper()
	sub, err := conn.NATS().SubscribeSync(subject)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Unsubscribe() })
	if err := conn.NATS().Flush(); err != nil {
		t.Fatal(err)
	}
	ctx := testContext(t)
	return func(kind protocol.EventKind) protocol.Event {
		t.Helper()
		for {
			e := nextEvent(ctx, t, sub)
			if kind == "" || e.Kind == kind {
				return e
			}
		}
	}
}

func nextEvent(ctx context.Context, t testing.TB, sub *nats.Subscription) protocol.Event {
	t.Helper()
	m, err := sub.NextMsgWithContext(ctx)
	if err != nil {
		t.Fatalf("no more events: %v", err)
	}
	e, err := protocol.DecodeEvent(m.Data)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// outcomes follows what becomes of effects.
func outcomes(t testing.TB, conn *bus.Conn) func() []protocol.EffectOutcome {
	t.Helper()
	next := events(t, conn, "skg.event.>")
	return func() []protocol.EffectOutcome {
		t.Helper()
		var record struct {
			Outcomes []protocol.EffectOutcome `json:"outcomes"`
		}
		if err := protocol.Unmarshal(next(protocol.EventEffectDone).Data, &record); err != nil {
			t.Fatal(err)
		}
		return record.Outcomes
	}
}
