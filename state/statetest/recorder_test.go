package statetest_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/memory"
	"github.com/skelegent/skelegent-go/state/statetest"
)

func TestMain(m *testing.M) {
	statetest.SetPatience(2 * time.Second)
	goleak.VerifyTestMain(m)
}

// recorder is a statetest.T that only remembers.
type recorder struct {
	ctx    context.Context
	failed atomic.Bool
}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Errorf(string, ...any)    { r.failed.Store(true) }
func (r *recorder) Fatalf(string, ...any)    { r.failed.Store(true); runtime.Goexit() }

// failing returns the names of the clauses that a store fails, sorted.
func failing(ctx context.Context, open func() protocol.StateStore) []string {
	var mu sync.Mutex
	var names []string
	var wg sync.WaitGroup
	for _, c := range statetest.Clauses() {
		s := open()
		if c.Asks != nil && c.Asks(s) != "" {
			continue
		}
		wg.Go(func() {
			r := &recorder{ctx: ctx}
			done := make(chan struct{})
			go func() { // a goroutine that Fatalf may end
				defer close(done)
				c.Check(r, s)
			}()
			<-done
			if r.failed.Load() {
				mu.Lock()
				names = append(names, c.Name)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(names)
	return names
}

func TestASoundStoreFailsNothing(t *testing.T) {
	t.Parallel()
	if got := failing(t.Context(), func() protocol.StateStore { return memory.New(memory.Config{}) }); len(got) != 0 {
		t.Errorf("fails %v", got)
	}
}

func TestEachBrokenStoreFailsItsClauseAndNoOther(t *testing.T) {
	t.Parallel()
	for name, b := range brokenStores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, want := failing(t.Context(), b), []string{name}; !slices.Equal(got, want) {
				t.Errorf("fails %v, want %v", got, want)
			}
		})
	}
}

func TestEachClauseHasAStoreThatBreaksIt(t *testing.T) {
	t.Parallel()
	broken := brokenStores()
	names := map[string]bool{}
	for _, c := range statetest.Clauses() {
		if names[c.Name] {
			t.Errorf("two clauses are called %s", c.Name)
		}
		names[c.Name] = true
		if broken[c.Name] == nil {
			t.Errorf("no store breaks %s", c.Name)
		}
	}
	for name := range broken {
		if !names[name] {
			t.Errorf("there is no clause %s", name)
		}
	}
}

// TestRunSkipsWhatAStoreCannotBeAsked runs a store that is neither a Graph nor an OptionReader.
func TestRunSkipsWhatAStoreCannotBeAsked(t *testing.T) {
	t.Parallel()
	statetest.Run(t, func(testing.TB) protocol.StateStore {
		return struct{ protocol.StateStore }{memory.New(memory.Config{})}
	})
}
