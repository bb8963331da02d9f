package actorx

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Ask tells r the message that build makes around a Reply, and waits for its answer. The first answer wins. It ends with
// an error wrapping ErrStopped when the actor ends without an answer or has ended, one wrapping *PanicError when the
// actor crashes on this very message, one wrapping the cause when ctx ends, and the error itself given to Reply.Fail.
// An actor that keeps the Reply for later and crashes in between leaves Ask to its ctx.
// Ask blocks: within an actor it belongs into Async.
func Ask[T any](ctx context.Context, r *Ref, build func(reply Reply[T]) any) (T, error) {
	var none T
	if ctx.Err() != nil {
		return none, fmt.Errorf("ask %s: %w", r.name, context.Cause(ctx))
	}
	q := &question[T]{asked: asked{sys: r.sys, ready: make(chan struct{})}}
	q.msg = build(Reply[T]{q})
	if !r.push(&q.asked, true) {
		r.sys.deadLetters.Add(1)
		return none, fmt.Errorf("ask %s: %w", r.name, ErrStopped)
	}
	var err error
	select {
	case <-q.ready:
		return q.value, q.err
	case <-r.Done():
		err = ErrStopped
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if !q.answered.CompareAndSwap(false, true) { // an answer came at the same time: it counts
		<-q.ready
		return q.value, q.err
	}
	return none, fmt.Errorf("ask %s: %w", r.name, err)
}

// Reply answers one Ask, at most once and from any goroutine. The zero Reply takes answers and drops them, for messages
// nobody waits for.
type Reply[T any] struct{ q *question[T] }

// Send answers with v. It reports whether that was the first answer and somebody was still waiting.
func (p Reply[T]) Send(v T) bool {
	if p.q == nil || !p.q.take() {
		return false
	}
	p.q.value = v
	close(p.q.ready)
	return true
}

// Fail answers with err, as Send does; a nil err is Send of the zero value.
func (p Reply[T]) Fail(err error) bool {
	if p.q == nil || !p.q.take() {
		return false
	}
	p.q.err = err
	close(p.q.ready)
	return true
}

// asked is the part of a question that travels through the mailbox.
type asked struct {
	sys      *System
	msg      any
	answered atomic.Bool   // whoever sets it may write the answer
	ready    chan struct{} // closed when the answer is written
	err      error
}

type question[T any] struct {
	asked
	value T
}

func (a *asked) take() bool {
	if a.answered.CompareAndSwap(false, true) {
		return true
	}
	a.sys.lateReplies.Add(1)
	return false
}

// crashed answers for an actor that cannot do so any more.
func (a *asked) crashed(name string, err error) {
	if a.answered.CompareAndSwap(false, true) {
		a.err = fmt.Errorf("ask %s: %w", name, err)
		close(a.ready)
	}
}
