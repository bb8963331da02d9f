package protocol

import (
	"context"
	"encoding/json"
)

// DispatchMiddleware stands between a caller and a Dispatcher. What it does before it calls next is preparation, what it
// does after is rework; if it does not call next, the call ends here and the layers outside see its result.
type DispatchMiddleware interface {
	// Dispatch may give next another context, operator or input. Safe for concurrent use.
	Dispatch(ctx context.Context, operator OperatorID, in OperatorInput, next DispatchNext) (OperatorOutput, error)
}

// DispatchNext is the rest of the stack.
type DispatchNext = DispatcherFunc

// DispatchMiddlewareFunc is a function as a DispatchMiddleware.
type DispatchMiddlewareFunc func(ctx context.Context, operator OperatorID, in OperatorInput, next DispatchNext) (OperatorOutput, error)

// Dispatch calls f.
func (f DispatchMiddlewareFunc) Dispatch(ctx context.Context, operator OperatorID, in OperatorInput, next DispatchNext) (OperatorOutput, error) {
	return f(ctx, operator, in, next)
}

// StoreMiddleware stands before reads and writes of a StateStore, like DispatchMiddleware. What next is given is what the
// layers inside and the store see.
type StoreMiddleware interface {
	// Read may give next another scope or key, and return another value. Safe for concurrent use.
	Read(ctx context.Context, scope Scope, key string, next StoreReadNext) (json.RawMessage, error)
	// Write may give next another scope, key, value or options. Safe for concurrent use.
	Write(ctx context.Context, scope Scope, key string, value json.RawMessage, opts StoreOptions, next StoreWriteNext) error
}

// StoreReadNext is the rest of the stack for a read.
type StoreReadNext func(ctx context.Context, scope Scope, key string) (json.RawMessage, error)

// StoreWriteNext is the rest of the stack for a write.
type StoreWriteNext func(ctx context.Context, scope Scope, key string, value json.RawMessage, opts StoreOptions) error

// StoreReadFunc is a function as a StoreMiddleware that leaves writes alone.
type StoreReadFunc func(ctx context.Context, scope Scope, key string, next StoreReadNext) (json.RawMessage, error)

// Read calls f.
func (f StoreReadFunc) Read(ctx context.Context, scope Scope, key string, next StoreReadNext) (json.RawMessage, error) {
	return f(ctx, scope, key, next)
}

// Write calls next.
func (f StoreReadFunc) Write(ctx context.Context, scope Scope, key string, value json.RawMessage, opts StoreOptions, next StoreWriteNext) error {
	return next(ctx, scope, key, value, opts)
}

// StoreWriteFunc is a function as a StoreMiddleware that leaves reads alone.
type StoreWriteFunc func(ctx context.Context, scope Scope, key string, value json.RawMessage, opts StoreOptions, next StoreWriteNext) error

// Read calls next.
func (f StoreWriteFunc) Read(ctx context.Context, scope Scope, key string, next StoreReadNext) (json.RawMessage, error) {
	return next(ctx, scope, key)
}

// Write calls f.
func (f StoreWriteFunc) Write(ctx context.Context, scope Scope, key string, value json.RawMessage, opts StoreOptions, next StoreWriteNext) error {
	return f(ctx, scope, key, value, opts, next)
}

// ExecMiddleware stands before an Environment, like DispatchMiddleware.
type ExecMiddleware interface {
	// Run may give next another context, input or specification. Safe for concurrent use.
	Run(ctx context.Context, in OperatorInput, spec EnvironmentSpec, next ExecNext) (OperatorOutput, error)
}

// ExecNext is the rest of the stack.
type ExecNext func(ctx context.Context, in OperatorInput, spec EnvironmentSpec) (OperatorOutput, error)

// Run calls n: a function as an Environment.
func (n ExecNext) Run(ctx context.Context, in OperatorInput, spec EnvironmentSpec) (OperatorOutput, error) {
	return n(ctx, in, spec)
}

// ExecMiddlewareFunc is a function as an ExecMiddleware.
type ExecMiddlewareFunc func(ctx context.Context, in OperatorInput, spec EnvironmentSpec, next ExecNext) (OperatorOutput, error)

// Run calls f.
func (f ExecMiddlewareFunc) Run(ctx context.Context, in OperatorInput, spec EnvironmentSpec, next ExecNext) (OperatorOutput, error) {
	return f(ctx, in, spec, next)
}
