package actorx_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skelegent/skelegent-go/actors/internal/actorx"
)

func TestTimer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sys := actorx.NewSystem(actorx.Config{Backoff: actorx.Backoff{Min: time.Second, Jitter: -1}})
		begin := time.Now()
		got := make(chan any, 10)
		r := spawn(t, sys, "a", hooks{receive: func(_ *actorx.Context, msg any) { got <- msg }}.behavior())
		var cancelled *actorx.Timer
		do(t, r, func(c *actorx.Context) {
			c.After(5*time.Second, "five")
			cancelled = c.After(time.Second, "never")
		})
		if !cancelled.Cancel() || cancelled.Cancel() {
			t.Error("Cancel: want true, then false")
		}
		if m := <-got; m != "five" || time.Since(begin) != 5*time.Second {
			t.Errorf("got %v after %v", m, time.Since(begin))
		}
		// A crash ends the timers of its incarnation.
		do(t, r, func(c *actorx.Context) { c.After(10*time.Second, "of the dead") })
		r.Tell(boom)
		do(t, r, func(c *actorx.Context) { c.After(time.Minute, "of the living") })
		if m := <-got; m != "of the living" {
			t.Errorf("got %v", m)
		}
		// And so does a stop.
		do(t, r, func(c *actorx.Context) { c.After(time.Hour, "too late") })
		stop(t, sys)
		time.Sleep(2 * time.Hour)
		if len(got) != 0 {
			t.Errorf("got %v after the stop", <-got)
		}
	})
}

// Known race 2 of the library: its receive timeout changes the actor from the timer's goroutine. Our idle timers are
// re-armed on each message here, while they fire.
func TestRaceReceiveTimeout(t *testing.T) {
	t.Parallel()
	const rounds = 5000
	type idle struct{ gen int }
	fired := make(chan struct{})
	done := make(chan int, 1)
	gen, stale, hits := 0, 0, 0
	var timer *actorx.Timer
	r := spawn(t, newSystem(t, actorx.Config{}), "a", receive(func(c *actorx.Context, msg any) {
		switch m := msg.(type) {
		case idle:
			if m.gen != gen {
				stale++
			}
			if hits++; hits == rounds {
				close(fired)
			}
		case string:
			done <- stale
			return
		}
		if timer != nil {
			timer.Cancel()
		}
		gen++
		timer = c.After(time.Duration(gen%3)*time.Microsecond, idle{gen})
	}))
	r.Tell(1)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range rounds {
				r.Tell(1)
			}
		})
	}
	wg.Wait()
	await(t, "idle messages", fired)
	r.Tell("report")
	if got := await(t, "report", done); got != 0 {
		t.Errorf("%d messages of cancelled timers", got)
	}
}

// Known race 4 of the library: cancelling a timer reads its state without care. Ours may be cancelled from anywhere, and
// after a successful Cancel nothing is delivered.
func TestRaceTimerCancel(t *testing.T) {
	t.Parallel()
	const rounds, each = 100, 50
	delivered := map[int]bool{}
	r := spawn(t, newSystem(t, actorx.Config{}), "a", hooks{receive: func(_ *actorx.Context, msg any) {
		delivered[msg.(int)] = true
	}}.behavior())
	inTime := map[int]bool{}
	for round := range rounds {
		var timers [each]*actorx.Timer
		do(t, r, func(c *actorx.Context) {
			for i := range timers {
				timers[i] = c.After(time.Duration(i*i/2)*time.Microsecond, round*each+i)
			}
		})
		for i, timer := range timers {
			var winners atomic.Int32
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					if timer.Cancel() {
						winners.Add(1)
					}
				})
			}
			wg.Wait()
			if winners.Load() > 1 {
				t.Fatal("two Cancels won")
			}
			inTime[round*each+i] = winners.Load() == 1
		}
	}
	won := 0
	do(t, r, func(*actorx.Context) {
		for i, cancelled := range inTime {
			if cancelled == delivered[i] {
				t.Errorf("timer %d: cancelled %v, delivered %v", i, cancelled, delivered[i])
			}
			if cancelled {
				won++
			}
		}
	})
	t.Logf("%d of %d cancelled in time", won, rounds*each)
}
