package actorx_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/internal/actorx"
)

func TestBackoffGrowsAndIsCapped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := actorx.NewSystem(actorx.Config{Backoff: actorx.Backoff{
			Min: 100 * time.Millisecond, Max: time.Second, Reset: time.Minute, Jitter: -1,
		}})
		begin := time.Now()
		starts := make(chan time.Duration, 100)
		r := spawn(t, sys, "a", hooks{start: func(*actorx.Context) error {
			starts <- time.Since(begin)
			begin = time.Now()
			return nil
		}}.behavior())
		crash := func() time.Duration { r.Tell(boom); return <-starts }
		<-starts
		var got []time.Duration
		for range 7 {
			got = append(got, crash())
		}
		ms := time.Millisecond
		want := []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, time.Second, time.Second, time.Second}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		time.Sleep(time.Minute) // healthy: begin again
		if got := crash() - time.Minute; got != 100*ms {
			t.Errorf("after a healthy minute: got %v", got)
		}
		if got := sys.Stats().Restarts; got != 8 {
			t.Errorf("restarts: got %d, want 8", got)
		}
		stop(t, sys)
	})
}

func TestBackoffJitter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := actorx.NewSystem(actorx.Config{Backoff: actorx.Backoff{Min: time.Second, Max: time.Second, Jitter: 0.5}})
		var last time.Time
		seen := map[time.Duration]bool{}
		r := spawn(t, sys, "a", hooks{start: func(*actorx.Context) error {
			if d := time.Since(last); !last.IsZero() {
				if d < 500*time.Millisecond || d > time.Second {
					t.Errorf("delay %v", d)
				}
				seen[d] = true
			}
			last = time.Now()
			return nil
		}}.behavior())
		for range 20 {
			r.Tell(boom)
		}
		do(t, r, func(*actorx.Context) {})
		if len(seen) < 15 {
			t.Errorf("%d different delays of 20", len(seen))
		}
		stop(t, sys)
	})
}

// Everything that can go wrong in a start ends in the next attempt; messages wait.
func TestStartFailures(t *testing.T) {
	t.Parallel()
	sys := newSystem(t, actorx.Config{Backoff: fast})
	attempt, stops := 0, 0
	got := make(chan int, 1)
	r := spawn(t, sys, "a", func() actorx.Actor {
		attempt++
		switch attempt {
		case 1:
			panic("no factory")
		case 2:
			return nil
		}
		return &hooks{
			start: func(c *actorx.Context) error {
				switch attempt {
				case 3:
					return errors.New("no database")
				case 4:
					panic("no luck")
				case 5:
					runtime.Goexit()
				case 6:
					c.Self().Tell("from Start")
					_, err := c.Spawn("child", hooks{}.behavior())
					return errors.Join(err, errors.New("too late"))
				}
				_, err := c.Spawn("child", hooks{}.behavior()) // its name is free again
				return err
			},
			stop:    func(*actorx.Context) { stops++ },
			receive: func(_ *actorx.Context, msg any) { got <- msg.(int) },
		}
	})
	r.Tell(5)
	if m := await(t, "message", got); m != 5 {
		t.Errorf("got %v", m)
	}
	do(t, r, func(*actorx.Context) {
		if attempt < 7 || stops != attempt-3 {
			t.Errorf("%d attempts, %d stops", attempt, stops)
		}
	})
}

func TestGoexitIsACrash(t *testing.T) {
	t.Parallel()
	sys := newSystem(t, actorx.Config{Backoff: fast})
	stops := 0
	r := spawn(t, sys, "a", hooks{stop: func(*actorx.Context) { stops++; runtime.Goexit() }}.behavior())
	for range 1000 {
		r.Tell(func(*actorx.Context) { runtime.Goexit() })
	}
	do(t, r, func(*actorx.Context) {
		if stops != 1000 {
			t.Errorf("stops: got %d", stops)
		}
	})
	stop(t, sys)
	if stops != 1001 {
		t.Errorf("stops: got %d", stops)
	}
	if s := sys.Stats(); s.Restarts != 1000 {
		t.Errorf("restarts: got %d", s.Restarts)
	}
}

// Messages told while an actor crashes, and crashes again, all arrive in order but for the ones it crashes on. Children
// that end at the same time keep its system queue busy.
func TestCrashLosesOnlyTheCrashingMessage(t *testing.T) {
	t.Parallel()
	const senders, each = 4, 3000
	sys := newSystem(t, actorx.Config{Backoff: fast})
	type numbered struct{ sender, n int }
	next := make([]int, senders)
	got, want := 0, 0
	for n := range each {
		if n%50 != 0 {
			want += senders
		}
	}
	done := make(chan struct{})
	r := spawn(t, sys, "a", hooks{receive: func(c *actorx.Context, msg any) {
		m, ok := msg.(numbered)
		if !ok {
			return // Terminated
		}
		if m.n < next[m.sender] {
			t.Errorf("sender %d: %d after %d", m.sender, m.n, next[m.sender])
		}
		next[m.sender] = m.n
		if m.n%7 == 0 {
			if child, err := c.Spawn("child", hooks{}.behavior()); err == nil {
				c.Stop(child)
			}
		}
		if m.n%50 == 0 {
			panic("boom")
		}
		if got++; got == want {
			close(done)
		}
	}}.behavior())
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for n := range each {
				r.Tell(numbered{s, n})
			}
		})
	}
	wg.Wait()
	await(t, "messages", done)
	if got := sys.Stats(); got.Restarts != senders*each/50 || got.DeadLetters != 0 {
		t.Errorf("got %+v", got)
	}
}

