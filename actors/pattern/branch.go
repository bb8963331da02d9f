package pattern

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// clone is an input of its own: one belongs to the operator that gets it.
func clone(in protocol.OperatorInput) protocol.OperatorInput {
	in.Message, in.Metadata, in.Context = in.Message.Clone(), bytes.Clone(in.Metadata), slices.Clone(in.Context)
	return in
}

// dispatchAll dispatches all, at most limit at once, and returns what became of each when all have ended. The error is that of
// a context that ended, or by which a durable run unwinds.
func (w *work) dispatchAll(
	ctx context.Context, requests []protocol.DispatchRequest, limit int,
) ([]protocol.DispatchResult, error) {
	requests = slices.Clone(requests)
	for i := range requests {
		if config := w.config(len(requests)); config != nil && requests[i].Input.Config == nil {
			own := *config
			requests[i].Input.Config = &own
		}
	}
	var results []protocol.DispatchResult
	if w.durable {
		var err error
		if results, err = w.durably(ctx, requests, limit); err != nil {
			return nil, err
		}
	} else {
		call := protocol.Call{Budget: w.share(ctx, len(requests)), TakeEffects: true}
		results = protocol.DispatchMany(protocol.WithCall(ctx, call), w.dispatcher, requests, limit)
	}
	if err := ctx.Err(); err != nil {
		return nil, protocol.AsError(err)
	}
	return results, nil
}

// durably is dispatchAll in a durable run. The steps take their places before any begins, so that each finds its own again. A
// dispatch that waits goes on holding its place among the limit.
func (w *work) durably(
	ctx context.Context, requests []protocol.DispatchRequest, limit int,
) ([]protocol.DispatchResult, error) {
	places := make([]step.At, len(requests))
	begun := 0
	for i := range places {
		places[i] = step.Next(ctx)
		known, err := places[i].Known(ctx)
		if err != nil {
			return nil, err
		} else if known { // it has its budget
			begun++
		}
	}
	share := w.share(ctx, len(requests)-begun)
	results := make([]protocol.DispatchResult, len(requests))
	each(len(requests), limit, func(i int) bool {
		results[i] = w.branch(ctx, places[i], requests[i], share)
		return !step.Unwinding(results[i].Err)
	})
	return results, leaving(results)
}

// each calls f for 0 to n-1 in up to limit goroutines and returns when they have ended. One for which f is false ends.
func each(n, limit int, f func(i int) bool) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, limit) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && f(i); i = int(next.Add(1)) - 1 {
				continue
			}
		})
	}
	all.Wait()
}

// leaving returns the error by which the run has to unwind: that it stops here comes before that it waits.
func leaving(results []protocol.DispatchResult) error {
	var waits error
	for _, r := range results {
		var u *step.Unwind
		switch {
		case !step.Unwinding(r.Err):
		case !errors.As(r.Err, &u) || u.Wait == nil || u.Wait.Paused:
			return r.Err
		case waits == nil:
			waits = r.Err
		}
	}
	return waits
}

// attempts are how often a dispatch is made that fails for a reason that may pass. If it is the member that failed, which
// is in the log, the log gives the same again at once.
const attempts = 3

// branch is one dispatch of a durable run beside others, at its place.
func (w *work) branch(
	ctx context.Context, at step.At, r protocol.DispatchRequest, budget *protocol.Decimal,
) (result protocol.DispatchResult) {
	defer func() {
		if v := recover(); v != nil {
			result.Err = protocol.ErrDispatchFailed("the dispatch panicked").WithCode(protocol.CodeInternal).
				Because(fmt.Errorf("panic of %T\n%s", v, debug.Stack()))
		}
	}()
	spec := step.Spec{Kind: run.StepCode, Name: string(r.Operator)}
	var e run.Entry
	var err error
	for n := 1; n <= attempts; n++ {
		e, err = at.Run(ctx, spec, func(ctx context.Context) (run.Entry, error) {
			out, err := w.call(ctx, r.Operator, r.Input, budget)
			switch {
			case err == nil:
				raw, err := protocol.Marshal(out)
				return run.Entry{Result: raw}, err
			case step.Unwinding(err), ctx.Err() != nil, n < attempts && protocol.IsRetryable(err):
				return run.Entry{}, err
			}
			return run.Entry{Error: protocol.AsError(err).Clip()}, nil
		})
		if err == nil || step.Unwinding(err) || ctx.Err() != nil || !protocol.IsRetryable(err) {
			break
		}
	}
	switch {
	case err != nil:
		result.Err = err
	case e.Error != nil:
		result.Err = e.Error
	default:
		result.Err = protocol.Unmarshal(e.Result, &result.Output)
	}
	return result
}
