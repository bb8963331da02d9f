package actorx_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/skelegent/skelegent-go/actors/internal/actorx"
)

func TestAsync(t *testing.T) {
	t.Parallel()
	r := spawn(t, newSystem(t, actorx.Config{}), "a", hooks{}.behavior())
	refusal := errors.New("refused")
	type outcome struct {
		n   int
		err error
	}
	run := func(work func(context.Context) (int, error)) outcome {
		out := make(chan outcome, 1)
		do(t, r, func(c *actorx.Context) {
			actorx.Async(c, work, func(c *actorx.Context, n int, err error) {
				if c.Self() != r {
					t.Error("another actor")
				}
				out <- outcome{n, err}
			})
		})
		return await(t, "continuation", out)
	}
	if o := run(func(context.Context) (int, error) { return 7, nil }); o.n != 7 || o.err != nil {
		t.Errorf("got %+v", o)
	}
	if o := run(func(context.Context) (int, error) { return 3, refusal }); o.n != 3 || !errors.Is(o.err, refusal) {
		t.Errorf("got %+v", o)
	}
	var p *actorx.PanicError
	if o := run(func(context.Context) (int, error) { panic(refusal) }); !errors.As(o.err, &p) || !errors.Is(o.err, refusal) ||
		!strings.Contains(string(p.Stack), "TestAsync") {
		t.Errorf("got %+v", o)
	}
	if o := run(func(context.Context) (int, error) { runtime.Goexit(); return 0, nil }); !errors.Is(o.err, actorx.ErrGoexit) {
		t.Errorf("got %+v", o)
	}
	if o := run(func(context.Context) (int, error) { panic(nil) }); o.err == nil || errors.Is(o.err, actorx.ErrGoexit) { //nolint:govet // the very case
		t.Errorf("got %+v", o)
	}
	do(t, r, func(c *actorx.Context) {
		actorx.Async(c, func(context.Context) (int, error) { panic("nobody cares") }, nil)
	})
}

// The library runs continuations on the old instance after a restart.
func TestAsyncOfEarlierIncarnationNeverReturns(t *testing.T) {
	t.Parallel()
	sys := newSystem(t, actorx.Config{Backoff: fast})
	var ran atomic.Int32
	type instance struct{ hooks }
	r := spawn(t, sys, "a", func() actorx.Actor { return &instance{} })
	for range 2000 {
		release := make(chan struct{})
		gone := make(chan error, 1)
		do(t, r, func(c *actorx.Context) {
			actorx.Async(c, func(ctx context.Context) (int, error) {
				<-release
				<-ctx.Done() // by the crash
				gone <- ctx.Err()
				return 0, nil
			}, func(*actorx.Context, int, error) { ran.Add(1) })
			actorx.Async(c, func(context.Context) (int, error) {
				<-release // finishes about when the actor crashes
				return 0, nil
			}, func(c *actorx.Context, _ int, _ error) { c.Self() }) // panics if its incarnation is over
		})
		close(release)
		r.Tell(boom)
		await(t, "cancellation", gone)
	}
	do(t, r, func(*actorx.Context) {})
	if ran.Load() != 0 {
		t.Errorf("%d continuations of earlier incarnations", ran.Load())
	}
	if got := sys.Stats().Restarts; got != 2000 {
		t.Errorf("restarts: got %d, want 2000", got)
	}
}

func TestStopCancelsAndAwaitsAsync(t *testing.T) {
	t.Parallel()
	sys := newSystem(t, actorx.Config{})
	var returned atomic.Bool
	r := spawn(t, sys, "a", hooks{stop: func(c *actorx.Context) {
		actorx.Async(c, func(ctx context.Context) (int, error) {
			if ctx.Err() == nil {
				t.Error("work begun in Stop is not cancelled")
			}
			return 0, nil
		}, func(*actorx.Context, int, error) { t.Error("continued after Stop") })
	}}.behavior())
	do(t, r, func(c *actorx.Context) {
		actorx.Async(c, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			for range 100 {
				runtime.Gosched()
			}
			returned.Store(true)
			return 0, nil
		}, func(*actorx.Context, int, error) { t.Error("continued after Stop") })
	})
	stop(t, sys)
	if !returned.Load() {
		t.Error("Stop did not wait")
	}
}
