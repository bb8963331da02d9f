package actorx

import (
	"sync/atomic"
	"time"
)

// Timer is a message to come. The library's own timers and receive timeouts have races.
type Timer struct {
	c     *Context
	msg   any
	timer *time.Timer
	state atomic.Int32
}

const (
	timerPending int32 = iota
	timerOver          // delivered or cancelled
)

// Cancel reports whether it came in time. After true the message is never delivered, even if it is in the mailbox
// already. It is safe from any goroutine.
func (t *Timer) Cancel() bool {
	if !t.take() {
		return false
	}
	t.timer.Stop()
	return true
}

// fire runs in the timer's goroutine. Whether the message is still wanted is decided when its turn comes.
func (t *Timer) fire() {
	if t.state.Load() == timerPending {
		t.c.b.ref.push(t, true)
	}
}

// take makes sure that either Cancel or the delivery wins.
func (t *Timer) take() bool {
	if !t.state.CompareAndSwap(timerPending, timerOver) {
		return false
	}
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	delete(t.c.timers, t)
	return true
}
