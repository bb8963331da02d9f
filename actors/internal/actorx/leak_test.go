package actorx_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/skelegent/skelegent-go/actors/internal/actorx"
)

// Known race 3 of the library: it registers a name before the mailbox works, so a sender by name can wedge the new actor. Here
// nobody has the address before the actor can be told, not even the actor itself from its Start.
func TestRaceSpawnAndSend(t *testing.T) {
	t.Parallel()
	sys := newSystem(t, actorx.Config{})
	refs := make(chan *actorx.Ref, 100)
	var senders sync.WaitGroup
	for range 2 {
		senders.Go(func() {
			for r := range refs {
				r.Tell("from outside")
			}
		})
	}
	var spawners sync.WaitGroup
	for s := range 2 {
		spawners.Go(func() {
			for i := range 2500 {
				name := fmt.Sprintf("%d-%d", s, i%50)
				told := make(chan any, 2)
				r, err := sys.Spawn(name, hooks{
					start: func(c *actorx.Context) error {
						refs <- c.Self() // told before Spawn has returned, perhaps
						c.Self().Tell("from Start")
						return nil
					},
					receive: func(c *actorx.Context, msg any) {
						if told <- msg; len(told) == 2 {
							c.StopSelf()
						}
					},
				}.behavior())
				if err != nil {
					t.Errorf("spawn %s: %v", name, err)
					return
				}
				select {
				case <-r.Done():
				case <-time.After(patience):
					t.Errorf("%s is deaf: told %d of 2", name, len(told))
					return
				}
			}
		})
	}
	spawners.Wait()
	close(refs)
	senders.Wait()
	// By name, many want to be the one.
	for range 3000 {
		var wg sync.WaitGroup
		won := make(chan *actorx.Ref, 4)
		for range 4 {
			wg.Go(func() {
				r, err := sys.Spawn("the one", hooks{}.behavior())
				if err == nil {
					won <- r
				} else if !errors.Is(err, actorx.ErrNameTaken) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(won) != 1 {
			t.Fatalf("%d of the same name", len(won))
		}
		r := <-won
		do(t, r, func(c *actorx.Context) { c.StopSelf() })
		await(t, "end", r.Done())
	}
}

func TestDeadActorIsNotPinned(t *testing.T) {
	t.Parallel()
	sys := newSystem(t, actorx.Config{})
	type state struct {
		hooks
		memory [1 << 20]byte
	}
	self := make(chan *state, 2)
	made := make(chan weak.Pointer[state], 2)
	behavior := func() actorx.Actor {
		s := &state{}
		s.memory[0] = 1
		made <- weak.Make(s)
		self <- s
		return s
	}
	keep := func(c *actorx.Context) { c.After(time.Hour, <-self) } // a timer that would hold the state
	root := spawn(t, sys, "root", behavior)
	var child *actorx.Ref
	parent := spawn(t, sys, "parent", hooks{}.behavior())
	do(t, parent, func(c *actorx.Context) {
		var err error
		if child, err = c.Spawn("child", behavior); err != nil {
			t.Error(err)
			return
		}
		child.Tell(keep)
		c.Stop(child)
	})
	root.Tell(keep)
	do(t, root, func(c *actorx.Context) { c.StopSelf() })
	await(t, "end", root.Done())
	await(t, "end", child.Done())
	deadline := time.Now().Add(patience)
	for range 2 {
		for p := <-made; p.Value() != nil; runtime.GC() {
			if time.Now().After(deadline) {
				t.Fatal("the Ref keeps the actor in memory")
			}
		}
	}
	if root.Tell(1) || child.Tell(1) {
		t.Error("a dead actor was told")
	}
}

func TestSpawnStopDoesNotLeak(t *testing.T) {
	t.Parallel()
	total := 100_000
	if testing.Short() || raceEnabled {
		total = 10_000
	}
	sys := newSystem(t, actorx.Config{})
	ended := make(chan struct{}, 1000)
	parent := spawn(t, sys, "parent", hooks{receive: func(_ *actorx.Context, msg any) {
		if _, ok := msg.(actorx.Terminated); ok {
			ended <- struct{}{}
		}
	}}.behavior())
	for range total / 1000 {
		do(t, parent, func(c *actorx.Context) {
			for i := range 1000 {
				child, err := c.Spawn(fmt.Sprint(i), receive(func(*actorx.Context, any) {}))
				if err != nil {
					t.Error(err)
					return
				}
				child.Tell(i)
				c.Stop(child)
			}
		})
		for range 1000 {
			await(t, "child", ended)
		}
	}
	if s := sys.Stats(); s.Actors != 1 || s.DeadLetters != 0 {
		t.Errorf("got %+v", s)
	}
}
