package actorx

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// Ref is the address of one actor, across its restarts. It is safe for concurrent use. It outlives the actor without
// keeping any of its memory, and never comes to mean a later actor of the same name.
type Ref struct {
	sys  *System
	name string // path: parent/child

	// mu is the gate: told under the read lock, closed under the write lock. So a message is either ahead of the stop
	// marker in the mailbox or refused; the library alone would accept what it then drops.
	mu     sync.RWMutex
	closed bool
	actor  *bridge       // nil when ended
	done   chan struct{} // made on demand
}

// stopMarker is the last message of an actor.
type stopMarker struct{}

// boxed hides a message that the library's mailbox would misunderstand.
type boxed struct{ msg any }

// Name returns the path of names from the root actor to this one.
func (r *Ref) Name() string { return r.name }

// Tell puts msg into the actor's mailbox and never blocks; the mailbox is unbounded, so the intake has to be limited by
// the caller. True means that the actor will process it, or find it in Leftovers should it be stopped while its Start
// fails. False means that it is stopping or has ended, and surely will not see it. Messages of one goroutine keep their
// order.
func (r *Ref) Tell(msg any) bool {
	switch msg.(type) {
	case nil, actor.MessageBatch: // nil would spin the mailbox for ever, a batch would arrive in parts and as a whole
		msg = &boxed{msg}
	}
	if r.push(msg, true) {
		return true
	}
	r.sys.deadLetters.Add(1)
	return false
}

// Done is closed when the actor has ended; the name of a root actor is free then, that of a child when its parent is told
// Terminated. Goroutines of its Async may still be about to return.
func (r *Ref) Done() <-chan struct{} {
	r.mu.RLock()
	done := r.done
	r.mu.RUnlock()
	if done != nil {
		return done
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done == nil {
		r.done = make(chan struct{})
		if r.actor == nil {
			close(r.done)
		}
	}
	return r.done
}

// push enqueues msg; what is not gated still gets in behind the stop marker.
func (r *Ref) push(msg any, gated bool) bool {
	r.mu.RLock()
	b := r.actor
	if b == nil || gated && r.closed {
		r.mu.RUnlock()
		return false
	}
	inline := b.inline
	if inline == nil {
		b.sys.send.Send(b.pid, msg)
		r.mu.RUnlock()
		return true
	}
	inline.begin()
	b.sys.send.Send(b.pid, msg)
	r.mu.RUnlock()
	inline.run()
	return true
}

// close shuts the gate and puts the stop marker behind all that was told. It is idempotent.
func (r *Ref) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.closed = true
	r.actor.sys.send.Send(r.actor.pid, &stopMarker{})
	r.actor.hurry()
}

func (r *Ref) isClosed() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.closed
}

// end lets go of the actor: whoever keeps the Ref keeps nothing else.
func (r *Ref) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.actor = nil
	if r.done != nil {
		close(r.done)
	}
}
