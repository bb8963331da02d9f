package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/effect"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/embed"
	"github.com/skelegent/skelegent-go/bus/embed/embedtest"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
	"github.com/skelegent/skelegent-go/state/kv"
)

func TestMain(m *testing.M) {
	embedtest.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if build.path != "" {
			_ = os.RemoveAll(filepath.Dir(build.path))
		}
		os.Exit(code)
	}))
}

const patience = 60 * time.Second

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// world is a server with a node on it, and how the command line reaches them.
type world struct {
	url, key string
	conn     *bus.Conn
	store    *kv.Store
	mail     chan error // what the executor of "mail" answers next; nil is success

	release chan struct{}       // closed, lets "holds" end
	running chan protocol.RunID // told by "holds"
}

// operators of the test node.
var (
	echo = protocol.OperatorFunc(func(_ context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		out := protocol.OperatorOutput{Message: in.Message, ExitReason: protocol.Exit(protocol.ExitComplete)}
		if in.Config != nil && in.Config.MaxTurns != nil && *in.Config.MaxTurns == 1 {
			out.ExitReason = protocol.Exit(protocol.ExitMaxTurns)
		}
		return out, nil
	})
	talk = protocol.OperatorFunc(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		events := protocol.InvocationFrom(ctx).Events
		events.Emit(protocol.EventInferenceStarted, map[string]string{"model": "m"})
		for _, word := range []string{"one ", "two ", "three"} {
			events.Emit(protocol.EventProgress, map[string]string{"content": word})
		}
		return protocol.Reply("one two three"), nil
	})
	busy = protocol.OperatorFunc(func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		return protocol.OperatorOutput{}, protocol.NewError(protocol.CodeUnavailable, "too much to do").After(3 * time.Second)
	})
	broken = protocol.OperatorFunc(func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		return protocol.OperatorOutput{}, protocol.NewError(protocol.CodeToolError, "line one\nline two")
	})
)

// slow waits for its deadline, or the end of the test.
func slow(end <-chan struct{}) protocol.Operator {
	return protocol.OperatorFunc(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		select {
		case <-ctx.Done():
		case <-end:
		}
		return protocol.OperatorOutput{}, ctx.Err()
	})
}

func declares(effects ...protocol.Effect) protocol.Operator {
	return protocol.OperatorFunc(func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		out := protocol.Reply("declared")
		out.Effects = effects
		return out, nil
	})
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := newServer(t)
	w.startNode(t)
	return w
}

