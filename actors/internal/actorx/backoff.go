package actorx

import (
	"math/rand/v2"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Backoff says how long a crashed actor waits before it is made again: Min, twice that, and so on up to Max, where it
// stays. Nothing gives up.
type Backoff struct {
	Min    time.Duration // first delay; zero means 100 ms
	Max    time.Duration // longest delay; zero means 30 s; raised to Min if below
	Jitter float64       // part of each delay, taken off at random; zero means 0.2, negative none, at most 1
	Reset  time.Duration // an incarnation that lived this long is healthy: the next crash waits Min; zero means Max
}

func (b Backoff) withDefaults() Backoff {
	if b.Min <= 0 {
		b.Min = 100 * time.Millisecond
	}
	if b.Max <= 0 {
		b.Max = 30 * time.Second
	}
	b.Max = max(b.Max, b.Min)
	if b.Jitter == 0 {
		b.Jitter = 0.2
	}
	b.Jitter = min(max(b.Jitter, 0), 1)
	if b.Reset <= 0 {
		b.Reset = b.Max
	}
	return b
}

// delay before the restart that follows `crashes` earlier ones in a row.
func (b Backoff) delay(crashes int) time.Duration {
	d := b.Min
	for range crashes {
		if d > b.Max/2 {
			d = b.Max
			break
		}
		d *= 2
	}
	return d - time.Duration(rand.Float64()*b.Jitter*float64(d)) //nolint:gosec // jitter needs no secrecy
}

// supervisor is the strategy of every actor here. The library has suspended the crashed child's mailbox; all that is
// left is to restart it later. Its own exponential strategy is linear, and its others stop the child after a few crashes.
type supervisor struct{ sys *System }

// HandleFailure runs in the parent, or for a root in the crashed actor itself.
func (s *supervisor) HandleFailure(
	_ *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any,
) {
	again := func() { sup.RestartChildren(child) }
	if b, ok := reason.(*bridge); ok {
		b.restartLater(again)
		return
	}
	s.sys.log.Error("crash outside of an actor's code") // a defect of the library or of this package
	again()
}

// restartLater arms the restart; an actor that is being stopped does not wait.
func (b *bridge) restartLater(again func()) {
	b.ref.mu.Lock()
	defer b.ref.mu.Unlock()
	b.again = again
	if b.ref.closed {
		b.restart()
		return
	}
	b.backoff = time.AfterFunc(b.delay, func() {
		b.ref.mu.Lock()
		defer b.ref.mu.Unlock()
		b.backoff = nil
		b.restart()
	})
}

// hurry ends a backoff that is under way. The caller holds ref.mu.
func (b *bridge) hurry() {
	if b.backoff != nil && b.backoff.Stop() {
		b.backoff = nil
		b.restart()
	}
}

// restart happens when the backoff is over and no child of the crashed incarnation is left; whichever comes second calls
// it with effect. The caller holds ref.mu.
func (b *bridge) restart() {
	if b.again == nil || b.backoff != nil || b.orphans > 0 {
		return
	}
	again := b.again
	b.again = nil
	b.sys.restarts.Add(1)
	again()
}
