package budget_test

import (
	"errors"
	"math"
	"sync"
	"testing"

	"github.com/skelegent/skelegent-go/actors/budget"
	"github.com/skelegent/skelegent-go/protocol"
)

func reserved(t *testing.T, b *budget.Tokens, estimate uint64) *budget.TokenReservation {
	t.Helper()
	r, err := b.Reserve(estimate)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func denied(t *testing.T, b *budget.Tokens, estimate uint64) {
	t.Helper()
	r, err := b.Reserve(estimate)
	if !errors.Is(err, budget.ErrExhausted) || protocol.CodeOf(err) != protocol.CodeQuotaExceeded || r != nil {
		t.Errorf("%d: got %v", estimate, err)
	}
}

func wantTokens(t *testing.T, b *budget.Tokens, consumed, available uint64) {
	t.Helper()
	if b.Consumed() != consumed || b.Available() != available {
		t.Errorf("%d consumed and %d available, want %d and %d", b.Consumed(), b.Available(), consumed, available)
	}
}

func TestTokensRefundWhatWasNotTaken(t *testing.T) {
	t.Parallel()
	b := budget.NewTokens(1000)
	reserved(t, b, 400).Record(120, 80)
	wantTokens(t, b, 200, 800)
	reserved(t, b, 800)
	denied(t, b, 1)
}

func TestTokensDebitWhatExceedsTheEstimate(t *testing.T) {
	t.Parallel()
	b := budget.NewTokens(1000)
	reserved(t, b, 100).Record(150, 50)
	wantTokens(t, b, 200, 800)
}

func TestTokensSettleEachReservationByItself(t *testing.T) {
	t.Parallel()
	b := budget.NewTokens(1000)
	first, second := reserved(t, b, 400), reserved(t, b, 400)
	wantTokens(t, b, 0, 200)
	first.Record(100, 100)
	wantTokens(t, b, 200, 400)
	denied(t, b, 401)
	second.Record(200, 200)
	wantTokens(t, b, 600, 400)
}

func TestTokenReservationTellsItsEstimate(t *testing.T) {
	t.Parallel()
	var none *budget.TokenReservation
	if got := reserved(t, budget.NewTokens(500), 123).Estimate(); got != 123 || none.Estimate() != 0 {
		t.Errorf("got %d", got)
	}
	none.Record(1, 1)
	none.Release()
}

func TestTokenReservationReleasedGivesAllBack(t *testing.T) {
	t.Parallel()
	b := budget.NewTokens(1000)
	r := reserved(t, b, 400)
	wantTokens(t, b, 0, 600)
	r.Release()
	wantTokens(t, b, 0, 1000)
}

func TestTokenRefundIsCappedAtTheCapacity(t *testing.T) {
	t.Parallel()
	b := budget.NewTokens(100)
	r := reserved(t, b, 100)
	b.Release(math.MaxUint64) // of nothing: what r holds is r's
	wantTokens(t, b, 0, 0)
	r.Release()
	b.Release(50)
	wantTokens(t, b, 0, 100)
}

// Only the first settlement counts, whoever else comes, so that a deferred Release after a Record does nothing.
func TestTokenReservationIsSettledOnce(t *testing.T) {
	t.Parallel()
	b := budget.NewTokens(1000)
	r := reserved(t, b, 400)
	r.Record(10, 20)
	var all sync.WaitGroup
	for range 8 {
		all.Go(r.Release)
		all.Go(func() { r.Record(300, 300) })
	}
	all.Wait()
	wantTokens(t, b, 30, 970)
}

// What was taken beyond all that was left is not forgiven when others give something back.
func TestTokensRememberWhatWasTakenBeyondTheCapacity(t *testing.T) {
	t.Parallel()
	b := budget.NewTokens(100)
	one, other := reserved(t, b, 50), reserved(t, b, 50)
	one.Record(60, 60) // 20 more than there ever were
	wantTokens(t, b, 120, 0)
	other.Release()
	wantTokens(t, b, 120, 0)
	denied(t, b, 1)
	denied(t, b, 0)
	if u := b.Utilization(); u != 1.2 {
		t.Errorf("utilization %v", u)
	}
}

// A call of which nobody knows what it takes is made as long as anything is left.
func TestTokensGrantZeroWhileAnythingIsLeft(t *testing.T) {
	t.Parallel()
	b := budget.NewTokens(10)
	reserved(t, b, 0).Record(5, 5)
	denied(t, b, 0)
	if took(t, b, 0) {
		t.Error("as a guard it gives")
	}
}

func TestTokensDoNotOverflow(t *testing.T) {
	t.Parallel()
	b := budget.NewTokens(math.MaxUint64)
	r := reserved(t, b, math.MaxUint64)
	denied(t, b, 1)
	r.Record(math.MaxUint64, math.MaxUint64)
	wantTokens(t, b, math.MaxUint64, 0)
	b.Spend(math.MaxUint64, 1)
	wantTokens(t, b, math.MaxUint64, 0)
	denied(t, b, 1)
	small := budget.NewTokens(1)
	small.Spend(math.MaxUint64, math.MaxUint64)
	small.Spend(1, 0)
	wantTokens(t, small, math.MaxUint64, 0)
}

func TestTokensAsAGuard(t *testing.T) {
	t.Parallel()
	b := budget.NewTokens(100)
	if !took(t, b, 60) || took(t, b, 41) {
		t.Fatal("60 of 100, and not 41 more")
	}
	wantTokens(t, b, 0, 40)
	b.Release(60)
	wantTokens(t, b, 0, 100)
	if u := budget.NewTokens(0).Utilization(); u != 0 || b.Capacity() != 100 {
		t.Errorf("utilization %v", u)
	}
}

func TestTokensOfAContext(t *testing.T) {
	t.Parallel()
	b := budget.NewTokens(1)
	if budget.TokensFrom(t.Context()) != nil || budget.TokensFrom(budget.WithTokens(t.Context(), b)) != b {
		t.Error("not the same")
	}
}

func TestPerCallSetsMoneyAside(t *testing.T) {
	t.Parallel()
	all := budget.New(new(usd("1")))
	g := budget.PerCall(all.Part(), usd("0.30"))
	if !took(t, g, 1) || !took(t, g, 2) || took(t, g, 1) {
		t.Fatal("three calls of 0.30, and no more")
	}
	if left := all.Left().Text(); left != "0.1" && left != "0.10" {
		t.Errorf("%s left", left)
	}
	g.Release(1)
	if !took(t, g, 1) {
		t.Error("what was given back is not there")
	}
	g.Release(100)
	g.Release(1)
	if !all.Left().Equal(usd("1").Decimal) || !all.Spent().IsZero() {
		t.Errorf("%s left, %s spent", all.Left(), all.Spent())
	}
	free := budget.PerCall(budget.New(nil), usd("5"))
	if !took(t, free, math.MaxUint64) || !took(t, free, 3) {
		t.Error("there is no limit")
	}
	ok, err := budget.PerCall(all, usd("-1")).TryReserve(t.Context(), 1)
	if ok || protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("a negative amount: %v, %v", ok, err)
	}
}
