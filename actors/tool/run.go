package tool

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/skelegent/skelegent-go/protocol"
)

// Run is what a tool can learn of the run that calls it, beside protocol.InvocationFrom. That one has an instance, which
// is the session's id or the run's; only Run says which.
type Run struct {
	// Session is that of the input; nil if it has none.
	Session *protocol.SessionID
	// Declared are the effects that the run has declared so far, in order. They must not be changed.
	Declared protocol.Effects
	// IdempotencyKey is the same each time that this call is made, also after a crash, and different for every other call: for
	// services that take such a key. It is empty outside of a node.
	IdempotencyKey string
}

type runKey struct{}

// WithRun returns a context for calls of tools. Whoever calls tools on behalf of an input sets it, also where the input
// has no session: else the tools of a child that is dispatched within the process would see the session of its
// parent.
func WithRun(ctx context.Context, r Run) context.Context { return context.WithValue(ctx, runKey{}, r) }

// RunFrom returns the Run of ctx, or an empty one.
func RunFrom(ctx context.Context) Run {
	r, _ := ctx.Value(runKey{}).(Run)
	return r
}

// ScopeFrom returns the scope in which the run keeps what it remembers: that of its session or, without one, of its
// operator across all workflows.
func ScopeFrom(ctx context.Context) protocol.Scope {
	if s := RunFrom(ctx).Session; s != nil {
		return protocol.InSession(*s)
	}
	return protocol.OfOperator("", protocol.InvocationFrom(ctx).Operator)
}

// written returns what the run itself declared last for the key: a value, or nil for a deletion; false if neither.
func (r Run) written(scope protocol.Scope, key string) (json.RawMessage, bool) {
	for i := len(r.Declared) - 1; i >= 0; i-- {
		switch e := r.Declared[i].(type) {
		case protocol.WriteMemory:
			if e.Scope == scope && e.Key == key {
				return bytes.Clone(e.Value), true
			}
		case protocol.DeleteMemory:
			if e.Scope == scope && e.Key == key {
				return nil, true
			}
		}
	}
	return nil, false
}

// Read returns what the run would find under the key if its effects were performed already: what it declared itself, else
// what state has. Nil and no error is no value.
func (r Run) Read(ctx context.Context, state protocol.StateReader, scope protocol.Scope, key string) (json.RawMessage, error) {
	if v, ok := r.written(scope, key); ok {
		return v, nil
	}
	return state.Read(ctx, scope, key)
}
