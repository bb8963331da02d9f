package router

import (
	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/middleware"
	"github.com/skelegent/skelegent-go/protocol"
)

// Priced implements provider.Pricer: all targets of the model's route are priced. One that is no provider.Pricer
// is not.
func (r *Router) Priced(model string) bool {
	p, name, err := r.find(model)
	if err != nil {
		return false
	}
	for _, t := range p.targets {
		pricer, ok := middleware.As[provider.Pricer](t.Provider)
		if !ok || !pricer.Priced(orElse(t.Model, name)) {
			return false
		}
	}
	return true
}

// Quote implements provider.Quoter: of each rate the highest of all targets of the model's route, so that the call costs
// that at most. It is false unless all of them have a quote.
func (r *Router) Quote(model string) (provider.Price, bool) {
	p, name, err := r.find(model)
	if err != nil {
		return provider.Price{}, false
	}
	var most provider.Price
	for i, t := range p.targets {
		quoter, ok := middleware.As[provider.Quoter](t.Provider)
		if !ok {
			return provider.Price{}, false
		}
		price, ok := quoter.Quote(orElse(t.Model, name))
		if !ok {
			return provider.Price{}, false
		}
		if i == 0 {
			most = price
		} else {
			most = dearest(most, price)
		}
	}
	return most, true
}

// dearest has the higher of each rate. A rate that neither has of its own stays that of plain input.
func dearest(a, b provider.Price) provider.Price {
	return provider.Price{
		Input:      higher(a.Input, b.Input),
		Output:     higher(a.Output, b.Output),
		Cached:     higherOwn(a.Cached, a.Input, b.Cached, b.Input),
		CacheWrite: higherOwn(a.CacheWrite, a.Input, b.CacheWrite, b.Input),
	}
}

func higher(a, b protocol.Decimal) protocol.Decimal {
	if b.GreaterThan(a.Decimal) {
		return b
	}
	return a
}

func higherOwn(a *protocol.Decimal, inputA protocol.Decimal, b *protocol.Decimal, inputB protocol.Decimal) *protocol.Decimal {
	if a == nil && b == nil {
		return nil
	}
	if a == nil {
		a = &inputA
	}
	if b == nil {
		b = &inputB
	}
	most := higher(*a, *b)
	return &most
}