// The children of a crashed incarnation process what they were told, and end before the next one starts.
func TestCrashEndsChildrenFirst(t *testing.T) {
	t.Parallel()
	sys := newSystem(t, actorx.Config{Backoff: fast})
	const children, each = 5, 200
	processed, living := make(chan int, children*each), make(chan int, children)
	hold := make(chan struct{})
	starts := make(chan int, 2)
	r := spawn(t, sys, "a", hooks{
		start: func(*actorx.Context) error { starts <- len(processed); return nil },
		receive: func(_ *actorx.Context, msg any) {
			t.Errorf("the new incarnation got %v", msg)
		},
	}.behavior())
	await(t, "start", starts)
	r.Tell(func(c *actorx.Context) {
		for i := range children {
			child, err := c.Spawn(string(rune('a'+i)), receive(func(_ *actorx.Context, msg any) {
				if msg == 0 {
					living <- 1
					<-hold
				}
				processed <- 1
			}))
			if err != nil {
				t.Error(err)
			}
			for n := range each {
				child.Tell(n)
			}
		}
		panic("boom")
	})
	for range children {
		await(t, "child", living)
	}
	close(hold)
	if got := await(t, "restart", starts); got != children*each {
		t.Errorf("children had processed %d of %d at the restart", got, children*each)
	}
}

func TestStopDuringBackoffDoesNotWait(t *testing.T) {
	t.Parallel()
	sys := newSystem(t, actorx.Config{Backoff: actorx.Backoff{Min: time.Hour, Max: time.Hour}})
	crashed := make(chan struct{}, 1)
	processed := 0
	r := spawn(t, sys, "a", hooks{
		receive: func(*actorx.Context, any) {
			processed++
			if processed%100 == 0 { // crashes on the way out have no backoff, either
				panic("boom")
			}
		},
		stop: func(*actorx.Context) { crashed <- struct{}{} },
	}.behavior())
	r.Tell(boom)
	await(t, "crash", crashed)
	go func() {
		for range crashed {
		}
	}()
	defer close(crashed)
	for i := range 1000 {
		r.Tell(i)
	}
	stop(t, sys)
	if processed != 1000 {
		t.Errorf("processed: got %d", processed)
	}
}

// An actor that cannot start while it is being stopped hands out what it was told.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	for _, fetch := range []bool{true, false} {
		sys := newSystem(t, actorx.Config{Backoff: actorx.Backoff{Min: time.Hour, Max: time.Hour}})
		started := make(chan struct{}, 2)
		var left []any
		r := spawn(t, sys, "a", hooks{
			start: func(*actorx.Context) error { started <- struct{}{}; return errors.New("no database") },
			stop: func(c *actorx.Context) {
				if fetch {
					left = append(left, c.Leftovers()...)
				}
				if _, err := c.Spawn("x", hooks{}.behavior()); !errors.Is(err, actorx.ErrStopped) {
					t.Errorf("Spawn in Stop: got %v", err)
				}
			},
			receive: func(_ *actorx.Context, msg any) { t.Errorf("got %v", msg) },
		}.behavior())
		await(t, "start", started)
		r.Tell(1)
		r.Tell(nil)
		r.Tell(3)
		stop(t, sys)
		want, dead := []any{1, nil, 3}, uint64(0)
		if !fetch {
			want, dead = nil, 3
		}
		if d := cmp.Diff(want, left); d != "" {
			t.Error(d)
		}
		if got := sys.Stats().DeadLetters; got != dead {
			t.Errorf("dead letters: got %d, want %d", got, dead)
		}
	}
}

func TestLogsHoldNoPayload(t *testing.T) {
	t.Parallel()
	const secret = "sesame"
	log, logs := observed()
	sys := newSystem(t, actorx.Config{Logger: log, Backoff: fast})
	r := spawn(t, sys, "a", hooks{
		receive: func(_ *actorx.Context, msg any) { panic("bad: " + msg.(string)) },
		stop:    func(*actorx.Context) { panic(errors.New(secret)) },
	}.behavior())
	r.Tell(secret)
	do(t, r, func(c *actorx.Context) {
		actorx.Async(c, func(context.Context) (int, error) { panic(secret) }, nil)
	})
	stop(t, sys)
	r.Tell(secret)
	events := map[string]int{}
	for _, e := range logs.All() {
		events[e.Message]++
		for k, v := range e.ContextMap() {
			if s, ok := v.(string); ok && strings.Contains(s, secret) {
				t.Errorf("%s: %s=%s", e.Message, k, s)
			}
		}
	}
	for _, want := range []string{"actor crashed", "stop hook crashed", "task crashed"} {
		if events[want] == 0 {
			t.Errorf("no %q among %v", want, events)
		}
	}
}
