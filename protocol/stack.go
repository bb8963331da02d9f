package protocol

import (
	"context"
	"encoding/json"
	"slices"
)

// StackBuilder collects middleware M for a stack S: see NewDispatchStack, NewStoreStack and NewExecStack. Whatever the
// order of the calls, observers are outermost, then come transformers, then guards, then what is wrapped; within a
// group the first added is the outermost. So an observer sees every call, a refused one too, and a guard judges what
// would really be done.
type StackBuilder[M, S any] struct {
	observers, transformers, guards []M
	build                           func(layers []M) S
}

// Observe adds middleware that only looks.
func (b *StackBuilder[M, S]) Observe(m ...M) *StackBuilder[M, S] {
	b.observers = append(b.observers, m...)
	return b
}

// Transform adds middleware that changes what passes.
func (b *StackBuilder[M, S]) Transform(m ...M) *StackBuilder[M, S] {
	b.transformers = append(b.transformers, m...)
	return b
}

// Guard adds middleware that may refuse.
func (b *StackBuilder[M, S]) Guard(m ...M) *StackBuilder[M, S] {
	b.guards = append(b.guards, m...)
	return b
}

// Build returns a stack of what was added so far. What is added later does not change it.
func (b *StackBuilder[M, S]) Build() S {
	return b.build(slices.Concat(b.observers, b.transformers, b.guards))
}

// DispatchStack is middleware for a Dispatcher or an Orchestrator. It is immutable; the zero value is empty.
type DispatchStack struct{ layers []DispatchMiddleware }

// NewDispatchStack begins a stack.
func NewDispatchStack() *StackBuilder[DispatchMiddleware, DispatchStack] {
	return &StackBuilder[DispatchMiddleware, DispatchStack]{
		build: func(layers []DispatchMiddleware) DispatchStack { return DispatchStack{layers} },
	}
}

// Wrap returns d behind the stack, or d itself if the stack is empty.
func (s DispatchStack) Wrap(d Dispatcher) Dispatcher {
	for _, m := range slices.Backward(s.layers) {
		d = dispatchLayer(m, d.Dispatch)
	}
	return d
}

func dispatchLayer(m DispatchMiddleware, next DispatchNext) DispatchNext {
	return func(ctx context.Context, operator OperatorID, in OperatorInput) (OperatorOutput, error) {
		return m.Dispatch(ctx, operator, in, next)
	}
}

// WrapOrchestrator returns o behind the stack: its dispatches, those of DispatchMany included; signals and queries go to
// o directly.
func (s DispatchStack) WrapOrchestrator(o Orchestrator) Orchestrator {
	if len(s.layers) == 0 {
		return o
	}
	return wrappedOrchestrator{Orchestrator: o, dispatcher: s.Wrap(o)}
}

type wrappedOrchestrator struct {
	Orchestrator

	dispatcher Dispatcher
}

func (o wrappedOrchestrator) Dispatch(ctx context.Context, operator OperatorID, in OperatorInput) (OperatorOutput, error) {
	return o.dispatcher.Dispatch(ctx, operator, in)
}

func (o wrappedOrchestrator) DispatchMany(ctx context.Context, requests []DispatchRequest) []DispatchResult {
	return DispatchMany(ctx, o.dispatcher, requests, 0)
}

// StoreStack is middleware for a StateStore. It is immutable; the zero value is empty.
type StoreStack struct{ layers []StoreMiddleware }

// NewStoreStack begins a stack.
func NewStoreStack() *StackBuilder[StoreMiddleware, StoreStack] {
	return &StackBuilder[StoreMiddleware, StoreStack]{
		build: func(layers []StoreMiddleware) StoreStack { return StoreStack{layers} },
	}
}

// Wrap returns st with its reads and writes behind the stack, or st itself if the stack is empty. Delete, List and Search
// go to st directly. The result is a Graph if st is one.
func (s StoreStack) Wrap(st StateStore) StateStore {
	if len(s.layers) == 0 {
		return st
	}
	read, write := StoreReadNext(st.Read), StoreWriteNext(st.Write)
	for _, m := range slices.Backward(s.layers) {
		read, write = storeLayer(m, read, write)
	}
	w := wrappedStore{StateStore: st, read: read, write: write}
	if g, ok := st.(Graph); ok {
		return struct {
			wrappedStore
			Graph
		}{w, g}
	}
	return w
}

func storeLayer(m StoreMiddleware, read StoreReadNext, write StoreWriteNext) (StoreReadNext, StoreWriteNext) {
	r := func(ctx context.Context, scope Scope, key string) (json.RawMessage, error) {
		return m.Read(ctx, scope, key, read)
	}
	w := func(ctx context.Context, scope Scope, key string, value json.RawMessage, opts StoreOptions) error {
		return m.Write(ctx, scope, key, value, opts, write)
	}
	return r, w
}

type wrappedStore struct {
	StateStore

	read  StoreReadNext
	write StoreWriteNext
}

func (s wrappedStore) Read(ctx context.Context, scope Scope, key string) (json.RawMessage, error) {
	return s.read(ctx, scope, key)
}

func (s wrappedStore) Write(ctx context.Context, scope Scope, key string, value json.RawMessage, opts StoreOptions) error {
	return s.write(ctx, scope, key, value, opts)
}

// ExecStack is middleware for an Environment. It is immutable; the zero value is empty.
type ExecStack struct{ layers []ExecMiddleware }

// NewExecStack begins a stack.
func NewExecStack() *StackBuilder[ExecMiddleware, ExecStack] {
	return &StackBuilder[ExecMiddleware, ExecStack]{
		build: func(layers []ExecMiddleware) ExecStack { return ExecStack{layers} },
	}
}

// Wrap returns e behind the stack, or e itself if the stack is empty.
func (s ExecStack) Wrap(e Environment) Environment {
	for _, m := range slices.Backward(s.layers) {
		e = execLayer(m, e.Run)
	}
	return e
}

func execLayer(m ExecMiddleware, next ExecNext) ExecNext {
	return func(ctx context.Context, in OperatorInput, spec EnvironmentSpec) (OperatorOutput, error) {
		return m.Run(ctx, in, spec, next)
	}
}
