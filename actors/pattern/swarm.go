package pattern

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/skelegent/skelegent-go/protocol"
)

// SwarmConfig says who may hand the work to whom.
type SwarmConfig struct {
	// Start is who gets the input.
	Start protocol.OperatorID
	// Transitions are, by who hands off, those that may be handed to.
	Transitions map[protocol.OperatorID][]protocol.OperatorID
	// MaxHandoffs is how often the work changes hands at most; DefaultMaxRounds if 0.
	MaxHandoffs int
}

// Swarm has members hand the work to each other until one of them ends otherwise, which ends the swarm. Who is handed the
// work gets the state of the handoff as its input. The handoffs are done here, and not declared.
//
// A handoff that the transitions do not have is refused: the swarm ends with interceptor_halt, which says who may not hand to
// whom, and what was declared until then. One too many ends it with max_turns. The error says that cfg lacks something.
func Swarm(d protocol.Dispatcher, cfg SwarmConfig) (protocol.Operator, error) {
	if cfg.Start == "" {
		return nil, invalid("swarm: an operator to start with is needed")
	}
	cfg.Transitions = maps.Clone(cfg.Transitions)
	for from, to := range cfg.Transitions {
		cfg.Transitions[from] = slices.Clone(to)
	}
	if cfg.MaxHandoffs <= 0 {
		cfg.MaxHandoffs = DefaultMaxRounds
	}
	return swarm{dispatcher: d, cfg: cfg}, nil
}

type swarm struct {
	dispatcher protocol.Dispatcher
	cfg        SwarmConfig
}

// Execute implements protocol.Operator.
func (s swarm) Execute(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	w := begin(ctx, s.dispatcher, in)
	who := s.cfg.Start
	for handoffs := 0; ; handoffs++ {
		out, err := w.dispatch(ctx, who, in)
		if err != nil {
			return protocol.OperatorOutput{}, err
		}
		h, rest, handed := handoff(out)
		w.declare(rest...)
		switch {
		case !handed:
			return w.output(out.Message, out.ExitReason), nil
		case !slices.Contains(s.cfg.Transitions[who], h.Operator):
			return w.output(out.Message, protocol.InterceptorHalt(
				fmt.Sprintf("%s may not hand off to %.200s; it may to %v", who, h.Operator, s.cfg.Transitions[who]))), nil
		case handoffs == s.cfg.MaxHandoffs:
			return w.output(out.Message, protocol.Exit(protocol.ExitMaxTurns)), nil
		}
		who, in = h.Operator, w.handedOver(h)
	}
}
