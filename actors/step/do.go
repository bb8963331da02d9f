package step

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// Option says something more of a step of Do.
type Option func(*options)

type options struct{ once bool }

// Once says that the step must not be made a second time where it is not known whether it happened. Its start is recorded
// before; if the process ends between that and the record of what it came to, the outcome is an error that is
// ErrOutcomeUnknown, and recorded.
//
// A step whose function waits in a step within, or is moved to another node there, is begun again: what stands before that
// step within is made twice, as everywhere in durable code.
func Once() Option { return func(o *options) { o.once = true } }

// Do returns what fn gave the first time. Until that is recorded fn may be called again, unless Once says otherwise.
//
// T is kept as JSON, and the result is what that reads back as; what does not read back is an error. An error of fn is
// recorded as a *protocol.Error, one without a code as internal with a fixed text, and comes back the same each time. Not
// recorded, and returned as it is, is an error that is retryable (the run may be tried again; but with Once it is recorded,
// and not retryable any more), that came since ctx ended, or that has to leave the code. A panic passes through.
func Do[T any](ctx context.Context, name string, fn func(context.Context) (T, error), opts ...Option) (T, error) {
	at := Next(ctx)
	if !at.Durable() {
		return fn(ctx)
	}
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	spec := Spec{Kind: run.StepCode, Name: name}
	if o.once {
		spec.Unknown = func() run.Entry { return run.Entry{Error: unknown(name)} }
	}
	e, err := at.Run(ctx, spec, func(ctx context.Context) (run.Entry, error) {
		v, err := fn(ctx)
		if err != nil {
			return failure(ctx, err, o.once)
		}
		e := encode(name, v)
		if s, ok := any(v).(Spent); ok {
			e.Cost = s.Spent()
		}
		return e, nil
	})
	if err != nil {
		return *new(T), err
	}
	return decode[T](at, e)
}

// Spent is the role of a result of Do that says what the step cost, with all below it. The run's budget is the less for it.
type Spent interface {
	// Spent is an amount in USD; nil is nothing.
	Spent() *protocol.Decimal
}

// failure is what is recorded of an error, or the error if it is not.
func failure(ctx context.Context, err error, once bool) (run.Entry, error) {
	if Unwinding(err) || ctx.Err() != nil || !once && protocol.IsRetryable(err) {
		return run.Entry{}, err
	}
	e := *recordable(err)
	e.Retryable, e.RetryAfter = false, 0
	return run.Entry{Error: &e}, nil
}

// encode is what is recorded of a result: the step was made, so that it cannot be kept is what it came to.
func encode[T any](name string, v T) run.Entry {
	raw, err := protocol.Marshal(v)
	if err != nil {
		return lossy[T](name, err)
	}
	var back T
	if err := json.Unmarshal(raw, &back); err != nil {
		return lossy[T](name, err)
	}
	return run.Entry{Result: raw}
}

func lossy[T any](name string, err error) run.Entry {
	return run.Entry{Error: protocol.NewError(protocol.CodeInternal, fmt.Sprintf("step %q was made, but its result, a %T, cannot "+
		"be kept as JSON and read back: %v", name, *new(T), err)).Clip()}
}

// decode is what a step returns.
func decode[T any](at At, e run.Entry) (T, error) {
	var v T
	if e.Error != nil {
		return v, revived(e.Error)
	}
	if len(e.Result) == 0 {
		e.Result = json.RawMessage("null")
	}
	if err := json.Unmarshal(e.Result, &v); err != nil {
		return *new(T), at.in.leave(changed(at.path, fmt.Sprintf("the recorded result of %q is no %T: %v", e.Name, v, err)))
	}
	return v, nil
}
