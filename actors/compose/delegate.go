package compose

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Executor is an agent to which work is delegated, wherever it runs. Implementations are safe for concurrent use. What else
// it can say of itself are the roles Describer and tool.Repeater.
type Executor interface {
	// Invoke does what the arguments say and ends early when ctx does. Error and result are those of a tool; see tool.Tool.
	Invoke(ctx context.Context, args json.RawMessage) (tool.Result, error)
}

// ExecutorFunc is a function as an Executor.
type ExecutorFunc func(ctx context.Context, args json.RawMessage) (tool.Result, error)

// Invoke calls f.
func (f ExecutorFunc) Invoke(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	return f(ctx, args)
}

// Delegates is a set of executors by name. It is safe for concurrent use; the zero value is empty and ready.
type Delegates struct {
	mu  sync.RWMutex
	all map[string]Executor
}

// Register adds an executor; one of the same name is replaced. The error is of kind KindInvalidArgument: there is none, or
// the name is no identifier.
func (d *Delegates) Register(name string, e Executor) error {
	if e == nil {
		return ErrInvalidArgument("a delegate that is nil")
	}
	if !IsIdentifier(name) {
		return ErrInvalidArgument("the name of a delegate: " + quoted(name))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[string]Executor{}
	}
	d.all[name] = e
	return nil
}

// Get returns an executor, and whether there is one.
func (d *Delegates) Get(name string) (Executor, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	e, ok := d.all[name]
	return e, ok
}

// Len returns the number of executors.
func (d *Delegates) Len() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.all)
}

// Names returns the names, sorted.
func (d *Delegates) Names() []string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.Sorted(maps.Keys(d.all))
}

// Descriptors returns what there is to say of the executors, sorted by name.
func (d *Delegates) Descriptors() []Descriptor {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return describe(d.all)
}

// anyObject is the schema of what a delegate takes and gives unless something else is said.
var anyObject = json.RawMessage(`{"type":"object"}`)

// DelegateTool is an executor as a tool: a model decides when to ask it, or a skill. Arguments and results are any objects.
// It may spend money, and may be called again where its executor says so (tool.Repeater). The error is of kind
// KindInvalidArgument: no executor, or a name that is no identifier.
func DelegateTool(name, description string, e Executor, opts ...tool.Option) (tool.Tool, error) {
	return DelegateToolWithSchema(protocol.ToolMetadata{Name: name, Description: description}, nil, e, opts...)
}

// DelegateToolWithSchema is DelegateTool with the schemas of what it takes and gives; none is any object. What does not fit
// the schema of the input never reaches the executor. The schema of the result is what ResultSchema returns of the tool, and
// not checked.
func DelegateToolWithSchema(
	meta protocol.ToolMetadata, result json.RawMessage, e Executor, opts ...tool.Option,
) (tool.Tool, error) {
	if e == nil {
		return nil, ErrInvalidArgument("a delegate that is nil")
	}
	if !IsIdentifier(meta.Name) {
		return nil, ErrInvalidArgument("the name of a delegate: " + quoted(meta.Name))
	}
	if len(meta.InputSchema) == 0 {
		meta.InputSchema = anyObject
	}
	if len(result) == 0 {
		result = anyObject
	}
	own := []tool.Option{tool.Spending()}
	if r, ok := e.(tool.Repeater); ok && r.Repeatable() {
		own = append(own, tool.Repeatable())
	}
	t, err := tool.Raw(meta, e.Invoke, append(own, opts...)...)
	if err != nil {
		return nil, ErrInvalidArgument(protocol.AsError(err).Message).Because(err)
	}
	return delegate{Tool: t, result: result}, nil
}

// ResultDescriber is the role of a tool that has a schema of its results.
type ResultDescriber interface {
	// ResultSchema returns the same each time.
	ResultSchema() json.RawMessage
}

// ResultSchema returns the schema of the results of t, nil if it has none.
func ResultSchema(t tool.Tool) json.RawMessage {
	for {
		if r, ok := t.(ResultDescriber); ok {
			return r.ResultSchema()
		}
		w, ok := t.(tool.Wrapper)
		if !ok {
			return nil
		}
		t = w.Unwrap()
	}
}

type delegate struct {
	tool.Tool
	result json.RawMessage
}

// ResultSchema implements ResultDescriber.
func (d delegate) ResultSchema() json.RawMessage { return d.result }

// Unwrap implements tool.Wrapper.
func (d delegate) Unwrap() tool.Tool { return d.Tool }

// Stub is an executor for a delegate that nobody has wired yet: it says so, and repeats the arguments.
func Stub(name string) Executor { return stub{name} }

type stub struct{ name string }

// Repeatable implements tool.Repeater.
func (stub) Repeatable() bool { return true }

// Invoke implements Executor.
func (s stub) Invoke(_ context.Context, args json.RawMessage) (tool.Result, error) {
	raw, err := protocol.Marshal(struct {
		Status   string          `json:"status"`
		Delegate string          `json:"delegate"`
		Args     json.RawMessage `json:"args"`
		Hint     string          `json:"hint"`
	}{"delegate_unwired", s.name, args, "no executor is registered for this delegate; register one under its name to wire it"})
	if err != nil {
		return tool.Result{}, ErrSerialization(err)
	}
	return tool.Result{Output: raw}, nil
}
