package middleware

import (
	"context"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/protocol"
)

// Infer stands between a caller and a provider. What it does before it calls next is preparation, what it does after is
// rework; if it does not call next, the call ends here and the layers outside see its result.
type Infer interface {
	// Infer may give next another context, request or sink, and call it more than once; what was streamed cannot be
	// taken back. It keeps the promises of provider.Provider. Safe for concurrent use.
	Infer(
		ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent), next Next,
	) (protocol.InferResponse, error)
}

// Next is the rest of the stack. It is a function as a provider.Provider, too.
type Next func(
	ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent),
) (protocol.InferResponse, error)

var _ provider.Provider = Next(nil)

// Infer calls n.
func (n Next) Infer(
	ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent),
) (protocol.InferResponse, error) {
	return n(ctx, req, sink)
}

// InferFunc is a function as an Infer.
type InferFunc func(
	ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent), next Next,
) (protocol.InferResponse, error)

// Infer calls f.
func (f InferFunc) Infer(
	ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent), next Next,
) (protocol.InferResponse, error) {
	return f(ctx, req, sink, next)
}
