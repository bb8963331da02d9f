package actorx

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Context is what an incarnation sees of the system. It is valid only inside Receive, Start, Stop and continuations of
// Async: anywhere else its methods panic, and in another goroutine that is a reported race. Copy Self out of it instead.
type Context struct {
	b       *bridge
	lib     actor.Context
	actor   Actor // nil when ended
	entered bool  // the actor's code is running
	up      bool  // Start is done
	ended   bool  // the Stop hook has begun

	ctx    context.Context //nolint:containedctx // it is the incarnation's lifetime; made by the first Async
	cancel context.CancelFunc

	mu     sync.Mutex // Timer.Cancel may come from anywhere
	timers map[*Timer]struct{}
}

func (c *Context) check() {
	if !c.entered {
		panic("actorx: Context used outside of its actor")
	}
}

// Self returns the actor's own address, which may leave the actor.
func (c *Context) Self() *Ref {
	c.check()
	return c.b.ref
}

// Spawn starts a child. Only its parent can, and only the parent knows its address unless it hands it on. The parent is
// told Terminated when the child has ended. Spawn fails with ErrNameTaken while another child of that name has not
// ended, and with ErrStopped once the actor's stop has passed its mailbox. It does not wait for the child's Start. A
// crash of the parent ends its children.
func (c *Context) Spawn(name string, behavior Behavior) (*Ref, error) {
	c.check()
	switch {
	case name == "":
		return nil, fmt.Errorf("spawn: %w", ErrName)
	case c.ended || c.b.draining || c.b.abandoned:
		return nil, fmt.Errorf("spawn %s: %w", name, ErrStopped)
	case c.b.children[name] != nil:
		return nil, fmt.Errorf("spawn %s: %w", name, ErrNameTaken)
	}
	child := newBridge(c.b.sys, c.b.ref, name, behavior)
	c.b.sys.track(1, 0)
	if _, err := c.lib.SpawnNamed(child.props(c.b.sys.asChild), child.uniqueID()); err != nil {
		c.b.sys.track(-1, 0)
		return nil, fmt.Errorf("spawn %s: %w", name, err)
	}
	if c.b.children == nil {
		c.b.children = map[string]*Ref{}
	}
	c.b.children[name] = child.ref
	return child.ref, nil
}

// Stop stops a child: all it was told before is processed, what comes later is refused. It reports false, and does
// nothing, if the actor has no such child (any more).
func (c *Context) Stop(child *Ref) bool {
	c.check()
	name, _ := strings.CutPrefix(child.name, c.b.ref.name+"/")
	if c.b.children[name] != child {
		return false
	}
	child.close()
	return true
}

// StopSelf stops the actor as its parent would.
func (c *Context) StopSelf() {
	c.check()
	c.b.ref.close()
}

// Leftovers returns, within Stop, the messages that were accepted but never processed: there are some only if the actor
// was being stopped and its Start failed. What is not fetched counts as dead letters.
func (c *Context) Leftovers() []any {
	c.check()
	l := c.b.leftovers
	c.b.leftovers = nil
	return l
}

// After tells the actor msg in d, unless the timer is cancelled, the incarnation ends, or a stop begins before.
func (c *Context) After(d time.Duration, msg any) *Timer {
	c.check()
	t := &Timer{c: c, msg: msg}
	if c.ended || c.b.draining {
		t.state.Store(timerOver)
		return t
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timers == nil {
		c.timers = map[*Timer]struct{}{}
	}
	c.timers[t] = struct{}{}
	t.timer = time.AfterFunc(d, t.fire)
	return t
}

// release cancels what would otherwise outlive the incarnation.
func (c *Context) release() {
	if c.cancel != nil {
		c.cancel()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for t := range c.timers {
		t.state.Store(timerOver)
		t.timer.Stop()
	}
	c.timers = nil
}
