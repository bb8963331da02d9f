package serve

import (
	"context"
	"strconv"
	"time"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// DefaultMaxToolCalls is how many calls of tools the skills of a chain may make for one input unless something else is said.
const DefaultMaxToolCalls = 1000

// ChainConfig says how a Chain runs.
type ChainConfig struct {
	// MaxToolCalls is how many calls of tools the skills may make for one input; DefaultMaxToolCalls if 0. One more is an error
	// with the code quota_exceeded. Those of chains below, in this process or another, are theirs to bound.
	MaxToolCalls int
	// Now is time.Now if nil. A durable run asks it once.
	Now func() time.Time
}

// Chain is an agent as an operator: each input is one step of it. A message that is an object in JSON is read as the arguments
// of a delegate are, see compose.InvestigationFrom; any other text becomes evidence of an investigation that is otherwise
// empty. The signals of the metadata are added. The answer is the JSON that compose.InProcess gives: who dispatches cannot tell
// whether the agent runs here or there.
//
// In a durable run all evidence bears the time at which the run began. Tools are called by compose.DefaultCaller: as steps of a durable run, which also waits for approval where that is needed.
func Chain(agent compose.Agent, cfg ChainConfig) protocol.Operator {
	if cfg.MaxToolCalls <= 0 {
		cfg.MaxToolCalls = DefaultMaxToolCalls
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		args, err := arguments(in)
		if err != nil {
			return protocol.OperatorOutput{}, err
		}
		if ctx, err = clocked(ctx, cfg.Now); err != nil {
			return protocol.OperatorOutput{}, err
		}
		start := time.Now()
		w := newWork(ctx, in, cfg.MaxToolCalls)
		res, err := compose.InProcess(agent).Invoke(compose.WithCaller(ctx, w.call), args)
		if err != nil {
			return protocol.OperatorOutput{}, failed(ctx, err)
		}
		return w.output(res, time.Since(start)), nil
	})
}

// clocked has evidence of a durable run bear the time at which the run began, which it recorded: the same on replay.
func clocked(ctx context.Context, now func() time.Time) (context.Context, error) {
	if _, durable := step.InfoFrom(ctx); !durable {
		return ctx, nil
	}
	began, err := step.Do(ctx, "begin", func(context.Context) (time.Time, error) { return now().UTC().Round(0), nil })
	if err != nil {
		return nil, err
	}
	return compose.WithNow(ctx, func() time.Time { return began }), nil
}

// failed is the error of a run whose time ended, or err.
func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil && !step.Unwinding(err) {
		return protocol.AsError(ctx.Err()).Because(err)
	}
	return err
}

// callID names the nth call of a run.
func callID(ctx context.Context, n int) string {
	return string(protocol.InvocationFrom(ctx).Run) + "/" + strconv.Itoa(n)
}
