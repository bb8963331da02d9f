package pattern

import (
	"context"

	"github.com/shopspring/decimal"

	"github.com/skelegent/skelegent-go/actors/budget"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// share is what each of n members may spend of what is left; nil is no limit.
func (w *work) share(ctx context.Context, n int) *protocol.Decimal {
	left := w.left(ctx)
	if w.in.Config != nil {
		left = cheaper(left, w.unspent(w.in.Config.MaxCost))
	}
	return budget.Split(left, n)
}

// left is what remains of the budget. A durable run keeps account itself, also of what its children may still spend. Within a
// step, such as a tool call, who called may have said less.
func (w *work) left(ctx context.Context) *protocol.Decimal {
	given := w.unspent(protocol.NextCall(ctx).Budget)
	switch {
	case !w.durable:
		return given
	case step.Key(ctx) == "":
		return w.info.Left()
	}
	return cheaper(w.info.Left(), given)
}

// unspent is what the members left of an amount.
func (w *work) unspent(of *protocol.Decimal) *protocol.Decimal {
	if of == nil {
		return nil
	}
	rest := of.Sub(w.meta.Cost.Decimal)
	if rest.IsNegative() {
		rest = decimal.Zero
	}
	return &protocol.Decimal{Decimal: rest}
}

// config is the input's, with the part of its max_cost that each of the next n members gets. A durable run asks for it again
// when it goes on, and it must be the same: so it follows from what members gave, and from nothing else.
func (w *work) config(n int) *protocol.OperatorConfig {
	if w.in.Config == nil || w.in.Config.MaxCost == nil {
		return w.in.Config
	}
	c := *w.in.Config
	c.MaxCost = budget.Split(w.unspent(c.MaxCost), n)
	return &c
}

// cheaper is the smaller of two limits, of which nil is none.
func cheaper(a, b *protocol.Decimal) *protocol.Decimal {
	if a == nil || b != nil && b.LessThan(a.Decimal) {
		return b
	}
	return a
}
