package budget_test

import (
	"testing"

	"github.com/skelegent/skelegent-go/actors/budget"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestAPartKnowsWhatItSpends(t *testing.T) {
	t.Parallel()
	all := budget.New(new(protocol.MustDecimal("1")))
	one, other := all.Part().Part(), all.Part()
	r, err := one.Reserve(protocol.MustDecimal("0.5"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Reserve(protocol.MustDecimal("0.6")); err == nil {
		t.Error("what is reserved by another was given")
	}
	r.Settle(new(protocol.MustDecimal("0.3")))
	other.Spend(protocol.MustDecimal("0.2"), 0)
	other.Spend(protocol.MustDecimal("-5"), 0)
	if one.Spent().Text() != "0.3" || other.Spent().Text() != "0.2" || all.Spent().Text() != "0.5" || one.Left().Text() != "0.5" {
		t.Errorf("spent %s, %s, %s, left %s", one.Spent(), other.Spent(), all.Spent(), one.Left())
	}
	sub, err := one.Sub(protocol.MustDecimal("0.4"))
	if err != nil {
		t.Fatal(err)
	}
	sub.Spend(protocol.MustDecimal("0.1"), 1)
	sub.Close()
	sub.Close()
	if one.Spent().Text() != "0.4" || all.Spent().Text() != "0.6" || all.Unknown() != 1 || one.Unknown() != 1 || other.Unknown() != 0 {
		t.Errorf("spent %s, %s, unknown %d", one.Spent(), all.Spent(), all.Unknown())
	}
}

func TestNobodyIsGivenMoneyBack(t *testing.T) {
	t.Parallel()
	a := budget.New(new(protocol.MustDecimal("1")))
	r, err := a.Reserve(protocol.MustDecimal("1"))
	if err != nil {
		t.Fatal(err)
	}
	r.Settle(new(protocol.MustDecimal("-5")))
	if a.Unknown() != 1 || a.Left().Text() != "1" {
		t.Errorf("%d unknown, left %s", a.Unknown(), a.Left())
	}
}
