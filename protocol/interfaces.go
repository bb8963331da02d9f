package protocol

import (
	"context"
	"encoding/json"
)

// Operator takes an input and gives an output: an agent, one model call, a tool, a function, a program.
type Operator interface {
	// Execute processes one input. It ends early when ctx does. Its error is an *Error, or is treated as
	// internal. Implementations must be safe for concurrent use and must not perform effects: they declare
	// them in the output. The input belongs to the operator.
	Execute(ctx context.Context, in OperatorInput) (OperatorOutput, error)
}

// OperatorFunc is a function as an Operator.
type OperatorFunc func(ctx context.Context, in OperatorInput) (OperatorOutput, error)

// Execute calls f.
func (f OperatorFunc) Execute(ctx context.Context, in OperatorInput) (OperatorOutput, error) {
	return f(ctx, in)
}

// Dispatcher has an operator process an input, wherever it runs.
type Dispatcher interface {
	// Dispatch returns the operator's output, or an *Error: not_found if there is no such operator, timeout
	// when ctx ends first (the operator may go on). Safe for concurrent use; blocks until there is an answer.
	Dispatch(ctx context.Context, operator OperatorID, in OperatorInput) (OperatorOutput, error)
}

// DispatcherFunc is a function as a Dispatcher.
type DispatcherFunc func(ctx context.Context, operator OperatorID, in OperatorInput) (OperatorOutput, error)

// Dispatch calls f.
func (f DispatcherFunc) Dispatch(ctx context.Context, operator OperatorID, in OperatorInput) (OperatorOutput, error) {
	return f(ctx, operator, in)
}

// Signaler tells running workflows things.
type Signaler interface {
	// Signal returns when the signal is accepted, not when it is processed. Safe for concurrent use.
	Signal(ctx context.Context, target WorkflowID, signal SignalPayload) error
}

// Querier asks workflows about themselves.
type Querier interface {
	// Query changes nothing. The form of the answer is the query's. Safe for concurrent use.
	Query(ctx context.Context, target WorkflowID, query QueryPayload) (json.RawMessage, error)
}

// Orchestrator is all of it together.
type Orchestrator interface {
	Dispatcher
	Signaler
	Querier
	// DispatchMany dispatches all at once and returns their results in the order of the requests; one that fails
	// does not stop the others. It passes the same middleware as Dispatch.
	DispatchMany(ctx context.Context, requests []DispatchRequest) []DispatchResult
}

// DispatchRequest is one of many dispatches.
type DispatchRequest struct {
	Operator OperatorID
	Input    OperatorInput
}

// DispatchResult is what became of a DispatchRequest: an output, or an error.
type DispatchResult struct {
	Output OperatorOutput
	Err    error
}

// StateReader reads state. Operators get only this; they write by declaring effects.
type StateReader interface {
	// Read returns the value, or nil and no error where there is none. The slice belongs to the caller.
	Read(ctx context.Context, scope Scope, key string) (json.RawMessage, error)
	// List returns the keys that start with prefix, sorted; an unknown scope has none.
	List(ctx context.Context, scope Scope, prefix string) ([]string, error)
	// Search returns up to limit results, best first; an empty query or a limit of 0 finds nothing.
	Search(ctx context.Context, scope Scope, query string, limit int) ([]SearchResult, error)
}

// StateStore reads and writes state. All methods are safe for concurrent use and return an *Error of the
// state family.
type StateStore interface {
	StateReader
	// Write stores value, which must be JSON and is not kept, and replaces what was there.
	Write(ctx context.Context, scope Scope, key string, value json.RawMessage, opts StoreOptions) error
	// Delete removes a value; a missing one is no error.
	Delete(ctx context.Context, scope Scope, key string) error
}

// Graph is a StateStore's relations between keys, for those that keep them.
type Graph interface {
	// Link adds a relation, or replaces the metadata of one that is there.
	Link(ctx context.Context, scope Scope, link MemoryLink) error
	// Unlink removes a relation; a missing one is no error.
	Unlink(ctx context.Context, scope Scope, from, to, relation string) error
	// Traverse returns the keys that can be reached from a key in at most maxDepth steps, nearest first, over one
	// relation or, if it is empty, over all.
	Traverse(ctx context.Context, scope Scope, from, relation string, maxDepth int) ([]string, error)
}

// Environment runs an operator in isolation.
type Environment interface {
	// Run executes the operator that the environment owns under spec. Its error is an *Error of the
	// environment family.
	Run(ctx context.Context, in OperatorInput, spec EnvironmentSpec) (OperatorOutput, error)
}
