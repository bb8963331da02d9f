package middleware

import (
	"context"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/protocol"
)

// Unwrapper is a provider that stands before another one.
type Unwrapper interface {
	// Unwrap returns the provider behind, nil if there is none.
	Unwrap() provider.Provider
}

// As returns the first of p, what p wraps, what that wraps and so on that is an R: a role such as provider.Pricer, or the
// type of a certain provider. A provider that asks several, like a router, wraps none.
func As[R any](p provider.Provider) (R, bool) {
	for p != nil {
		if r, ok := p.(R); ok {
			return r, true
		}
		w, ok := p.(Unwrapper)
		if !ok {
			break
		}
		p = w.Unwrap()
	}
	var none R
	return none, false
}

func layer(m Infer, next Next) Next {
	return func(
		ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent),
	) (protocol.InferResponse, error) {
		return m.Infer(ctx, req, sink, next)
	}
}

// wrapped is a provider behind a stack.
type wrapped struct {
	Next
	inner provider.Provider
}

// Unwrap implements Unwrapper.
func (w wrapped) Unwrap() provider.Provider { return w.inner }

// keepRoles returns w with the roles that callers ask for by a type assertion.
func keepRoles(w wrapped) provider.Provider {
	pricer, prices := As[provider.Pricer](w.inner)
	quoter, quotes := As[provider.Quoter](w.inner)
	switch {
	case prices && quotes:
		return struct {
			wrapped
			provider.Pricer
			provider.Quoter
		}{w, pricer, quoter}
	case prices:
		return struct {
			wrapped
			provider.Pricer
		}{w, pricer}
	case quotes:
		return struct {
			wrapped
			provider.Quoter
		}{w, quoter}
	}
	return w
}
