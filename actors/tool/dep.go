package tool

import (
	"context"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

type depKey[T any] struct{}

// Provide returns a context whose calls of tools find v by Dep: a client, a user, whatever belongs to this run and not to the
// tool. There is one value of each type; for that of an interface name the type, as in Provide[Store](ctx, s).
func Provide[T any](ctx context.Context, v T) context.Context {
	return context.WithValue(ctx, depKey[T]{}, v)
}

// Dep returns the T that was provided, and whether one was.
func Dep[T any](ctx context.Context) (T, bool) {
	v, ok := ctx.Value(depKey[T]{}).(T)
	return v, ok
}

// CallInfo is what a tool can learn of the call that it is.
type CallInfo struct {
	// Operator, Run and Instance are those of the invocation; empty outside of a node.
	Operator protocol.OperatorID
	Run      protocol.RunID
	Instance string
	// Session is that of the input; nil if it has none.
	Session *protocol.SessionID
	// IdempotencyKey is that of Run: the same each time that this call is made, and different for every other.
	IdempotencyKey string
	// Deadline is when the call has to be over: that of the context, or before it that of whoever waits for the run. Zero
	// is none.
	Deadline time.Time
}

// CallFrom returns what is known of the call whose context is ctx.
func CallFrom(ctx context.Context) CallInfo {
	inv, run := protocol.InvocationFrom(ctx), RunFrom(ctx)
	info := CallInfo{
		Operator: inv.Operator, Run: inv.Run, Instance: inv.Instance,
		Session: run.Session, IdempotencyKey: run.IdempotencyKey, Deadline: inv.Deadline,
	}
	if d, ok := ctx.Deadline(); ok && (info.Deadline.IsZero() || d.Before(info.Deadline)) {
		info.Deadline = d
	}
	return info
}
