package actorx_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/internal/actorx"
)

func TestTellKeepsOrder(t *testing.T) {
	t.Parallel()
	const senders, each = 8, 2000
	type numbered struct{ sender, n int }
	next := make([]int, senders)
	got := 0
	done := make(chan error, 1)
	r := spawn(t, newSystem(t, actorx.Config{}), "a", receive(func(_ *actorx.Context, msg any) {
		m := msg.(numbered)
		if m.n != next[m.sender] {
			panic(fmt.Sprintf("sender %d: got %d, want %d", m.sender, m.n, next[m.sender]))
		}
		next[m.sender]++
		if got++; got == senders*each {
			done <- nil
		}
	}))
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				r.Tell(numbered{s, i})
			}
		})
	}
	wg.Wait()
	await(t, "all messages", done)
}

type batch []any

func (b batch) GetMessages() []any { return b }

func TestTellAnyValue(t *testing.T) {
	t.Parallel()
	var got []any
	done := make(chan struct{})
	r := spawn(t, newSystem(t, actorx.Config{}), "a", receive(func(_ *actorx.Context, msg any) {
		if got = append(got, msg); len(got) == 4 {
			close(done)
		}
	}))
	want := []any{nil, batch{1, 2}, "x", []byte(nil)}
	for _, m := range want {
		r.Tell(m)
	}
	await(t, "messages", done)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestTellAfterStop(t *testing.T) {
	t.Parallel()
	sys := newSystem(t, actorx.Config{})
	r := spawn(t, sys, "a", receive(func(*actorx.Context, any) {}))
	stop(t, sys)
	await(t, "end", r.Done())
	if r.Tell("x") {
		t.Error("Tell after the end: got true")
	}
	if got := sys.Stats().DeadLetters; got != 1 {
		t.Errorf("dead letters: got %d, want 1", got)
	}
	if _, err := sys.Spawn("b", receive(nil)); !errors.Is(err, actorx.ErrStopped) {
		t.Errorf("Spawn after Stop: got %v, want ErrStopped", err)
	}
}

// Tell is true exactly for what is processed, whenever the stop comes.
func TestTellTrueMeansProcessed(t *testing.T) {
	t.Parallel()
	for range 150 {
		sys := actorx.NewSystem(actorx.Config{})
		processed := 0
		r := spawn(t, sys, "a", receive(func(*actorx.Context, any) { processed++ }))
		var accepted, refused atomic.Uint64
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 200 {
					if r.Tell(1) {
						accepted.Add(1)
					} else {
						refused.Add(1)
					}
				}
			})
		}
		stop(t, sys)
		wg.Wait()
		if uint64(processed) != accepted.Load() {
			t.Fatalf("accepted %d, processed %d", accepted.Load(), processed)
		}
		if got := sys.Stats().DeadLetters; got != refused.Load() {
			t.Fatalf("refused %d, dead letters %d", refused.Load(), got)
		}
	}
}

func TestSpawnNames(t *testing.T) {
	t.Parallel()
	sys := newSystem(t, actorx.Config{})
	idle := receive(func(*actorx.Context, any) {})
	r := spawn(t, sys, "deadletter", hooks{}.behavior()) // a name the library uses itself
	if _, err := sys.Spawn("deadletter", idle); !errors.Is(err, actorx.ErrNameTaken) {
		t.Errorf("taken: got %v", err)
	}
	if _, err := sys.Spawn("", idle); !errors.Is(err, actorx.ErrName) {
		t.Errorf("empty: got %v", err)
	}
	do(t, r, func(c *actorx.Context) {
		child, err := c.Spawn("a/b:c", idle)
		if err != nil || child.Name() != "deadletter/a/b:c" {
			t.Errorf("got %v, %v", child.Name(), err)
		}
		if _, err := c.Spawn("a/b:c", idle); !errors.Is(err, actorx.ErrNameTaken) {
			t.Errorf("taken: got %v", err)
		}
		if _, err := c.Spawn("", idle); !errors.Is(err, actorx.ErrName) {
			t.Errorf("empty: got %v", err)
		}
		if c.Self() != r || c.Stop(r) {
			t.Error("Self is its own child")
		}
		c.StopSelf()
	})
	await(t, "end", r.Done())
	spawn(t, sys, "deadletter", idle)
}

func TestContextIsNotToBeKept(t *testing.T) {
	t.Parallel()
	var kept *actorx.Context
	r := spawn(t, newSystem(t, actorx.Config{}), "a", hooks{}.behavior())
	do(t, r, func(c *actorx.Context) { kept = c })
	do(t, r, func(*actorx.Context) {}) // the first Receive has surely returned
	stopped := make(chan struct{})
	r.Tell(func(c *actorx.Context) { c.StopSelf(); close(stopped) })
	await(t, "stop", stopped)
	await(t, "end", r.Done())
	defer func() {
		if recover() == nil {
			t.Error("a Context outside of its actor did not panic")
		}
	}()
	kept.Self()
}
