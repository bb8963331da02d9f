package step

import (
	"context"
	"fmt"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// CallOption says something more of a Call.
type CallOption func(*calling)

type calling struct {
	budget   *protocol.Decimal
	detached bool
	effects  bool
}

// Budget is what the child, and all below it, may spend in USD. It is taken from what is left of the run's own, and what the
// child does not spend comes back at its end. Without it nothing is set aside.
func Budget(usd protocol.Decimal) CallOption { return func(c *calling) { c.budget = &usd } }

// Detached says not to wait: Call returns an empty output once the child is on its way, and it lives on when the run ends.
func Detached() CallOption { return func(c *calling) { c.detached = true } }

// TakeEffects says that the run that calls takes the effects of the child's output, to declare them itself or not: they are not
// performed where the child ends.
func TakeEffects() CallOption { return func(c *calling) { c.effects = true } }

// Call has another operator do something and returns its output. The child's run is named after the step, so a run that goes
// on finds the child that it began. After a short while the run is suspended until the child has ended. The error of a
// child that failed is a *protocol.Error, and recorded.
func Call(
	ctx context.Context, name string, operator protocol.OperatorID, in protocol.OperatorInput, opts ...CallOption,
) (protocol.OperatorOutput, error) {
	at := Next(ctx)
	if !at.Durable() {
		return protocol.OperatorOutput{}, unsupported("step.Call")
	}
	if err := in.Validate(); err != nil {
		return protocol.OperatorOutput{}, err
	}
	var c calling
	for _, o := range opts {
		o(&c)
	}
	e, found, err := at.lookup(ctx, run.StepCall, name)
	if err != nil {
		return protocol.OperatorOutput{}, err
	}
	if !found {
		e = run.Entry{Path: at.path, Step: run.StepCall, Name: name, Begun: true, Child: at.child(operator, in, c)}
	}
	for e.Begun && (!found || !c.detached) {
		if err := at.in.rec.Boundary(ctx); err != nil {
			return protocol.OperatorOutput{}, at.in.leave(err)
		}
		if e, err = at.in.rec.Call(ctx, e, in); err != nil {
			return protocol.OperatorOutput{}, at.in.leave(err)
		}
		if found = true; !e.Begun { // else something came that ends the wait, but not the child
			at.in.spend(e.Cost)
		}
	}
	if c.detached {
		return protocol.OperatorOutput{}, nil
	}
	return at.output(e)
}

func (a At) child(operator protocol.OperatorID, in protocol.OperatorInput, c calling) *run.Child {
	id := a.in.rec.Info().Run + protocol.RunID("."+a.path)
	instance := string(id)
	if in.Session != nil {
		instance = string(*in.Session)
	}
	return &run.Child{Operator: operator, Instance: instance, Run: id, Budget: c.budget, Detached: c.detached, TakeEffects: c.effects}
}

// output is what a child gave.
func (a At) output(e run.Entry) (out protocol.OperatorOutput, err error) {
	if e.Error != nil {
		return out, e.Error.Because(nil)
	}
	if err := protocol.Unmarshal(e.Result, &out); err != nil {
		return out, fmt.Errorf("step %s: output of child: %w", a.path, err)
	}
	return out, nil
}
