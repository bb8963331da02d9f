package limit_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/provider/limit"
)

// TestNoPlaceIsLost lets many calls come, go, and give up at any time, and then wants every place back.
func TestNoPlaceIsLost(t *testing.T) {
	t.Parallel()
	const places, goroutines, calls = 4, 64, 200
	l := limit.NewLocal(limit.Config{Default: limit.Limits{Concurrent: places, Tokens: 1 << 40}})
	var running, most, went, gaveUp atomic.Int64
	var wg sync.WaitGroup
	for g := range goroutines {
		random := rand.New(rand.NewPCG(uint64(g), 7))
		wg.Go(func() {
			for range calls {
				ctx, cancel := context.WithCancel(t.Context())
				if random.IntN(3) == 0 {
					ctx, cancel = context.WithTimeout(t.Context(), time.Duration(random.IntN(200))*time.Microsecond)
				}
				release, err := l.Acquire(ctx, "m", random.IntN(1000))
				if err != nil {
					gaveUp.Add(1)
					cancel()
					continue
				}
				now := running.Add(1)
				for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
				}
				runtime.Gosched()
				went.Add(1)
				running.Add(-1)
				release(limit.Usage{Tokens: random.IntN(2000), Counted: true})
				cancel()
			}
		})
	}
	wg.Wait()
	t.Logf("%d went, %d gave up, at most %d at a time", went.Load(), gaveUp.Load(), most.Load())
	if most.Load() > places {
		t.Errorf("%d at a time, want at most %d", most.Load(), places)
	}
	if went.Load() == 0 || gaveUp.Load() == 0 {
		t.Error("the test tests nothing")
	}
	if l.Waiting("m") != 0 {
		t.Errorf("%d still wait", l.Waiting("m"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for range places {
		if _, err := l.Acquire(ctx, "m", 0); err != nil {
			t.Fatalf("a place is lost: %v", err)
		}
	}
}

func BenchmarkAcquire(b *testing.B) {
	l := limit.NewLocal(limit.Config{Default: limit.Limits{Requests: 1 << 40, Tokens: 1 << 40, Concurrent: 8}})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			release, err := l.Acquire(b.Context(), "m", 100)
			if err != nil {
				b.Fatal(err)
			}
			release(limit.Usage{Tokens: 100, Counted: true})
		}
	})
}
