package actorx

import (
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// Option changes how an actor is run.
type Option func(*bridge)

// Inline runs the actor in the goroutine of whoever tells it something, where it is idle, and so saves two switches of
// goroutines a message. It is for actors whose Receive is short and never blocks: a Tell may take as long as what is in the
// mailbox just then. A runtime.Goexit in its Receive would end the goroutine of the teller.
func Inline() Option {
	return func(b *bridge) { b.inline = &inlineDispatcher{next: &dispatcher{log: b.sys.log}} }
}

// inlineDispatcher leaves a mailbox that has to run to the push that filled it, and gives it a goroutine where something
// else did: the library's own events.
type inlineDispatcher struct {
	next    *dispatcher
	pushing atomic.Int32
	mailbox atomic.Pointer[func()]
}

var _ actor.Dispatcher = (*inlineDispatcher)(nil)

// Schedule implements actor.Dispatcher. A mailbox is scheduled once until it has run, so one slot is enough. Either it
// sees no push, or the push that it sees comes by after it.
func (d *inlineDispatcher) Schedule(mailbox func()) {
	d.mailbox.Store(&mailbox)
	if d.pushing.Load() > 0 {
		return
	}
	if m := d.mailbox.Swap(nil); m != nil {
		d.next.Schedule(*m)
	}
}

// Throughput implements actor.Dispatcher.
func (d *inlineDispatcher) Throughput() int { return d.next.Throughput() }

// begin precedes a push; run follows it, outside of all locks.
func (d *inlineDispatcher) begin() { d.pushing.Add(1) }

func (d *inlineDispatcher) run() {
	d.pushing.Add(-1)
	if m := d.mailbox.Swap(nil); m != nil {
		d.next.here(*m)
	}
}
