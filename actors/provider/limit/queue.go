package limit

import (
	"container/list"
	"time"
)

// queue is one model: what is left of its limits and who waits. The mutex of its Local guards it.
//
// Only the first in line looks at the limits, and takes its place itself; so a place never goes to somebody who has left,
// and whoever is not first has nothing to do but wait to be woken.
type queue struct {
	requests, tokens bucket
	concurrent       int // no limit if not positive
	running          int
	paused           time.Time // until then no call goes out
	waiting          list.List // of *waiter
	queued           int       // sum of their tokens
}

type waiter struct {
	tokens int
	wake   chan struct{} // holds one
	place  *list.Element
}

func newQueue(l Limits) *queue {
	return &queue{
		requests:   bucket{perMinute: l.Requests},
		tokens:     bucket{perMinute: l.Tokens},
		concurrent: l.Concurrent,
	}
}

// delay is how long the limits of time make a call wait behind ahead calls with that many tokens.
func (q *queue) delay(now time.Time, ahead, aheadTokens, tokens int) time.Duration {
	return max(0, q.paused.Sub(now), q.requests.wait(now, ahead, 1), q.tokens.wait(now, aheadTokens, tokens))
}

// enter puts a call at the end and returns how long the limits of time will make it wait at least.
func (q *queue) enter(now time.Time, tokens int) (*waiter, time.Duration) {
	delay := q.delay(now, q.waiting.Len(), q.queued, tokens)
	w := &waiter{tokens: tokens, wake: make(chan struct{}, 1)}
	w.place = q.waiting.PushBack(w)
	q.queued += tokens
	return w, delay
}

// leave takes a call out of the line, whether it goes on or gives up, and wakes who is first now.
func (q *queue) leave(w *waiter) {
	q.waiting.Remove(w.place)
	q.queued -= w.tokens
	q.wakeFirst()
}

// try lets w go out if it is its turn. If not, it returns how long the limits of time still last, 0 if something else has
// to happen first, of which w will be woken.
func (q *queue) try(now time.Time, w *waiter) (ok bool, delay time.Duration) {
	if q.waiting.Front() != w.place {
		return false, 0
	}
	if delay = q.delay(now, 0, 0, w.tokens); delay > 0 {
		return false, delay
	}
	if q.concurrent > 0 && q.running >= q.concurrent {
		return false, 0
	}
	q.running++
	q.requests.take(now, 1)
	q.tokens.take(now, w.tokens)
	q.leave(w)
	return true, 0
}

// done ends a call that went out.
func (q *queue) done(now time.Time, reserved int, u Usage) {
	q.running--
	if u.Counted {
		q.tokens.take(now, clamp(u.Tokens)-reserved)
	}
	q.wakeFirst()
}

// pause lets no call out for d and reports whether that is news. All who wait are woken, to see whether they still can.
func (q *queue) pause(now time.Time, d time.Duration) bool {
	until := now.Add(d)
	if !until.After(q.paused) {
		return false
	}
	news := !q.paused.After(now)
	q.paused = until
	for e := q.waiting.Front(); e != nil; e = e.Next() {
		wake(e)
	}
	return news
}

func (q *queue) wakeFirst() {
	if first := q.waiting.Front(); first != nil {
		wake(first)
	}
}

func wake(e *list.Element) {
	w, ok := e.Value.(*waiter)
	if !ok {
		return // there are only waiters
	}
	select {
	case w.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// untouched reports whether a new queue would be the same.
func (q *queue) untouched(now time.Time) bool {
	return q.running == 0 && q.waiting.Len() == 0 && !q.paused.After(now) &&
		q.requests.untouched(now) && q.tokens.untouched(now)
}

// maxTokens bounds the counts of one call, which come from servers, so that sums of them do not overflow.
const maxTokens = 1 << 31

func clamp(tokens int) int { return min(max(0, tokens), maxTokens) }
