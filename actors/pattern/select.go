package pattern

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// Choice is what a Selector chooses from.
type Choice struct {
	// Operators are the members; never empty. They must not be changed.
	Operators []protocol.OperatorID
	// Input is what the chosen one will get.
	Input protocol.OperatorInput
	// Round counts from 0, Last is what the round before gave; nil in the first one.
	Round int
	Last  *protocol.OperatorOutput
}

// Selector chooses who works next: one of the operators of the choice, or none, which is empty. It is safe for concurrent
// use. In a durable run it is asked once and its answer recorded, so it may go by chance, the time, or a model.
type Selector func(ctx context.Context, c Choice) (protocol.OperatorID, error)

// RoundRobin chooses each operator in turn. It goes on from one execution to the next, for as long as the process lives.
func RoundRobin() Selector {
	var n atomic.Uint64
	return func(_ context.Context, c Choice) (protocol.OperatorID, error) {
		turn := n.Add(1) - 1
		return c.Operators[turn%uint64(len(c.Operators))], nil
	}
}

// Random chooses by chance. intN gives a number from 0 to below n, and is safe for concurrent use; nil is that of
// math/rand/v2.
func Random(intN func(n int) int) Selector {
	if intN == nil {
		intN = rand.IntN
	}
	return func(_ context.Context, c Choice) (protocol.OperatorID, error) {
		return c.Operators[intN(len(c.Operators))], nil
	}
}

// Case is one of FirstMatch.
type Case struct {
	Operator protocol.OperatorID
	// Match reports whether the operator is for an input; nil matches all.
	Match func(in protocol.OperatorInput) bool
}

// FirstMatch chooses the operator of the first case that matches the input, and none if no case does.
func FirstMatch(cases ...Case) Selector {
	cases = slices.Clone(cases)
	return func(_ context.Context, c Choice) (protocol.OperatorID, error) {
		for _, one := range cases {
			if one.Match == nil || one.Match(c.Input) {
				return one.Operator, nil
			}
		}
		return "", nil
	}
}

// choose asks a selector. The error is not_found if it names who is no member.
func (w *work) choose(ctx context.Context, s Selector, c Choice) (protocol.OperatorID, error) {
	if err := ctx.Err(); err != nil {
		return "", protocol.AsError(err)
	}
	id, err := step.Do(ctx, "select", func(ctx context.Context) (protocol.OperatorID, error) { return s(ctx, c) })
	if err != nil || id == "" || slices.Contains(c.Operators, id) {
		return id, err
	}
	return "", protocol.ErrOperatorNotFound(id)
}

// errNobody says that a selector chose none to begin with.
func errNobody() error {
	return protocol.NewError(protocol.CodeNotFound, "no operator was selected for the input")
}

// Select has the one work that is selected for the input. If none is, that is an error with the code not_found. The error of
// Select says that something is missing.
func Select(d protocol.Dispatcher, s Selector, members ...protocol.OperatorID) (protocol.Operator, error) {
	if s == nil || len(members) == 0 {
		return nil, invalid("select: a selector and operators are needed")
	}
	members = slices.Clone(members)
	return protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		w := begin(ctx, d, in)
		id, err := w.choose(ctx, s, Choice{Operators: members, Input: in})
		if err == nil && id == "" {
			err = errNobody()
		}
		if err != nil {
			return protocol.OperatorOutput{}, err
		}
		out, err := w.dispatch(ctx, id, in)
		if err != nil {
			return protocol.OperatorOutput{}, err
		}
		w.declare(out.Effects...)
		return w.output(out.Message, out.ExitReason), nil
	}), nil
}
