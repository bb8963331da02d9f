package protocol

import (
	"context"
	"time"
)

// Call is what travels with a dispatch beside its input: who asks, how long it may take, what it may cost.
type Call struct {
	// Run names the run; the dispatcher makes a UUIDv7 if it is empty. Giving one makes the dispatch
	// idempotent within its operator and instance.
	Run RunID
	// Parent is the run that dispatches, empty if none does.
	Parent RunID
	// Budget is the USD left for the run and all below it; nil is no limit.
	Budget *Decimal
	// Depth counts the dispatches above this one.
	Depth int
	// Trace is a W3C traceparent, carried as it is.
	Trace string
	// TakeEffects says that whoever dispatches takes the effects of the output: they are not performed where the run ends. It is
	// not passed on to what that run dispatches itself.
	TakeEffects bool
}

// Invocation is what an operator can learn of the run it is part of. It is safe for concurrent use and must not
// be changed.
type Invocation struct {
	Call
	Operator OperatorID
	// Instance is the session id where the input has one, else the run id.
	Instance string
	// Deadline is when the caller stops waiting; zero if unknown.
	Deadline time.Time
	// Events takes what happens during the run; never nil in an invocation that a node made.
	Events EventSink
}

// EventSink takes events of one run.
type EventSink interface {
	// Emit publishes an event whose data marshals to an object. It does not block on observers and cannot
	// fail: an event that cannot be sent is counted by the sink. Safe for concurrent use.
	Emit(kind EventKind, data any)
}

type (
	invocationKey struct{}
	callKey       struct{}
)

// WithInvocation returns a context that carries inv.
func WithInvocation(ctx context.Context, inv *Invocation) context.Context {
	return context.WithValue(ctx, invocationKey{}, inv)
}

// InvocationFrom returns the invocation of ctx, or one that is empty but usable outside any node.
func InvocationFrom(ctx context.Context) *Invocation {
	if inv, ok := ctx.Value(invocationKey{}).(*Invocation); ok {
		return inv
	}
	return &Invocation{Events: discard{}}
}

type discard struct{}

func (discard) Emit(EventKind, any) {}

// WithCall returns a context whose next dispatches carry c. Empty fields are filled in as NextCall says.
func WithCall(ctx context.Context, c Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// NextCall returns what a dispatch made under ctx carries: the Call of WithCall; and what that leaves empty comes
// from the invocation that dispatches (its run as parent, its budget and trace, one deeper).
func NextCall(ctx context.Context) Call {
	c, _ := ctx.Value(callKey{}).(Call)
	inv, ok := ctx.Value(invocationKey{}).(*Invocation)
	if !ok {
		return c
	}
	if c.Parent == "" {
		c.Parent = inv.Run
	}
	if c.Budget == nil {
		c.Budget = inv.Budget
	}
	if c.Trace == "" {
		c.Trace = inv.Trace
	}
	c.Depth = inv.Depth + 1
	return c
}
