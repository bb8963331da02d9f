package middleware

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// errAttempt is the cause by which the end of an attempt's time is told from the caller's own.
var errAttempt = errors.New("the time of the attempt is over")

// Timeout ends an attempt after d with a transient error, which the agent loop tries again; the end of the caller's context
// stays what it is. A stream has to be complete by then. There is no limit if d is 0 or less.
func Timeout(d time.Duration) InferFunc {
	return func(
		ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent), next Next,
	) (protocol.InferResponse, error) {
		if d <= 0 {
			return next(ctx, req, sink)
		}
		attempt, cancel := context.WithTimeoutCause(ctx, d, errAttempt)
		defer cancel()
		resp, err := next(attempt, req, sink)
		if err == nil || ctx.Err() != nil || !errors.Is(context.Cause(attempt), errAttempt) || !ended(err) {
			return resp, err
		}
		late := protocol.ErrProviderTransient(fmt.Sprintf("no complete answer within %v", d), 0)
		return protocol.InferResponse{}, late.Because(err)
	}
}

// ended reports whether err says that a context ended. A refusal that came just before is told as it is.
func ended(err error) bool {
	code := protocol.CodeOf(err)
	return code == protocol.CodeTimeout || code == protocol.CodeCancelled
}
