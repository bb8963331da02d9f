package workflow

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/skelegent/skelegent-go/actors/budget"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// DefaultLimit is how many branches of a Parallel are under way at once unless something else is said.
const DefaultLimit = 16

// Parallel gives the input to all at the same time, up to limit of them (DefaultLimit if 0), and returns what they make, in
// their order. They share the input, so they must not change it.
//
// Of the budget of their context, protocol.NextCall, each gets an even share.
//
// The first error cancels the others and is returned when all have ended, with the name of the one that failed. A panic is
// an error.
//
// In a durable run every branch is a step, whose steps are in a scope of its own: branches can call step.Do and what else
// there is, and a run that goes on finds for each what it came to. What a branch makes is kept as JSON, and is what that
// reads back as; see step.Do also for which errors are recorded. While a branch waits the run does, so a failure beside it
// comes out when the wait is over.
func Parallel[I, O any](name string, limit int, branches ...Workflow[I, O]) Workflow[I, []O] {
	branches = slices.Clone(branches)
	if limit <= 0 {
		limit = DefaultLimit
	}
	return Func(name, func(ctx context.Context, in I) ([]O, error) {
		ctx = divided(ctx, len(branches))
		if _, ok := step.InfoFrom(ctx); ok {
			return durably(ctx, in, limit, branches)
		}
		results := make([]O, len(branches))
		err := all(ctx, len(branches), limit, func(ctx context.Context, i int) (err error) {
			results[i], err = run(ctx, branches[i], in)
			return err
		})
		if err != nil {
			return nil, err
		}
		return results, nil
	})
}

// divided gives each of n branches its share of the money.
func divided(ctx context.Context, n int) context.Context {
	next := protocol.NextCall(ctx)
	if next.Budget == nil {
		return ctx
	}
	next.Budget = budget.Split(next.Budget, n)
	return protocol.WithCall(ctx, next)
}

// failures are what ends the branches of a Parallel: the first that failed cancels the others.
type failures struct {
	cancel context.CancelFunc

	mu    sync.Mutex
	first error
}

func (f *failures) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first == nil {
		f.first = err
	}
	f.cancel()
}

// errExited is the failure of a branch that ended its goroutine.
var errExited = protocol.NewError(protocol.CodeInternal, "a branch of a workflow ended without returning")

// all calls f for 0 to n-1 in up to limit goroutines and returns when they have ended, with the first error. One error ends
// the context of the others, unless the run unwinds by it: that ends its goroutine only.
func all(ctx context.Context, n, limit int, f func(ctx context.Context, i int) error) error {
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := failures{cancel: cancel}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, limit) {
		wg.Go(func() {
			returned := false
			defer func() {
				if !returned {
					failed.add(errExited)
				}
			}()
			for i := int(next.Add(1)) - 1; i < n && own.Err() == nil; i = int(next.Add(1)) - 1 {
				err := f(own, i)
				if err != nil && !step.Unwinding(err) {
					failed.add(err)
				}
				if err != nil {
					break
				}
			}
			returned = true
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return protocol.AsError(err)
	}
	return failed.first
}
