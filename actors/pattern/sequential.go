package pattern

import (
	"context"
	"slices"

	"github.com/skelegent/skelegent-go/protocol"
)

// Sequential has the members work one after another: the first one gets the input, each other what the one before it said,
// as a task. It ends with the first output that is not complete, else with the last one. Without members it gives the input
// back.
func Sequential(d protocol.Dispatcher, members ...protocol.OperatorID) protocol.Operator {
	members = slices.Clone(members)
	return protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		w := begin(ctx, d, in)
		message := in.Message
		for _, id := range members {
			out, err := w.dispatch(ctx, id, in)
			if err != nil {
				return protocol.OperatorOutput{}, err
			}
			w.declare(out.Effects...)
			message = out.Message
			if !complete(out) {
				return w.output(message, out.ExitReason), nil
			}
			in = w.task(message)
		}
		return w.output(message, protocol.Exit(protocol.ExitComplete)), nil
	})
}

// DefaultMaxRounds is how often a Loop, a Supervisor or a Swarm goes on unless something else is said.
const DefaultMaxRounds = 10

// LoopConfig says what a Loop repeats.
type LoopConfig struct {
	Operator protocol.OperatorID
	// Done reports whether an output that is complete ends the loop.
	Done func(out protocol.OperatorOutput) bool
	// MaxIterations is how often the member works at most; DefaultMaxRounds if 0.
	MaxIterations int
}

// Loop has one member work again and again, each time on what it said before, until it is done. An output that is not complete
// ends the loop as well. After the last iteration the exit is max_turns, with what the member said then. The error says that
// cfg lacks something.
func Loop(d protocol.Dispatcher, cfg LoopConfig) (protocol.Operator, error) {
	if cfg.Operator == "" || cfg.Done == nil {
		return nil, invalid("loop: an operator and a function that says when it is done are needed")
	}
	if cfg.MaxIterations <= 0 {
		cfg.MaxIterations = DefaultMaxRounds
	}
	return protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		w := begin(ctx, d, in)
		var message protocol.Content
		for range cfg.MaxIterations {
			out, err := w.dispatch(ctx, cfg.Operator, in)
			if err != nil {
				return protocol.OperatorOutput{}, err
			}
			w.declare(out.Effects...)
			message = out.Message
			if !complete(out) || cfg.Done(out) {
				return w.output(message, out.ExitReason), nil
			}
			in = w.task(message)
		}
		return w.output(message, protocol.Exit(protocol.ExitMaxTurns)), nil
	}), nil
}
