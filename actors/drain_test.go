package actors_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors"
	"github.com/skelegent/skelegent-go/actors/effect"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestDrainFinishesWhatRunsAndRefusesTheRest(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	g := newGate()
	n := node(t, conn, actors.Config{})
	if err := n.Register("slow", g, actors.Concurrency(1)); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	d := bus.NewDispatcher(conn)
	running := dispatchAsync(t, d, "slow", protocol.Text("1"))
	wait(t, g.began)
	waiting := dispatchAsync(t, d, "slow", protocol.Text("2"))
	until(t, func() bool { return statsOf(t, conn, "slow").Waiting == 1 })
	stopped := make(chan error, 1)
	go func() { stopped <- n.Stop(testContext(t)) }()
	if r := wait(t, waiting); protocol.CodeOf(r.err) != protocol.CodeUnavailable || !protocol.IsRetryable(r.err) {
		t.Errorf("what waited got %v", r.err)
	}
	close(g.release)
	if r := wait(t, running); r.err != nil {
		t.Errorf("what ran got %v", r.err)
	}
	if err := wait(t, stopped); err != nil {
		t.Errorf("stop: %v", err)
	}
	if _, err := d.Dispatch(testContext(t), "slow", protocol.Text("3")); protocol.CodeOf(err) != protocol.CodeNotFound {
		t.Errorf("after the stop: %v", err)
	}
}

func TestDrainThatTakesTooLong(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	g := newGate() // ends with its context
	n := node(t, conn, actors.Config{})
	if err := n.Register("slow", g); err != nil {
		t.Fatal(err)
	}
	start(t, n)
	running := dispatchAsync(t, bus.NewDispatcher(conn), "slow", protocol.Text("1"))
	wait(t, g.began)
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	if err := n.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
	if r := wait(t, running); protocol.CodeOf(r.err) != protocol.CodeCancelled || protocol.IsRetryable(r.err) {
		t.Errorf("what ran got %v", r.err)
	}
}

// Two nodes share the work; one leaves in the middle, and nothing is lost or done twice.
func TestNodesShareAndLeave(t *testing.T) {
	t.Parallel()
	s, conn := server(t)
	rec := &recorder{}
	var nodes []*actors.Node
	for range 2 {
		n := node(t, connect(t, s), actors.Config{})
		if err := n.Register("op", declares(custom("mail", `1`)), actors.Concurrency(4)); err != nil {
			t.Fatal(err)
		}
		if err := n.RegisterEffect("mail", rec, effect.Options{}); err != nil {
			t.Fatal(err)
		}
		start(t, n)
		nodes = append(nodes, n)
	}
	d := bus.NewDispatcher(conn)
	const total = 400
	half := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range total / 8 {
				run := protocol.RunID(fmt.Sprintf("r%d-%d", w, i))
				for {
					ctx := protocol.WithCall(testContext(t), protocol.Call{Run: run})
					_, err := d.Dispatch(ctx, "op", protocol.Text("go"))
					if err == nil {
						break
					}
					if !protocol.IsRetryable(err) {
						t.Errorf("%s: %v", run, err)
						break
					}
				}
				if w == 0 && i == total/16 {
					close(half)
				}
			}
		})
	}
	wait(t, half)
	if err := nodes[0].Stop(testContext(t)); err != nil {
		t.Errorf("stop: %v", err)
	}
	wg.Wait()
	emptyEffects(t, conn)
	seen := map[string]int{}
	for _, id := range rec.ids() {
		seen[id]++
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s performed %d times", id, n)
		}
	}
	if len(seen) != total {
		t.Errorf("%d effects performed, want %d", len(seen), total)
	}
}

func TestStartStopStress(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	for range 20 {
		n, err := actors.NewNode(conn, actors.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Register("echo", echo); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var startErr error
		wg.Go(func() { startErr = n.Start(testContext(t)) })
		for range 2 {
			wg.Go(func() {
				if err := n.Stop(testContext(t)); err != nil {
					t.Errorf("stop: %v", err)
				}
			})
		}
		wg.Wait()
		if startErr != nil && !errors.Is(startErr, actors.ErrRunning) && !errors.Is(startErr, actors.ErrStopped) {
			t.Errorf("start: %v", startErr)
		}
		if err := n.Stop(testContext(t)); err != nil {
			t.Errorf("stop again: %v", err)
		}
	}
}

func TestStartThatFails(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	if err := conn.Ensure(testContext(t), bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	n := node(t, conn, actors.Config{Topology: bus.Topology{Replicas: 3}})
	if err := n.Register("echo", echo); err != nil {
		t.Fatal(err)
	}
	if err := n.Start(testContext(t)); protocol.CodeOf(err) != protocol.CodeConflict {
		t.Errorf("start: %v", err)
	}
	if err := n.Start(testContext(t)); !errors.Is(err, actors.ErrRunning) {
		t.Errorf("second start: %v", err)
	}
}

func TestRegisterRefuses(t *testing.T) {
	t.Parallel()
	_, conn := server(t)
	n := node(t, conn, actors.Config{})
	if err := n.Register("echo", echo); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"no token":        n.Register("No Token", echo),
		"twice":           n.Register("echo", echo),
		"nil":             n.Register("nil", nil),
		"negative":        n.Register("neg", echo, actors.Concurrency(-1)),
		"schema":          n.Register("schema", echo, actors.Schemas([]byte("{"), nil)),
		"built-in effect": n.RegisterEffect("log", &recorder{}, effect.Options{}),
		"memory":          n.RegisterEffect("memory", &recorder{}, effect.Options{}),
		"nil executor":    n.RegisterEffect("x", nil, effect.Options{}),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	start(t, n)
	if err := n.Register("late", echo); !errors.Is(err, actors.ErrRunning) {
		t.Errorf("after the start: %v", err)
	}
}
