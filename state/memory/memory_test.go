package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/memory"
	"github.com/skelegent/skelegent-go/state/statetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	statetest.Run(t, func(testing.TB) protocol.StateStore { return memory.New(memory.Config{}) })
}

func TestConformanceBounded(t *testing.T) {
	t.Parallel()
	statetest.Run(t, func(testing.TB) protocol.StateStore { return memory.New(memory.Config{Bound: 10_000}) })
}

var scope = protocol.InSession("s")

func write(t *testing.T, s *memory.Store, key string, opts protocol.StoreOptions) {
	t.Helper()
	if err := s.Write(t.Context(), scope, key, json.RawMessage(`"v"`), opts); err != nil {
		t.Fatal(err)
	}
}

func lifetime(l protocol.Lifetime) protocol.StoreOptions { return protocol.StoreOptions{Lifetime: &l} }

func list(t *testing.T, s *memory.Store) []string {
	t.Helper()
	keys, err := s.List(t.Context(), scope, "")
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestBoundEvictsWhatWasNotUsedForLongest(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Config{Bound: 2})
	plain := protocol.StoreOptions{}
	write(t, s, "a", plain)
	write(t, s, "b", plain)
	if _, err := s.Read(t.Context(), scope, "a"); err != nil {
		t.Fatal(err)
	}
	write(t, s, "c", plain)
	if got, want := list(t, s), []string{"a", "c"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := s.Write(t.Context(), protocol.GlobalScope(), "d", json.RawMessage(`1`), plain); err != nil {
		t.Fatal(err)
	}
	if got, want := list(t, s), []string{"c"}; !slices.Equal(got, want) {
		t.Errorf("the bound is not over all scopes: got %v, want %v", got, want)
	}
}

func TestDurableIsNeverEvicted(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Config{Bound: 1})
	write(t, s, "kept", lifetime(protocol.LifetimeDurable))
	write(t, s, "kept", protocol.StoreOptions{}) // says nothing, so it stays durable
	write(t, s, "freed", lifetime(protocol.LifetimeDurable))
	write(t, s, "freed", lifetime(protocol.LifetimeSession))
	for i := range 5 {
		write(t, s, fmt.Sprint(i), protocol.StoreOptions{})
	}
	if got, want := list(t, s), []string{"4", "kept"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTransientIsReadableUntilCleared(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Config{})
	write(t, s, "t", lifetime(protocol.LifetimeTransient))
	write(t, s, "d", lifetime(protocol.LifetimeDurable))
	if v, err := s.Read(t.Context(), scope, "t"); string(v) != `"v"` || err != nil {
		t.Errorf("got %s, %v", v, err)
	}
	if err := s.ClearTransient(t.Context(), scope); err != nil {
		t.Fatal(err)
	}
	if got, want := list(t, s), []string{"d"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTimeToLiveEndsByTheClock(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000, 0)
	s := memory.New(memory.Config{Now: func() time.Time { return now }})
	ttl := protocol.MillisOf(time.Second)
	write(t, s, "k", protocol.StoreOptions{TTL: &ttl})
	now = now.Add(time.Second - 1)
	if v, err := s.Read(t.Context(), scope, "k"); v == nil || err != nil {
		t.Fatalf("just before the end: got %s, %v", v, err)
	}
	opts, found, err := s.Options(t.Context(), scope, "k")
	if err != nil || !found || opts.TTL == nil || *opts.TTL > 1000 {
		t.Errorf("options: got %+v, %v, %v", opts, found, err)
	}
	now = now.Add(1)
	if got := list(t, s); len(got) != 0 {
		t.Errorf("list: got %v", got)
	}
	if v, err := s.Read(t.Context(), scope, "k"); v != nil || err != nil {
		t.Errorf("read: got %s, %v", v, err)
	}
	zero := protocol.Millis(0)
	write(t, s, "z", protocol.StoreOptions{TTL: &zero})
	if got := list(t, s); len(got) != 0 {
		t.Errorf("a TTL of 0: got %v", got)
	}
}

func TestExpiredValuesDoNotPileUp(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000, 0)
	s := memory.New(memory.Config{Now: func() time.Time { return now }})
	ttl := protocol.MillisOf(time.Millisecond)
	for i := range 10_000 {
		write(t, s, fmt.Sprint(i), protocol.StoreOptions{TTL: &ttl})
		now = now.Add(time.Millisecond)
	}
	if n := memory.Len(s); n > 200 {
		t.Errorf("%d values are kept", n)
	}
}

func TestConcurrentUseOfABoundedStore(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Config{Bound: 8})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			ctx := context.Background()
			for i := range 200 {
				key := fmt.Sprint((g + i) % 20)
				if err := s.Write(ctx, scope, key, json.RawMessage(`1`), protocol.StoreOptions{}); err != nil {
					t.Error(err)
				}
				if _, err := s.Search(ctx, scope, "1", 3); err != nil {
					t.Error(err)
				}
				if err := s.Delete(ctx, scope, fmt.Sprint(i%20)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := memory.Len(s); n > 8 {
		t.Errorf("%d values in a store bounded to 8", n)
	}
}
