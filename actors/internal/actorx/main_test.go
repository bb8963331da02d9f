package actorx_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/skelegent/skelegent-go/actors/internal/actorx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second

// fast restarts at once, for tests about something else than the delay.
var fast = actorx.Backoff{Min: time.Microsecond, Max: 10 * time.Microsecond}

func newSystem(tb testing.TB, cfg actorx.Config) *actorx.System {
	tb.Helper()
	sys := actorx.NewSystem(cfg)
	tb.Cleanup(func() { stop(tb, sys) })
	return sys
}

func observed() (*zap.Logger, *observer.ObservedLogs) {
	core, logs := observer.New(zapcore.DebugLevel)
	return zap.New(core), logs
}

func stop(tb testing.TB, sys *actorx.System) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := sys.Stop(ctx); err != nil {
		tb.Error(err)
	}
	if s := sys.Stats(); s.Actors != 0 || s.Tasks != 0 {
		tb.Errorf("left after Stop: %+v", s)
	}
}

func spawn(tb testing.TB, sys *actorx.System, name string, b actorx.Behavior) *actorx.Ref {
	tb.Helper()
	r, err := sys.Spawn(name, b)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// await fails the test if ch brings nothing.
func await[T any](tb testing.TB, what string, ch <-chan T) T {
	tb.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		tb.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

// receive makes the behavior of an actor without state.
func receive(f func(c *actorx.Context, msg any)) actorx.Behavior {
	return func() actorx.Actor { return actorx.ReceiveFunc(f) }
}

// hooks is an actor of functions.
type hooks struct {
	start   func(c *actorx.Context) error
	receive func(c *actorx.Context, msg any)
	stop    func(c *actorx.Context)
}

func (h *hooks) Start(c *actorx.Context) error {
	if h.start == nil {
		return nil
	}
	return h.start(c)
}

func (h *hooks) Receive(c *actorx.Context, msg any) {
	if f, ok := msg.(func(*actorx.Context)); ok {
		f(c)
		return
	}
	if h.receive != nil {
		h.receive(c, msg)
	}
}

func (h *hooks) Stop(c *actorx.Context) {
	if h.stop != nil {
		h.stop(c)
	}
}

func (h hooks) behavior() actorx.Behavior {
	return func() actorx.Actor { fresh := h; return &fresh }
}

// do runs f within the actor and waits for it.
func do(tb testing.TB, r *actorx.Ref, f func(c *actorx.Context)) {
	tb.Helper()
	done := make(chan struct{})
	if !r.Tell(func(c *actorx.Context) { defer close(done); f(c) }) {
		tb.Fatalf("%s takes nothing", r.Name())
	}
	await(tb, "do in "+r.Name(), done)
}

// boom crashes the actor.
func boom(*actorx.Context) { panic("boom") }
