package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/pattern"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
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
// matches counts, and then the fallback. In a durable run an operator that no node hosts right now is waited for, and one that
// nobody ever hosted is passed over for good, also if somebody hosts it when the run goes on. An input that is for nobody is
// answered with an empty text, and that is no error.
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
			out, there, err := try(ctx, d, protocol.OperatorID(name), in)
			if there || err != nil {
				return out, err
			}
			gone[name] = true
		}
	}), nil
}

var errThere = errors.New("the operator is there")

// try has one operator do it, if there is one. That there is none is recorded: a durable run that goes on when there is has
// asked the next one.
func try(
	ctx context.Context, d protocol.Dispatcher, id protocol.OperatorID, in protocol.OperatorInput,
) (out protocol.OperatorOutput, there bool, err error) {
	_, err = step.Next(ctx).Run(ctx, step.Spec{Kind: run.StepCode, Name: string(id)}, func(ctx context.Context) (run.Entry, error) {
		var err error
		out, err = forward(ctx, d, id, in)
		switch {
		case err == nil:
			return run.Entry{}, errThere
		case missing(id, err):
			return run.Entry{Result: []byte(`"missing"`)}, nil
		}
		return run.Entry{}, err
	})
	if errors.Is(err, errThere) {
		return out, true, nil
	}
	return protocol.OperatorOutput{}, false, err
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
