package actorx_test

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/skelegent/skelegent-go/actors/internal/actorx"
)

type payload struct{ n int }

// Each pair does the same with this package and with the bare library.

func BenchmarkTell(b *testing.B) {
	b.ReportAllocs()
	sys := newSystem(b, actorx.Config{})
	done := make(chan struct{})
	n := 0
	r := spawn(b, sys, "a", receive(func(*actorx.Context, any) {
		if n++; n == b.N {
			close(done)
		}
	}))
	msg := &payload{}
	b.ResetTimer()
	for range b.N {
		r.Tell(msg)
	}
	<-done
}

func BenchmarkTellBare(b *testing.B) {
	b.ReportAllocs()
	sys := bare()
	done := make(chan struct{})
	n := 0
	pid := sys.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*payload); ok {
			if n++; n == b.N {
				close(done)
			}
		}
	}))
	msg := &payload{}
	b.ResetTimer()
	for range b.N {
		sys.Root.Send(pid, msg)
	}
	<-done
}

func BenchmarkTellParallel(b *testing.B) {
	b.ReportAllocs()
	sys := newSystem(b, actorx.Config{})
	var wg sync.WaitGroup
	wg.Add(b.N)
	r := spawn(b, sys, "a", receive(func(*actorx.Context, any) { wg.Done() }))
	msg := &payload{}
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r.Tell(msg)
		}
	})
	wg.Wait()
}

func BenchmarkTellParallelBare(b *testing.B) {
	b.ReportAllocs()
	sys := bare()
	var wg sync.WaitGroup
	wg.Add(b.N)
	pid := sys.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*payload); ok {
			wg.Done()
		}
	}))
	msg := &payload{}
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			sys.Root.Send(pid, msg)
		}
	})
	wg.Wait()
}

// The mailbox is idle at each Tell, as between NATS requests.
func BenchmarkTellCold(b *testing.B) {
	b.ReportAllocs()
	sys := newSystem(b, actorx.Config{})
	got := make(chan struct{})
	r := spawn(b, sys, "a", receive(func(*actorx.Context, any) { got <- struct{}{} }))
	msg := &payload{}
	b.ResetTimer()
	for range b.N {
		r.Tell(msg)
		<-got
	}
}

func BenchmarkTellColdBare(b *testing.B) {
	b.ReportAllocs()
	sys := bare()
	got := make(chan struct{})
	pid := sys.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*payload); ok {
			got <- struct{}{}
		}
	}))
	msg := &payload{}
	b.ResetTimer()
	for range b.N {
		sys.Root.Send(pid, msg)
		<-got
	}
}

func BenchmarkAsk(b *testing.B) {
	b.ReportAllocs()
	sys := newSystem(b, actorx.Config{})
	r := spawn(b, sys, "a", receive(func(_ *actorx.Context, msg any) { msg.(question).reply.Send(1) }))
	ctx := b.Context()
	b.ResetTimer()
	for range b.N {
		if _, err := ask(ctx, r, 1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAskBare(b *testing.B) {
	b.ReportAllocs()
	sys := bare()
	pid := sys.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*payload); ok {
			c.Respond(1)
		}
	}))
	b.ResetTimer()
	for range b.N {
		if _, err := sys.Root.RequestFuture(pid, &payload{1}, time.Minute).Result(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAsync(b *testing.B) {
	b.ReportAllocs()
	r := spawn(b, newSystem(b, actorx.Config{}), "a", hooks{}.behavior())
	done := make(chan struct{})
	work := func(context.Context) (int, error) { return 1, nil }
	msg := func(c *actorx.Context) {
		actorx.Async(c, work, func(*actorx.Context, int, error) { done <- struct{}{} })
	}
	b.ResetTimer()
	for range b.N {
		r.Tell(msg)
		<-done
	}
}

// Bytes of an idle actor, and the time to spawn one.
func BenchmarkSpawn(b *testing.B) {
	b.ReportAllocs()
	sys := newSystem(b, actorx.Config{})
	r := spawn(b, sys, "a", hooks{}.behavior())
	child := hooks{}.behavior()
	names := make([]string, b.N)
	for i := range names {
		names[i] = time.Duration(i).String()
	}
	before := heap()
	b.ResetTimer()
	do(b, r, func(c *actorx.Context) {
		for _, name := range names {
			if _, err := c.Spawn(name, child); err != nil {
				b.Error(err)
			}
		}
	})
	b.StopTimer()
	b.ReportMetric(float64(heap()-before)/float64(b.N), "B/actor")
	runtime.KeepAlive(names)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func bare() *actor.ActorSystem {
	return actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.DiscardHandler)
	}))
}
