package agenttest

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Clock is a clock that stands still unless a test moves it: for the Now and Sleep of agent.Config and others. It is safe for
// concurrent use.
//
// It moves no timer of package time, and so no deadline of a context. Where those matter, as in durable runs, use
// testing/synctest.
type Clock struct {
	mu       sync.Mutex
	now      time.Time
	sleepers []*sleeper
	waiting  []*watcher
}

type sleeper struct {
	due   time.Time
	awake chan struct{} // closed when it is due
}

// watcher waits until there are n sleepers.
type watcher struct {
	n       int
	reached chan struct{}
}

// NewClock returns a clock that shows start.
func NewClock(start time.Time) *Clock { return &Clock{now: start} }

// Now returns what the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Sleep returns when the clock was advanced by d, or with the error of ctx when that ends. It blocks until then; for 0 or less it
// returns at once.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	s := c.enter(d)
	select {
	case <-s.awake:
		return nil
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sleepers = slices.DeleteFunc(c.sleepers, func(o *sleeper) bool { return o == s })
		return ctx.Err()
	}
}

func (c *Clock) enter(d time.Duration) *sleeper {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &sleeper{due: c.now.Add(d), awake: make(chan struct{})}
	c.sleepers = append(c.sleepers, s)
	c.waiting = slices.DeleteFunc(c.waiting, func(w *watcher) bool {
		if len(c.sleepers) < w.n {
			return false
		}
		close(w.reached)
		return true
	})
	return s
}

// Skip is a Sleep that advances the clock itself, and so never blocks: for tests of one goroutine in which nothing else happens
// meanwhile.
func (c *Clock) Skip(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.Advance(max(0, d))
	return nil
}

// Advance moves the clock forward and wakes whoever slept until then. It does not wait until they have done anything. It panics
// if d is negative.
func (c *Clock) Advance(d time.Duration) {
	if d < 0 {
		panic("agenttest: a clock goes forward only")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.sleepers = slices.DeleteFunc(c.sleepers, func(s *sleeper) bool {
		if s.due.After(c.now) {
			return false
		}
		close(s.awake)
		return true
	})
}

// Waiters returns how many are in Sleep.
func (c *Clock) Waiters() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sleepers)
}

// WaitForSleepers returns when at least n are in Sleep, so that an Advance behind it wakes them; or with the error of ctx when that
// ends.
func (c *Clock) WaitForSleepers(ctx context.Context, n int) error {
	c.mu.Lock()
	if len(c.sleepers) >= n {
		c.mu.Unlock()
		return nil
	}
	w := &watcher{n: n, reached: make(chan struct{})}
	c.waiting = append(c.waiting, w)
	c.mu.Unlock()
	select {
	case <-w.reached:
		return nil
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waiting = slices.DeleteFunc(c.waiting, func(o *watcher) bool { return o == w })
		return ctx.Err()
	}
}
