package actorx

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/zap"
)

// Config of a System. The zero value works.
type Config struct {
	Logger  *zap.Logger // nil means none; payloads are never logged
	Backoff Backoff     // between the restarts of a crashed actor
}

// System owns an actor system, its root actors and all goroutines started through it. It is safe for concurrent use.
type System struct {
	log     *zap.Logger
	backoff Backoff
	lib     *actor.ActorSystem
	send    *actor.RootContext
	asRoot  *actor.Props // templates: what all root actors have in common,
	asChild *actor.Props // and all children

	deadLetters, restarts, lateReplies atomic.Uint64

	workers workers

	mu       sync.Mutex
	roots    map[string]*Ref
	actors   int
	tasks    int
	stopping bool
	idle     chan struct{} // closed when stopping and nothing is left
}

// Stats are counted since NewSystem, except for Actors and Tasks, which are those of now.
type Stats struct {
	Actors      int    // spawned and not ended
	Tasks       int    // goroutines started by Async
	Restarts    uint64 // after crashes
	DeadLetters uint64 // messages refused by Tell, or accepted and then neither processed nor taken by Leftovers
	LateReplies uint64 // answers ignored because there was one already, or because nobody waited any more
}

// NewSystem returns a system without actors. It starts no goroutine.
func NewSystem(cfg Config) *System {
	log := cfg.Logger
	if log == nil {
		log = zap.NewNop()
	}
	s := &System{
		log:     log.Named("actorx"),
		backoff: cfg.Backoff.withDefaults(),
		roots:   map[string]*Ref{},
		idle:    make(chan struct{}),
	}
	// Throttled to nothing: each dead letter would be logged with its message, and keep a goroutine for the interval.
	s.lib = actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return newSlog(s.log) }),
		actor.WithDeadLetterThrottleCount(0),
		actor.WithDeadLetterThrottleInterval(1),
	)
	s.lib.EventStream.Subscribe(func(evt any) {
		if _, ok := evt.(*actor.DeadLetterEvent); ok {
			s.deadLetters.Add(1)
		}
	})
	s.send = s.lib.Root
	strategy := &supervisor{sys: s}
	s.asChild = (&actor.Props{}).Configure(actor.WithDispatcher(&dispatcher{log: s.log}), actor.WithSupervisor(strategy))
	root := *s.asChild
	s.asRoot = (&root).Configure(actor.WithGuardian(strategy))
	return s
}

// Spawn starts a root actor. It fails with ErrNameTaken while another root of that name has not ended, and with
// ErrStopped after Stop. It does not wait for the actor's Start.
func (s *System) Spawn(name string, behavior Behavior, opts ...Option) (*Ref, error) {
	if name == "" {
		return nil, fmt.Errorf("spawn: %w", ErrName)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return nil, fmt.Errorf("spawn %s: %w", name, ErrStopped)
	}
	if s.roots[name] != nil {
		return nil, fmt.Errorf("spawn %s: %w", name, ErrNameTaken)
	}
	b := newBridge(s, nil, name, behavior)
	for _, o := range opts {
		o(b)
	}
	if _, err := s.send.SpawnNamed(b.props(s.asRoot), b.uniqueID()); err != nil {
		return nil, fmt.Errorf("spawn %s: %w", name, err)
	}
	s.roots[name] = b.ref
	s.actors++
	return b.ref, nil
}

// Stop stops all root actors, which stop their children, and waits until every actor and every goroutine of Async has
// ended. Of each actor, everything told before is processed; from then on Tell is refused. If ctx ends first, the error
// wraps its cause and says what is still running; the stop goes on and Stop may be called again. It is idempotent and
// works with nothing spawned. It must not be called from within an actor: that one would wait for itself.
func (s *System) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.stopping = true
	s.checkIdle()
	roots := make([]*Ref, 0, len(s.roots))
	for _, r := range s.roots {
		roots = append(roots, r)
	}
	s.mu.Unlock()
	for _, r := range roots {
		r.close()
	}
	select {
	case <-s.idle:
		s.workers.wait()
		return nil
	default:
	}
	select {
	case <-s.idle:
		s.workers.wait()
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop actors: %s: %w", s.running(), context.Cause(ctx))
	}
}

// Stats returns the counters.
func (s *System) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{
		Actors:      s.actors,
		Tasks:       s.tasks,
		Restarts:    s.restarts.Load(),
		DeadLetters: s.deadLetters.Load(),
		LateReplies: s.lateReplies.Load(),
	}
}

func (s *System) running() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.roots))
	for n := range s.roots {
		names = append(names, n)
	}
	slices.Sort(names)
	if len(names) > 10 {
		names = append(names[:10], "...")
	}
	return fmt.Sprintf("still running: %d actors (roots: %s), %d tasks", s.actors, strings.Join(names, ", "), s.tasks)
}

// track counts actors and tasks in and out.
func (s *System) track(actors, tasks int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.actors += actors
	s.tasks += tasks
	s.checkIdle()
}

// forget frees the name of a root actor.
func (s *System) forget(r *Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.roots[r.name] == r {
		delete(s.roots, r.name)
	}
}

// checkIdle can be true but once: only actors start actors and tasks, and roots are refused when stopping.
func (s *System) checkIdle() {
	if !s.stopping || s.actors > 0 || s.tasks > 0 {
		return
	}
	select {
	case <-s.idle:
	default:
		s.workers.stop()
		close(s.idle)
	}
}
