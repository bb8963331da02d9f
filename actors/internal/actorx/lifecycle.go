package actorx

import (
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/zap"
)

// start makes an incarnation. That of a crashed one was ended when it crashed.
func (b *bridge) start(lib actor.Context) {
	b.failed = false
	b.started = time.Now()
	b.cur = &Context{b: b, lib: lib}
	b.cur.entered = true
	b.cur.actor = b.behavior()
	var err error
	if b.cur.actor == nil {
		err = errNilActor
	} else if s, ok := b.cur.actor.(Starter); ok {
		err = s.Start(b.cur)
	}
	b.cur.entered = false
	if err != nil {
		b.fail(lib, nil, fmt.Errorf("start %s: %w", b.ref.name, err))
		return
	}
	b.cur.up = true
}

// fail ends the incarnation and asks the supervisor for another. The Stop hook runs now, not after the backoff.
func (b *bridge) fail(lib actor.Context, msg any, err error) {
	c := b.cur
	c.entered = false
	if q, ok := msg.(*asked); ok {
		q.crashed(b.ref.name, err)
	}
	switch {
	case b.failed || b.halted: // a Stop hook that called Goexit, during what is below
		return
	case b.draining: // nothing is left to process: no restart
		b.logCrash("actor crashed while stopping", err)
		defer b.haltIfDrained(lib)
		b.end()
		return
	case !c.up && b.ref.isClosed(): // nothing would ever process the mailbox
		b.logCrash("actor not started while stopping", err)
		b.abandoned = true
		c.release()
		return
	}
	b.failed = true
	if time.Since(b.started) >= b.sys.backoff.Reset {
		b.crashes = 0
	}
	b.delay = b.sys.backoff.delay(b.crashes)
	b.crashes++
	b.logCrash("actor crashed", err, zap.Int("attempt", b.crashes), zap.Duration("delay", b.delay))
	defer func() {
		b.ref.mu.Lock()
		b.orphans = len(b.children)
		b.ref.mu.Unlock()
		b.stopChildren()
		lib.(actor.Supervisor).EscalateFailure(b, nil) // suspends the mailbox; not by a panic, which Goexit cannot do
	}()
	b.end()
}

// drain is the stop marker's turn: the mailbox is empty, and stays so. Children first, then the actor itself.
func (b *bridge) drain(lib actor.Context) {
	b.draining = true
	b.cur.release()
	b.stopChildren()
	b.haltIfDrained(lib)
}

func (b *bridge) stopChildren() {
	for _, r := range b.children {
		r.close()
	}
}

// haltIfDrained ends the actor when its last child has ended.
func (b *bridge) haltIfDrained(lib actor.Context) {
	if !b.draining || b.halted || len(b.children) > 0 {
		return
	}
	b.halted = true
	defer lib.Stop(lib.Self()) // also if the hook calls Goexit
	b.end()
}

// end is the end of the incarnation: its Stop hook is called, once.
func (b *bridge) end() {
	c := b.cur
	if c.ended {
		return
	}
	c.ended = true
	c.release()
	defer func() {
		if r := recover(); r != nil {
			b.logCrash("stop hook crashed", newPanicError(r))
		}
		c.entered = false
		c.actor = nil
		b.sys.deadLetters.Add(uint64(len(b.leftovers)))
		b.leftovers = nil
	}()
	if s, ok := c.actor.(Stopper); ok {
		c.entered = true
		s.Stop(c)
	}
}

func (b *bridge) logCrash(event string, err error, fields ...zap.Field) {
	fields = append(fields, zap.String("actor", b.ref.name), zap.String("kind", kind(err)))
	var p *PanicError
	if errors.As(err, &p) {
		fields = append(fields, zap.ByteString("stack", p.Stack))
	}
	b.sys.log.Warn(event, fields...)
}
