package budget_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/skelegent/skelegent-go/actors/budget"
)

// ledger counts what is out by itself: after it was given, and until before it is given back. So it never counts more than is
// out, and what it counts must never be more than there is.
type ledger struct {
	out      atomic.Int64
	most     atomic.Int64
	capacity int64
}

func (l *ledger) add(t *testing.T, n int64) {
	t.Helper()
	now := l.out.Add(n)
	if now > l.capacity {
		t.Errorf("%d are out of %d", now, l.capacity)
	}
	for {
		most := l.most.Load()
		if now <= most || l.most.CompareAndSwap(most, now) {
			return
		}
	}
}

var errCrash = errors.New("crash")

// chaos has a thousand goroutines do work, of which some panic and some are cancelled in the middle.
func chaos(t *testing.T, work func(ctx context.Context, r *rand.Rand, interrupt func())) {
	t.Helper()
	const workers, rounds = 1000, 8
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range uint64(workers) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(i, workers))
			<-start
			for range rounds {
				func() {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					defer func() {
						if v := recover(); v != nil && v != errCrash {
							panic(v)
						}
					}()
					work(ctx, r, func() {
						runtime.Gosched() // others come in between
						switch r.IntN(4) {
						case 0:
							cancel()
						case 1:
							panic(errCrash)
						}
					})
				}()
			}
		})
	}
	close(start)
	all.Wait()
}

func TestCounterUnderAThousandGoroutines(t *testing.T) {
	t.Parallel()
	l := &ledger{capacity: 100}
	c := budget.NewCounter(uint64(l.capacity))
	chaos(t, func(ctx context.Context, r *rand.Rand, interrupt func()) {
		n := r.Int64N(20)
		got, err := c.Reserve(uint64(n))
		defer got.Release()
		if err != nil {
			if !errors.Is(err, budget.ErrExhausted) {
				t.Error(err)
			}
			return
		}
		l.add(t, n)
		defer l.out.Add(-n)
		interrupt()
		if ctx.Err() != nil {
			return
		}
		if ok, err := c.TryReserve(ctx, 1); ok && err == nil {
			l.add(t, 1)
			defer func() {
				l.out.Add(-1)
				c.Release(1)
			}()
			interrupt()
		}
	})
	if c.Available() != c.Capacity() || l.out.Load() != 0 || c.Utilization() != 0 {
		t.Errorf("%d of %d are back", c.Available(), c.Capacity())
	}
	if l.most.Load() < l.capacity/2 {
		t.Errorf("never more than %d were out: this tests nothing", l.most.Load())
	}
}

func TestTokensUnderAThousandGoroutines(t *testing.T) {
	t.Parallel()
	l := &ledger{capacity: 20_000}
	b := budget.NewTokens(uint64(l.capacity))
	var consumed atomic.Int64
	chaos(t, func(ctx context.Context, r *rand.Rand, interrupt func()) {
		estimate := r.Int64N(300)
		got, err := b.Reserve(uint64(estimate))
		if err != nil {
			if !errors.Is(err, budget.ErrExhausted) {
				t.Error(err)
			}
			return
		}
		l.add(t, estimate)
		actual := int64(0)
		defer func() {
			l.out.Add(actual - estimate) // what was consumed stays out
			consumed.Add(actual)
			if actual > 0 {
				got.Record(uint64(actual/2), uint64(actual-actual/2))
			}
			got.Release()
		}()
		interrupt()
		if ctx.Err() == nil && estimate > 0 {
			actual = r.Int64N(estimate) / 20
		}
	})
	want := uint64(consumed.Load())
	if b.Consumed() != want || b.Available() != b.Capacity()-want || want == 0 {
		t.Errorf("%d consumed, want %d; %d available", b.Consumed(), want, b.Available())
	}
	if r, err := b.Reserve(b.Capacity() - want); err != nil {
		t.Errorf("what was given back cannot be taken: %v", err)
	} else {
		r.Release()
	}
}

func TestAccountUnderAThousandGoroutines(t *testing.T) {
	t.Parallel()
	l := &ledger{capacity: 2000}
	limit := cents(l.capacity)
	a := budget.New(&limit)
	guard := budget.PerCall(a, cents(3))
	var spent atomic.Int64
	chaos(t, func(ctx context.Context, r *rand.Rand, interrupt func()) {
		if r.IntN(4) == 0 {
			if ok, err := guard.TryReserve(ctx, 2); ok && err == nil {
				l.add(t, 6)
				defer func() {
					l.out.Add(-6)
					guard.Release(2)
				}()
				interrupt()
			}
			return
		}
		most := r.Int64N(30)
		got, err := a.Reserve(cents(most))
		if err != nil {
			if !errors.Is(err, budget.ErrExhausted) {
				t.Error(err)
			}
			return
		}
		l.add(t, most)
		cost := int64(0)
		defer func() {
			l.out.Add(cost - most)
			spent.Add(cost)
			if cost > 0 {
				got.Settle(new(cents(cost)))
			}
			got.Release()
		}()
		interrupt()
		if ctx.Err() == nil && most > 0 {
			cost = r.Int64N(most) / 10
		}
	})
	want := cents(spent.Load())
	if !a.Spent().Equal(want.Decimal) || !a.Left().Equal(limit.Sub(want.Decimal)) || a.Unknown() != 0 || spent.Load() == 0 {
		t.Errorf("%s spent, want %s; %s left", a.Spent(), want, a.Left())
	}
}
