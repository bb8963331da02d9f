package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/pattern"
	"github.com/skelegent/skelegent-go/protocol"
)

// Route says which operator an input is for that has any of the signals.
type Route struct {
	Signals  []compose.Signal
	Operator protocol.OperatorID
}

// CoordinatorConfig says how a Coordinator routes.
type CoordinatorConfig struct {
	// Routes are tried in order.
	Routes []Route
	// Fallback is for inputs that no route matches; empty is nobody.
	Fallback protocol.OperatorID
}

// Coordinator dispatches each input, as it is, to one operator: that of the first route one of whose signals is in the metadata
// of the input, else the fallback. No model is asked. An operator that does not exist is passed over: the next route that
// matches counts, and then the fallback; only in a durable run an operator that no node hosts right now is waited for. An input
// that is for nobody is answered with an empty text, and that is no error.
//
// Exit, cost and effects are those of the operator. The error of Coordinator says what in cfg cannot be used.
func Coordinator(d protocol.Dispatcher, cfg CoordinatorConfig) (protocol.Operator, error) {
	routes := slices.Clone(cfg.Routes)
	for i, r := range routes {
		if r.Operator == "" || len(r.Signals) == 0 {
			return nil, compose.ErrInvalidArgument(fmt.Sprintf("route %d needs signals and an operator", i+1))
		}
	}
	if len(routes) == 0 && cfg.Fallback == "" {
		return nil, compose.ErrInvalidArgument("a coordinator needs routes or a fallback")
	}
	rules := make([]compose.Rule, len(routes))
	for i, r := range routes {
		rules[i] = compose.Rule{Agent: string(r.Operator), Signals: slices.Clone(r.Signals)}
	}
	return protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		signals, err := Signals(in)
		if err != nil {
			return protocol.OperatorOutput{}, err
		}
		gone := map[string]bool{}
		for {
			name, ok := compose.Route(rules, signals, func(name string) bool { return !gone[name] }, string(cfg.Fallback))
			if !ok {
				return protocol.Reply(""), nil
			}
			out, err := forward(ctx, d, protocol.OperatorID(name), in)
			if !missing(protocol.OperatorID(name), err) {
				return out, err
			}
			gone[name] = true
		}
	}), nil
}

// forward has one operator do it.
func forward(ctx context.Context, d protocol.Dispatcher, id protocol.OperatorID, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	only := func(context.Context, pattern.Choice) (protocol.OperatorID, error) { return id, nil }
	op, err := pattern.Select(d, only, id)
	if err != nil {
		return protocol.OperatorOutput{}, err
	}
	return op.Execute(ctx, in)
}

// missing reports whether the error says that there is no operator id, and not that it could not find another one.
func missing(id protocol.OperatorID, err error) bool {
	var e, cause *protocol.Error
	return errors.As(err, &e) && errors.As(e.Unwrap(), &cause) &&
		cause.Kind == protocol.KindOrchOperatorNotFound && cause.Message == protocol.ErrOperatorNotFound(id).Message
}