// newServer is a world without a node.
func newServer(t testing.TB) *world {
	t.Helper()
	dir := t.TempDir()
	s, err := embed.Start(embed.Config{Dir: dir, Listen: "127.0.0.1:0", NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	w := &world{
		url: s.URL(), key: filepath.Join(dir, embed.NodeKeyFile), mail: make(chan error, 10), release: make(chan struct{}),
		running: make(chan protocol.RunID, 10),
	}
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	if w.conn, err = bus.FromNATS(nc, wire.Names{}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if w.store, err = kv.Open(testContext(t), w.conn.JetStream(), kv.Config{Create: true}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) startNode(t testing.TB) {
	t.Helper()
	end := make(chan struct{})
	n, err := actors.NewNode(w.conn, actors.Config{Name: "test", ID: "node-one", State: w.store, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	for id, op := range map[protocol.OperatorID]protocol.Operator{
		"echo": echo, "talk": talk, "busy": busy, "broken": broken, "slow": slow(end),
		"mailer": declares(protocol.CustomEffect{EffectType: "mail", Data: json.RawMessage(`{"to":"me"}`)}),
		"orphan": declares(protocol.CustomEffect{EffectType: "nobody's", Data: json.RawMessage(`1`)}),
		"keeper": declares(protocol.WriteMemory{Scope: protocol.InSession("tea"), Key: "drink", Value: json.RawMessage(`"green tea"`)}),
	} {
		if err := n.Register(id, op, actors.Description("is "+string(id)), actors.Concurrency(3)); err != nil {
			t.Fatal(err)
		}
	}
	w.host(t, n, func() { close(end) })
}

// host starts a node, with an executor of mail, and stops it at the end of the test.
func (w *world) host(t testing.TB, n *actors.Node, before func()) {
	t.Helper()
	mail := effect.Func(func(context.Context, effect.Request) error {
		select {
		case err := <-w.mail:
			return err
		default:
			return nil
		}
	})
	if err := n.RegisterEffect("mail", mail, effect.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := n.Start(testContext(t)); err != nil {
		t.Fatal(err)
	}
	w.sourced(t)
	t.Cleanup(func() {
		before()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := n.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
}

// sourced waits until the server takes signals over: one that is stored in the first moments of a stream, with a task behind
// it, is never taken over.
func (w *world) sourced(t testing.TB) {
	t.Helper()
	ctx := testContext(t)
	for {
		stream, err := w.conn.JetStream().Stream(ctx, "SKG_TASKS")
		if err != nil {
			t.Fatal(err)
		}
		sources := stream.CachedInfo().Sources
		if len(sources) == 2 && sources[0].Active >= 0 && sources[1].Active >= 0 {
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("signals are not taken over")
		}
	}
}

// result is what a command gave.
type result struct {
	code     int
	out, err string
}

// call says how to call a command.
type call struct {
	in             string
	stdin          io.Reader // instead of in
	interrupts     chan<- func() bool
	env            map[string]string
	outTTY, errTTY bool
	inTTY          bool
	ctx            context.Context
	stdout, stderr io.Writer // instead of what result has
}

func (c call) run(t testing.TB, args ...string) result {
	t.Helper()
	var out, errs buffer
	stdout, stderr := io.Writer(&out), io.Writer(&errs)
	if c.stdout != nil {
		stdout = c.stdout
	}
	if c.stderr != nil {
		stderr = c.stderr
	}
	if c.ctx == nil {
		c.ctx = testContext(t)
	}
	stdin := c.stdin
	if stdin == nil {
		stdin = strings.NewReader(c.in)
	}
	a := newApp(stdout, stderr, stdin, func(name string) string { return c.env[name] })
	if c.interrupts != nil {
		c.interrupts <- a.interrupts.deliver
	}
	a.inTTY, a.out.tty, a.err.tty = c.inTTY, c.outTTY, c.errTTY
	code := execute(c.ctx, a.root(), args)
	return result{code: code, out: out.String(), err: errs.String()}
}

// run calls a command as a guest, node as a node.
func (w *world) run(t testing.TB, args ...string) result {
	t.Helper()
	return w.call(t, call{inTTY: true}, args...)
}

func (w *world) node(t testing.TB, args ...string) result {
	t.Helper()
	return w.run(t, append([]string{"--nkey", w.key}, args...)...)
}

func (w *world) call(t testing.TB, c call, args ...string) result {
	t.Helper()
	return c.run(t, append([]string{"--nats", w.url}, args...)...)
}

// want checks a result: the code, and what the outputs contain. An error is one line.
func (r result) want(t testing.TB, code int, out, errs string) {
	t.Helper()
	if r.code != code || !strings.Contains(r.out, out) || !strings.Contains(r.err, errs) {
		t.Errorf("got code %d, out %q, err %q\nwant code %d, out %q, err %q", r.code, r.out, r.err, code, out, errs)
	}
	if code != 0 && (strings.Count(r.err, "\n") != 1 || strings.Contains(r.err, "Usage:")) {
		t.Errorf("error is not one line: %q", r.err)
	}
}

// decode reads what --json printed.
func decode[T any](t testing.TB, r result) T {
	t.Helper()
	var v T
	if r.code != 0 {
		t.Fatalf("got code %d, err %q", r.code, r.err)
	}
	if err := json.Unmarshal([]byte(r.out), &v); err != nil {
		t.Fatalf("no JSON: %v in %q", err, r.out)
	}
	return v
}

// buffer is a bytes.Buffer for several goroutines, that can be waited for.
type buffer struct {
	mu    sync.Mutex
	b     bytes.Buffer
	wrote chan struct{}
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wrote != nil {
		close(b.wrote)
		b.wrote = nil
	}
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// waitFor returns when the buffer contains s.
func (b *buffer) waitFor(t testing.TB, s string) {
	t.Helper()
	ctx := testContext(t)
	for {
		b.mu.Lock()
		if strings.Contains(b.b.String(), s) {
			b.mu.Unlock()
			return
		}
		if b.wrote == nil {
			b.wrote = make(chan struct{})
		}
		wrote := b.wrote
		b.mu.Unlock()
		select {
		case <-wrote:
		case <-ctx.Done():
			t.Fatalf("%q was not written, but %q", s, b.String())
		}
	}
}

// eventually repeats a command until its output contains s.
func (w *world) eventually(t testing.TB, s string, args ...string) result {
	t.Helper()
	ctx := testContext(t)
	for {
		r := w.run(t, args...)
		if strings.Contains(r.out, s) {
			return r
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("%v never says %q: %+v", args, s, r)
		}
	}
}
