package actorx

import (
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// bridge is the library's view of one of our actors. It is the same object for all incarnations. Its methods run in the
// actor unless they say otherwise.
type bridge struct {
	sys      *System
	ref      *Ref
	pid      *actor.PID // set before the actor runs
	name     string     // the last of ref's path
	behavior Behavior

	cur       *Context
	children  map[string]*Ref
	failed    bool  // crashed, mailbox suspended until the restart
	abandoned bool  // Start failed during a stop: what is left in the mailbox is collected in leftovers
	draining  bool  // the stop has passed the mailbox
	halted    bool  // the library has been told to stop the actor
	leftovers []any // of an abandoned actor

	// kept are messages that came out of the mailbox although the actor had crashed: the library's system queue can, for
	// a moment, hide the order to suspend behind another sender's unfinished push. They are processed after the restart.
	kept []any

	crashes int           // in a row
	delay   time.Duration // before the next restart
	started time.Time     // of the current incarnation

	// Of a pending restart, guarded by ref.mu.
	inline  *inlineDispatcher // nil for an actor with goroutines of its own
	again   func()
	backoff *time.Timer
	orphans int // children of the crashed incarnation that have not ended
}

func newBridge(sys *System, parent *Ref, name string, behavior Behavior) *bridge {
	path := name
	if parent != nil {
		path = parent.name + "/" + name
	}
	b := &bridge{sys: sys, name: name, behavior: behavior}
	b.ref = &Ref{sys: sys, name: path, actor: b}
	return b
}

// props returns template for this actor.
func (b *bridge) props(template *actor.Props) *actor.Props {
	p := *template
	made := (&p).Configure(
		actor.WithProducer(func() actor.Actor { return b }),
		actor.WithOnInit(func(lib actor.Context) { b.pid = lib.Self() }),
	)
	if b.inline != nil {
		made = made.Configure(actor.WithDispatcher(b.inline))
	}
	return made
}

// uniqueID is never used twice, so no stale address can reach a later actor of the same name; the library frees the name
// before an actor has ended.
func (b *bridge) uniqueID() string { return b.sys.lib.ProcessRegistry.NextId() + ":" + b.name }

// nameOf takes the name out of the id of a child.
func (b *bridge) nameOf(child *actor.PID) string {
	_, name, _ := strings.Cut(strings.TrimPrefix(child.GetId(), b.pid.GetId()+"/"), ":")
	return name
}

// Receive is called by the library for each message and event.
func (b *bridge) Receive(lib actor.Context) {
	b.process(lib, lib.Message())
	for len(b.kept) > 0 && !b.failed {
		msg := b.kept[0]
		b.kept = b.kept[1:]
		b.process(lib, msg)
	}
}

// process lets no panic out.
func (b *bridge) process(lib actor.Context, msg any) {
	completed := false
	defer func() {
		if !completed {
			b.fail(lib, msg, newPanicError(recover()))
		}
	}()
	b.handle(lib, msg)
	completed = true
}

func (b *bridge) handle(lib actor.Context, msg any) {
	if b.failed && !isEvent(msg) {
		b.kept = append(b.kept, msg)
		return
	}
	switch m := msg.(type) {
	case *asked:
		b.told(m.msg)
	case *continuation:
		if b.alive(m.c) {
			m.c.entered = true
			m.run()
			m.c.entered = false
		}
	case *running:
		if b.alive(m.c) {
			m.c.entered = true
			m.task.Then(m.c, m.err)
			m.c.entered = false
		}
	case *Timer:
		if b.alive(m.c) && m.take() {
			b.deliver(m.msg)
		}
	case *boxed:
		b.told(m.msg)
	case *stopMarker:
		b.drain(lib)
	case *actor.Started:
		b.start(lib)
	case *actor.Restarting, *actor.Stopping: // the incarnation has been ended before
	case *actor.Stopped:
		b.sys.forget(b.ref) // before Done: its name is free then
		b.ref.end()
		b.sys.track(-1, 0) // after Done: System.Stop may return
	case *actor.Terminated:
		b.childEnded(lib, m)
	default:
		b.told(msg)
	}
}

// isEvent tells what comes through the library's system queue, which is processed in a suspended mailbox, too.
func isEvent(msg any) bool {
	switch msg.(type) {
	case *actor.Started, *actor.Restarting, *actor.Stopping, *actor.Stopped, *actor.Terminated:
		return true
	default:
		return false
	}
}

// alive says whether c may still be called.
func (b *bridge) alive(c *Context) bool { return c == b.cur && !c.ended && !b.abandoned }

func (b *bridge) told(msg any) {
	if b.abandoned {
		b.leftovers = append(b.leftovers, msg)
		return
	}
	b.deliver(msg)
}

func (b *bridge) deliver(msg any) {
	b.cur.entered = true
	b.cur.actor.Receive(b.cur, msg)
	b.cur.entered = false
}

func (b *bridge) childEnded(lib actor.Context, m *actor.Terminated) {
	name := b.nameOf(m.Who)
	child := b.children[name]
	if child == nil {
		return
	}
	delete(b.children, name)
	switch {
	case b.failed:
		b.ref.mu.Lock()
		b.orphans--
		b.restart()
		b.ref.mu.Unlock()
	case b.alive(b.cur):
		b.deliver(Terminated{Name: name, Ref: child})
	}
	b.haltIfDrained(lib)
}
