package pattern

import (
	"context"
	"slices"

	"github.com/skelegent/skelegent-go/protocol"
)

// SupervisorConfig says whom a Supervisor has work, and for how long.
type SupervisorConfig struct {
	// Operators are the members.
	Operators []protocol.OperatorID
	// Select chooses who works, in the first round and where nobody was named. If it chooses none, what there is is the
	// result.
	Select Selector
	// Done reports whether an output that is complete ends the work; nil is that each does. Else it is the input of the next
	// round.
	Done func(out protocol.OperatorOutput) bool
	// MaxRounds is how often a member works at most; DefaultMaxRounds if 0.
	MaxRounds int
}

// Supervisor has members work in rounds. One that hands the work to another member names who goes on, with the state of the
// handoff as its input; who goes on after a handoff to somebody else, or after an output that is not done, is selected. Such
// handoffs are not declared: they are done here. But where none is selected after a handoff to somebody else, it passes out.
//
// Any other exit that is not complete passes out. After the last round the exit is max_turns. The error says that cfg lacks
// something.
func Supervisor(d protocol.Dispatcher, cfg SupervisorConfig) (protocol.Operator, error) {
	if len(cfg.Operators) == 0 || cfg.Select == nil {
		return nil, invalid("supervisor: operators and a selector are needed")
	}
	cfg.Operators = slices.Clone(cfg.Operators)
	if cfg.Done == nil {
		cfg.Done = complete
	}
	if cfg.MaxRounds <= 0 {
		cfg.MaxRounds = DefaultMaxRounds
	}
	return supervisor{dispatcher: d, cfg: cfg}, nil
}

type supervisor struct {
	dispatcher protocol.Dispatcher
	cfg        SupervisorConfig
}

// Execute implements protocol.Operator.
func (s supervisor) Execute(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	w := begin(ctx, s.dispatcher, in)
	var last *protocol.OperatorOutput
	var abroad protocol.Effects // a handoff to somebody else
	var next protocol.OperatorID
	for round := range s.cfg.MaxRounds {
		if next == "" {
			id, err := w.choose(ctx, s.cfg.Select, Choice{Operators: s.cfg.Operators, Input: in, Round: round, Last: last})
			switch {
			case err != nil:
				return protocol.OperatorOutput{}, err
			case id == "" && last == nil:
				return protocol.OperatorOutput{}, errNobody()
			case id == "":
				w.declare(abroad...)
				return w.output(last.Message, last.ExitReason), nil
			}
			next = id
		}
		out, err := w.dispatch(ctx, next, in)
		if err != nil {
			return protocol.OperatorOutput{}, err
		}
		h, rest, handed := handoff(out)
		w.declare(rest...)
		last, next, abroad = &out, "", nil
		switch {
		case handed && slices.Contains(s.cfg.Operators, h.Operator):
			in, next = w.handedOver(h), h.Operator
		case handed:
			in, abroad = w.handedOver(h), protocol.Effects{h}
		case !complete(out) || s.cfg.Done(out):
			return w.output(out.Message, out.ExitReason), nil
		default:
			in = w.task(out.Message)
		}
	}
	return w.output(last.Message, protocol.Exit(protocol.ExitMaxTurns)), nil
}
