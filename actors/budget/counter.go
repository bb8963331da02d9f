package budget

import (
	"context"
	"sync/atomic"
)

// Counter is a number of things that are taken and given back: places of calls under way, rows of a period. It takes no
// locks. A Counter must not be copied.
//
// Refill begins a new period in which there is all of it, whatever is still out. What was reserved before by Reserve gives
// nothing back afterwards: the refill has, and twice would be more than there is.
type Counter struct {
	capacity uint64
	period   atomic.Pointer[period]
}

// period is what is available between two refills.
type period struct{ available atomic.Uint64 }

// NewCounter returns a counter of which all is there.
func NewCounter(capacity uint64) *Counter {
	c := &Counter{capacity: capacity}
	c.Refill()
	return c
}

// Reserve takes n until the reservation is released. The error is ErrExhausted where there is not as much; then nothing is
// taken. Zero is always there.
func (c *Counter) Reserve(n uint64) (*CountReservation, error) {
	p := c.period.Load()
	if left, ok := p.take(n); !ok {
		return nil, shortOf(left, n)
	}
	r := &CountReservation{n: n, capacity: c.capacity}
	r.from.Store(p)
	return r, nil
}

// TryReserve implements Guard. It never fails, does not look at ctx, and is true for zero also where nothing is left. What
// it took is given back by Release; Reserve does the same in a way that cannot be done twice.
func (c *Counter) TryReserve(_ context.Context, n uint64) (bool, error) {
	_, ok := c.period.Load().take(n)
	return ok, nil
}

// Release implements Guard: n more are available, but never more than the capacity. It cannot know what was taken before a
// refill, so who refills uses Reserve.
func (c *Counter) Release(n uint64) { c.period.Load().give(n, c.capacity) }

// Refill makes all available, whatever is out.
func (c *Counter) Refill() {
	p := &period{}
	p.available.Store(c.capacity)
	c.period.Store(p)
}

// Capacity is how much there is at most.
func (c *Counter) Capacity() uint64 { return c.capacity }

// Available is how much can be taken now.
func (c *Counter) Available() uint64 { return c.period.Load().available.Load() }

// Utilization is what part of the capacity is taken, 0 to 1; 0 where there is none.
func (c *Counter) Utilization() float64 { return part(minus(c.capacity, c.Available()), c.capacity) }

func part(used, capacity uint64) float64 {
	if capacity == 0 {
		return 0
	}
	return float64(used) / float64(capacity)
}

func (p *period) take(n uint64) (left uint64, ok bool) {
	for {
		left = p.available.Load()
		if left < n {
			return left, false
		}
		if p.available.CompareAndSwap(left, left-n) {
			return left - n, true
		}
	}
}

func (p *period) give(n, capacity uint64) {
	for {
		left := p.available.Load()
		if p.available.CompareAndSwap(left, min(plus(left, n), capacity)) {
			return
		}
	}
}

// CountReservation is what was taken from a Counter. A nil one is of none.
type CountReservation struct {
	n, capacity uint64
	from        atomic.Pointer[period] // nil once it was given back
}

// Release gives it back, the first time; so it can be deferred.
func (r *CountReservation) Release() {
	if r == nil {
		return
	}
	if p := r.from.Swap(nil); p != nil {
		p.give(r.n, r.capacity)
	}
}
