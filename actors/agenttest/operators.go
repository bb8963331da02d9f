package agenttest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/skelegent/skelegent-go/protocol"
)

// Dispatcher dispatches to operators of the same process, in place of the bus: for patterns, and for operators as tools. It is
// safe for concurrent use.
type Dispatcher struct {
	operators map[protocol.OperatorID]protocol.Operator

	mu         sync.Mutex
	runs       int
	dispatched []*Dispatched
	signals    map[protocol.WorkflowID][]protocol.SignalPayload
}

var _ protocol.Orchestrator = (*Dispatcher)(nil)

// Dispatched is a dispatch that is over.
type Dispatched struct {
	Operator protocol.OperatorID
	Input    protocol.OperatorInput
	// Call is what went along: the run, its parent, the budget.
	Call protocol.Call
	// Result is what the caller got. It has the events of the run.
	Result Result
}

// Operators returns a dispatcher for the operators.
func Operators(operators map[protocol.OperatorID]protocol.Operator) *Dispatcher {
	return &Dispatcher{operators: maps.Clone(operators), signals: map[protocol.WorkflowID][]protocol.SignalPayload{}}
}

// Dispatch implements protocol.Dispatcher. It executes the operator before it returns, also where ctx ends meanwhile. Errors, and
// panics of the operator, come back as they do over the bus: an error without a code as internal, with the error itself in its
// chain.
func (d *Dispatcher) Dispatch(ctx context.Context, id protocol.OperatorID, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	this := &Dispatched{Operator: id, Input: in, Call: protocol.NextCall(ctx)}
	d.mu.Lock()
	d.runs++
	this.Call.Run = cmp.Or(this.Call.Run, protocol.RunID(fmt.Sprintf("child%d", d.runs)))
	d.mu.Unlock()

	events := &collector{}
	this.Result.Output, this.Result.Err = d.execute(ctx, this, events)
	this.Result.events, _ = events.all()

	d.mu.Lock()
	defer d.mu.Unlock()
	d.dispatched = append(d.dispatched, this)
	return this.Result.Output, this.Result.Err
}

func (d *Dispatcher) execute(ctx context.Context, this *Dispatched, events protocol.EventSink) (out protocol.OperatorOutput, err error) {
	op, ok := d.operators[this.Operator]
	if !ok {
		names := slices.Sorted(maps.Keys(d.operators))
		return out, protocol.ErrOperatorNotFound(this.Operator).With("operators", joined(names))
	}
	if err := this.Input.Validate(); err != nil {
		return out, err
	}
	in, err := read(this.Input)
	if err != nil {
		return out, protocol.NewError(protocol.CodeInvalidInput, "input cannot be written as JSON: "+err.Error()).Because(err)
	}
	inv := &protocol.Invocation{
		Call: this.Call, Operator: this.Operator, Instance: instanceOf(in, this.Call.Run), Events: events,
	}
	inv.Deadline, _ = ctx.Deadline()
	// What a call was given for its next dispatch is not for the dispatches of the operator.
	ctx = protocol.WithCall(protocol.WithInvocation(ctx, inv), protocol.Call{})
	defer func() {
		if v := recover(); v != nil {
			err = protocol.NewError(protocol.CodeInternal, "the operator panicked; see the node's log").
				Because(fmt.Errorf("panic in operator %s: %v\n%s", this.Operator, v, debug.Stack()))
		}
	}()
	out, err = op.Execute(ctx, in)
	if err != nil {
		return protocol.OperatorOutput{}, protocol.AsError(err)
	}
	if out, err = read(out); err != nil {
		return protocol.OperatorOutput{}, protocol.NewError(protocol.CodeInternal, "the output cannot be sent: "+err.Error()).Because(err)
	}
	return out, nil
}

func joined(ids []protocol.OperatorID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	return strings.Join(names, ", ")
}

// DispatchMany implements protocol.Orchestrator.
func (d *Dispatcher) DispatchMany(ctx context.Context, requests []protocol.DispatchRequest) []protocol.DispatchResult {
	return protocol.DispatchMany(ctx, d, requests, 0)
}

// Signal implements protocol.Signaler: it keeps the signal. Nobody is told.
func (d *Dispatcher) Signal(ctx context.Context, target protocol.WorkflowID, signal protocol.SignalPayload) error {
	if err := ctx.Err(); err != nil {
		return protocol.AsError(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.signals[target] = append(d.signals[target], signal)
	return nil
}

// Query implements protocol.Querier. Whatever is asked, the answer is how many signals the workflow got: {"signals": 2}.
func (d *Dispatcher) Query(ctx context.Context, target protocol.WorkflowID, _ protocol.QueryPayload) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, protocol.AsError(err)
	}
	return json.RawMessage(fmt.Sprintf(`{"signals":%d}`, len(d.Signals(target)))), nil
}

// Signals returns the signals that a workflow got, in the order in which they came.
func (d *Dispatcher) Signals(target protocol.WorkflowID) []protocol.SignalPayload {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.signals[target])
}

// Dispatched returns the dispatches to the operators, of all if none is named, in the order in which they ended. Those to operators
// that do not exist are among them.
func (d *Dispatcher) Dispatched(operators ...protocol.OperatorID) []Dispatched {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := []Dispatched{}
	for _, this := range d.dispatched {
		if len(operators) == 0 || slices.Contains(operators, this.Operator) {
			all = append(all, *this)
		}
	}
	return all
}
