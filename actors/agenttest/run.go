package agenttest

import (
	"context"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// Run executes op once, as a node does it for an operator that is not durable: with an invocation, and an observer. It returns
// what became of it, also where op failed; a panic of op passes through. What op gets and gives goes through JSON, as on the
// bus.
//
// The test fails where the input, or an event, cannot be sent, or the effects cannot be performed on the store of WithState. In an
// example tb is nil.
func Run(tb testing.TB, op protocol.Operator, in protocol.OperatorInput, opts ...Option) Result { //nolint:thelper // tb may be nil
	tb = orPrint(tb)
	tb.Helper()
	o := optionsOf(tb, opts)
	if len(o.signals) > 0 || o.children != nil || o.unknown != nil {
		tb.Fatalf("agenttest: WithSignal, WithOperators and WithUnknown are for durable runs")
	}
	in = o.input(tb, in)
	ctx := o.ctx
	inv := &protocol.Invocation{
		Call: protocol.Call{Run: o.run, Budget: o.budget}, Operator: o.operator, Instance: instanceOf(in, o.run),
	}
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
		inv.Deadline = time.Now().Add(o.timeout)
	}
	events := &collector{}
	inv.Events = events
	var r Result
	r.Output, r.Err = op.Execute(protocol.WithInvocation(ctx, inv), in)
	o.finish(tb, &r, events)
	return r
}

// input is what the operator gets.
func (o options) input(tb testing.TB, in protocol.OperatorInput) protocol.OperatorInput {
	tb.Helper()
	if o.session != nil {
		in.Session = o.session
	}
	if err := in.Validate(); err != nil {
		tb.Fatalf("agenttest: the input cannot be sent: %v", err)
	}
	in, err := read(in)
	if err != nil {
		tb.Fatalf("agenttest: the input cannot be sent: %v", err)
	}
	return in
}

func instanceOf(in protocol.OperatorInput, id protocol.RunID) string {
	if in.Session != nil {
		return string(*in.Session)
	}
	return string(id)
}

// finish completes a result.
func (o options) finish(tb testing.TB, r *Result, events *collector) {
	tb.Helper()
	var err error
	if r.events, err = events.all(); err != nil {
		tb.Errorf("agenttest: an event cannot be sent: %v", err)
	}
	if r.Err != nil {
		return
	}
	if r.Output, err = read(r.Output); err != nil {
		r.Err = protocol.NewError(protocol.CodeInternal, "the output cannot be sent: "+err.Error()).Because(err)
		return
	}
	if o.state != nil {
		o.perform(tb, o.state, *r)
	}
}

// perform performs the effects of the output, also where the context has ended: the run is over, they are not.
func (o options) perform(tb testing.TB, store protocol.StateStore, r Result) {
	tb.Helper()
	if err := perform(context.WithoutCancel(o.ctx), store, r.Output.Effects); err != nil {
		tb.Errorf("agenttest: perform the effects: %v", err)
	}
}
