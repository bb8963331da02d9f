package budget_test

import (
	"errors"
	"math"
	"sync"
	"testing"

	"github.com/skelegent/skelegent-go/actors/budget"
	"github.com/skelegent/skelegent-go/protocol"
)

// took is a try that must not fail.
func took(t *testing.T, g budget.Guard, n uint64) bool {
	t.Helper()
	ok, err := g.TryReserve(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func TestCounterDeniesUntilSomethingIsReleased(t *testing.T) {
	t.Parallel()
	c := budget.NewCounter(100)
	if !took(t, c, 60) || !took(t, c, 40) || took(t, c, 1) {
		t.Fatal("60 and 40 of 100, and no more")
	}
	c.Release(50)
	if !took(t, c, 50) || c.Available() != 0 {
		t.Errorf("%d left", c.Available())
	}
}

func TestCounterReleaseIsCappedAtTheCapacity(t *testing.T) {
	t.Parallel()
	c := budget.NewCounter(10)
	if !took(t, c, 5) {
		t.Fatal("5 of 10")
	}
	c.Release(100)
	if c.Available() != 10 {
		t.Errorf("%d available", c.Available())
	}
	c.Release(math.MaxUint64)
	if c.Available() != 10 {
		t.Errorf("%d available", c.Available())
	}
}

func TestCounterRefillMakesAllAvailable(t *testing.T) {
	t.Parallel()
	c := budget.NewCounter(100)
	if !took(t, c, 75) || c.Available() != 25 {
		t.Fatalf("%d left of 25", c.Available())
	}
	c.Refill()
	if c.Available() != 100 {
		t.Errorf("%d available", c.Available())
	}
}

// What was out at a refill is not given back a second time: neither beyond the capacity, nor out of what others have taken since.
func TestCounterRefillIsNotGivenBackTwice(t *testing.T) {
	t.Parallel()
	c := budget.NewCounter(100)
	before, err := c.Reserve(75)
	if err != nil {
		t.Fatal(err)
	}
	c.Refill()
	since, err := c.Reserve(100)
	if err != nil {
		t.Fatal(err)
	}
	before.Release()
	if c.Available() != 0 || took(t, c, 1) {
		t.Errorf("%d available while all is taken", c.Available())
	}
	since.Release()
	before.Release()
	if c.Available() != 100 {
		t.Errorf("%d available", c.Available())
	}
}

func TestCounterUtilization(t *testing.T) {
	t.Parallel()
	c := budget.NewCounter(100)
	if c.Utilization() != 0 || c.Capacity() != 100 {
		t.Errorf("%v of %d", c.Utilization(), c.Capacity())
	}
	if !took(t, c, 40) || c.Utilization() != 0.4 {
		t.Errorf("%v", c.Utilization())
	}
	if none := budget.NewCounter(0); none.Utilization() != 0 || none.Available() != 0 {
		t.Errorf("%v of nothing", none.Utilization())
	}
}

func TestCounterZeroIsAlwaysThere(t *testing.T) {
	t.Parallel()
	c := budget.NewCounter(0)
	if !took(t, c, 0) || took(t, c, 1) {
		t.Error("0 of 0, and no more")
	}
	r, err := c.Reserve(0)
	if err != nil {
		t.Fatal(err)
	}
	r.Release()
}

func TestCounterReservationIsReleasedOnce(t *testing.T) {
	t.Parallel()
	c := budget.NewCounter(10)
	if !took(t, c, 4) {
		t.Fatal("4 of 10")
	}
	r, err := c.Reserve(6)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(r.Release)
	}
	all.Wait()
	if c.Available() != 6 {
		t.Errorf("%d available, want 6", c.Available())
	}
	_, err = c.Reserve(7)
	if !errors.Is(err, budget.ErrExhausted) || protocol.CodeOf(err) != protocol.CodeQuotaExceeded ||
		err.Error() != "budget exhausted: 6 are left, 7 are needed" {
		t.Errorf("got %v", err)
	}
	var none *budget.CountReservation
	none.Release()
}

func TestCounterOfTheLargestNumber(t *testing.T) {
	t.Parallel()
	c := budget.NewCounter(math.MaxUint64)
	if !took(t, c, math.MaxUint64) || took(t, c, 1) {
		t.Fatal("all, and no more")
	}
	c.Release(math.MaxUint64)
	c.Release(math.MaxUint64)
	if c.Available() != math.MaxUint64 {
		t.Errorf("%d available", c.Available())
	}
}

// Refills while others take and give back: at no instant more than the capacity is available.
func TestCounterRefilledUnderLoad(t *testing.T) {
	t.Parallel()
	const capacity = 5
	c := budget.NewCounter(capacity)
	var refills, all sync.WaitGroup
	stop := make(chan struct{})
	refills.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if c.Available() > capacity {
					t.Error("more than there is")
				}
				c.Refill()
			}
		}
	})
	for range 8 {
		all.Go(func() {
			for range 500 {
				if r, err := c.Reserve(2); err == nil {
					r.Release()
					r.Release()
				}
			}
		})
	}
	all.Wait()
	close(stop)
	refills.Wait()
	if c.Refill(); c.Available() != capacity {
		t.Errorf("%d available", c.Available())
	}
}

// Many who take and give back as fast as they can.
func TestCounterLosesNothingUnderContention(t *testing.T) {
	t.Parallel()
	c := budget.NewCounter(3)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20_000 {
				if ok, err := c.TryReserve(t.Context(), 1); ok && err == nil {
					c.Release(1)
				}
			}
		})
	}
	all.Wait()
	if c.Available() != 3 {
		t.Errorf("%d available", c.Available())
	}
}
