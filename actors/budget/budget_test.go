package budget_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/budget"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func usd(s string) protocol.Decimal { return protocol.MustDecimal(s) }

func cents(n int64) protocol.Decimal { return protocol.Decimal{Decimal: decimal.New(n, -2)} }

// What is reserved before it is spent never exceeds the limit, whoever spends, however many at a time, in parts or not.
func TestReservedMoneyIsHard(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		limit := cents(int64(100 + seed*37))
		a := budget.New(&limit)
		var wg sync.WaitGroup
		for worker := range uint64(16) {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(seed, worker))
				from := a
				if worker%3 == 0 {
					sub, err := a.Sub(cents(r.Int64N(80)))
					if err != nil {
						return
					}
					defer sub.Close()
					from = sub
				}
				for range 50 {
					most := r.Int64N(20)
					got, err := from.Reserve(cents(most))
					if err != nil {
						if !errors.Is(err, budget.ErrExhausted) {
							t.Error(err)
						}
						continue
					}
					cost := cents(r.Int64N(most + 1))
					switch r.IntN(4) {
					case 0:
						got.Release()
					default:
						got.Settle(&cost)
					}
					got.Release() // deferred by careful callers
				}
			})
		}
		wg.Wait()
		if spent := a.Spent(); spent.GreaterThan(limit.Decimal) {
			t.Errorf("seed %d: %s of %s spent", seed, spent, limit)
		}
		if left := a.Left(); !left.Add(a.Spent().Decimal).Equal(limit.Decimal) {
			t.Errorf("seed %d: %s left and %s spent of %s", seed, left, a.Spent(), limit)
		}
	}
}

// Where nobody can bound what a call costs, the sum exceeds the limit by no more than the calls that were under way.
func TestUnboundedCallsExceedByThoseInFlight(t *testing.T) {
	t.Parallel()
	const workers = 8
	limit := usd("1.00")
	a := budget.New(&limit)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				r, err := a.Reserve(protocol.Decimal{})
				if err != nil {
					return
				}
				cost := usd("0.07")
				r.Settle(&cost)
			}
		})
	}
	wg.Wait()
	most := limit.Add(decimal.NewFromInt(workers).Mul(decimal.RequireFromString("0.07")))
	if spent := a.Spent(); spent.GreaterThan(most) || spent.LessThan(limit.Decimal) {
		t.Errorf("%s spent, at most %s", spent, most)
	}
}

func TestUnknownCostEndsABudget(t *testing.T) {
	t.Parallel()
	limit := usd("1.00")
	a := budget.New(&limit)
	sub, err := a.Sub(usd("0.50"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := sub.Reserve(usd("0.10"))
	if err != nil {
		t.Fatal(err)
	}
	r.Settle(nil)
	sub.Close()
	sub.Close()
	if _, err := a.Reserve(usd("0.01")); !errors.Is(err, budget.ErrExhausted) || protocol.CodeOf(err) != protocol.CodeQuotaExceeded {
		t.Errorf("got %v", err)
	}
	if a.Unknown() != 1 || !a.Left().Equal(limit.Decimal) {
		t.Errorf("%d unknown, %s left", a.Unknown(), a.Left())
	}
	var free budget.Account
	if _, err := free.Reserve(usd("1000")); err != nil || free.Left() != nil || free.Utilization() != 0 {
		t.Errorf("no limit: %v", err)
	}
}

func TestUtilization(t *testing.T) {
	t.Parallel()
	limit := usd("2.00")
	a := budget.New(&limit)
	r, err := a.Reserve(usd("0.50"))
	if err != nil || a.Utilization() != 0.25 {
		t.Errorf("%v, %v", a.Utilization(), err)
	}
	cost := usd("1.00")
	r.Settle(&cost)
	if a.Utilization() != 0.5 {
		t.Errorf("%v", a.Utilization())
	}
	if _, err := a.Reserve(usd("-1")); protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("got %v", err)
	}
}
