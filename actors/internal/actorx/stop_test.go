package actorx_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/internal/actorx"
)

func TestStopIsIdempotent(t *testing.T) {
	t.Parallel()
	sys := actorx.NewSystem(actorx.Config{})
	stop(t, sys) // nothing spawned
	stop(t, sys)
}

func TestStopProcessesWhatIsQueued(t *testing.T) {
	t.Parallel()
	sys := newSystem(t, actorx.Config{})
	hold := make(chan struct{})
	processed, stopped := 0, 0
	r := spawn(t, sys, "a", hooks{
		receive: func(*actorx.Context, any) { processed++ },
		stop:    func(*actorx.Context) { stopped = processed },
	}.behavior())
	r.Tell(func(*actorx.Context) { <-hold })
	for i := range 1000 {
		r.Tell(i)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := sys.Stop(ctx)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "1 actors (roots: a), 0 tasks") {
		t.Errorf("Stop with a cancelled context: got %v", err)
	}
	if r.Tell("late") {
		t.Error("Tell after Stop had begun: got true")
	}
	close(hold)
	stop(t, sys)
	if processed != 1000 || stopped != 1000 {
		t.Errorf("processed %d, of these %d before the Stop hook", processed, stopped)
	}
}

// Children stop before their parent, which still hears of it, and all of them process their mailboxes.
func TestStopOrder(t *testing.T) {
	t.Parallel()
	sys := newSystem(t, actorx.Config{})
	var mu sync.Mutex
	var got []string
	note := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprintf(format, args...))
	}
	noting := hooks{
		receive: func(c *actorx.Context, msg any) { note("%s: %v", c.Self().Name(), msg) },
		stop:    func(c *actorx.Context) { note("%s: stop", c.Self().Name()) },
	}
	top := noting
	top.receive = func(c *actorx.Context, msg any) {
		ended := msg.(actorx.Terminated)
		note("%s: %s ended", c.Self().Name(), ended.Name)
		<-ended.Ref.Done()
		if _, err := c.Spawn("another", noting.behavior()); !errors.Is(err, actorx.ErrStopped) {
			t.Errorf("Spawn after the mailbox: got %v", err)
		}
		panic("boom") // must not resurrect anything
	}
	r := spawn(t, sys, "top", top.behavior())
	do(t, r, func(c *actorx.Context) {
		child, err := c.Spawn("child", noting.behavior())
		if err != nil {
			t.Error(err)
		}
		child.Tell("hello")
	})
	stop(t, sys)
	want := []string{"top/child: hello", "top/child: stop", "top: child ended", "top: stop"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if n := sys.Stats().Restarts; n != 0 {
		t.Errorf("restarts: got %d", n)
	}
}

func TestStopOfChild(t *testing.T) {
	t.Parallel()
	sys := newSystem(t, actorx.Config{})
	ended := make(chan actorx.Terminated, 1)
	r := spawn(t, sys, "a", hooks{receive: func(_ *actorx.Context, msg any) { ended <- msg.(actorx.Terminated) }}.behavior())
	var child *actorx.Ref
	processed := 0
	for range 200 { // the name is free when Terminated is there
		do(t, r, func(c *actorx.Context) {
			var err error
			if child, err = c.Spawn("child", receive(func(*actorx.Context, any) { processed++ })); err != nil {
				t.Error(err)
				return
			}
			child.Tell(1)
			if !c.Stop(child) || child.Tell(2) {
				t.Error("stop of a child")
			}
		})
		if m := await(t, "Terminated", ended); m.Name != "child" || m.Ref != child {
			t.Errorf("got %+v", m)
		}
		do(t, r, func(c *actorx.Context) {
			if c.Stop(child) {
				t.Error("a child that has ended was stopped")
			}
		})
	}
	if processed != 200 {
		t.Errorf("processed: got %d", processed)
	}
}

// In the library a panic in Stopping resurrects the actor, and Goexit leaves it half stopped.
func TestPanicInStopHook(t *testing.T) {
	t.Parallel()
	for name, hook := range map[string]func(){"panic": func() { panic("boom") }, "goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := newSystem(t, actorx.Config{Backoff: fast})
			var starts, stops atomic.Int32
			h := hooks{
				start: func(*actorx.Context) error { starts.Add(1); return nil },
				stop:  func(*actorx.Context) { stops.Add(1); hook() },
			}
			r := spawn(t, sys, "a", h.behavior())
			do(t, r, func(c *actorx.Context) {
				if _, err := c.Spawn("child", h.behavior()); err != nil {
					t.Error(err)
				}
			})
			stop(t, sys)
			if starts.Load() != 2 || stops.Load() != 2 {
				t.Errorf("%d starts, %d stops, want 2 and 2", starts.Load(), stops.Load())
			}
		})
	}
}

// A tree that is told, asked, crashed, and stopped from all sides at any moment.
func TestStartStopStress(t *testing.T) {
	t.Parallel()
	for round := range 120 {
		sys := actorx.NewSystem(actorx.Config{Backoff: fast})
		var starts, stops atomic.Int32
		leaf := hooks{
			start: func(c *actorx.Context) error {
				if n := starts.Add(1); n%17 == 0 {
					return errors.New("no luck")
				}
				c.After(0, "tick")
				actorx.Async(c, func(context.Context) (int, error) { return 1, nil }, func(c *actorx.Context, n int, _ error) {
					c.Self().Tell(n)
				})
				return nil
			},
			stop: func(*actorx.Context) { stops.Add(1) },
		}
		inner := leaf
		inner.start = func(c *actorx.Context) error {
			starts.Add(1)
			for i := range 3 {
				if _, err := c.Spawn(fmt.Sprint(i), leaf.behavior()); err != nil {
					return err
				}
			}
			return nil
		}
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				r, err := sys.Spawn(fmt.Sprint(i), inner.behavior())
				if err != nil {
					return // stopped already
				}
				for n := range 30 {
					if n%10 == round%10 {
						r.Tell(boom)
					}
					r.Tell(n)
				}
				if round%3 == i {
					r.Tell(func(c *actorx.Context) { c.StopSelf() })
				}
			})
		}
		if round%2 == 0 {
			wg.Wait()
		}
		stop(t, sys)
		wg.Wait()
		if starts.Load() != stops.Load() {
			t.Fatalf("round %d: %d starts, %d stops", round, starts.Load(), stops.Load())
		}
	}
}
