package middleware

import (
	"context"
	"fmt"

	"github.com/skelegent/skelegent-go/protocol"
)

// Guard refuses the calls for which check returns an error, which is the caller's as it is: protocol.ErrEngineHalted ends an
// agent's run with the exit interceptor_halt, protocol.ErrInvalidRequest with an error; one without a code is shown
// as internal. check must be safe for concurrent use and must not change what the request points to.
func Guard(check func(ctx context.Context, req protocol.InferRequest) error) InferFunc {
	return func(
		ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent), next Next,
	) (protocol.InferResponse, error) {
		if err := check(ctx, req); err != nil {
			return protocol.InferResponse{}, err
		}
		return next(ctx, req, sink)
	}
}

// MaxInput refuses, as an invalid request, what has more than limit bytes: system text, messages with their images and
// files, tools, response schema and provider options. With a limit of 0 or less all have more.
func MaxInput(limit int) InferFunc {
	return Guard(func(_ context.Context, req protocol.InferRequest) error {
		if n := Size(req); n > limit {
			return protocol.ErrInvalidRequest(fmt.Sprintf("it has %d bytes, more than the %d that are allowed", n, limit), 0)
		}
		return nil
	})
}
