package protocol

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// DefaultDispatchLimit is how many dispatches DispatchMany has under way at once if it is not told.
const DefaultDispatchLimit = 64

// DispatchMany dispatches requests with at most limit under way at once (0 means DefaultDispatchLimit) and returns their
// results in the order of the requests. One that fails does not stop the others; one that panics gives "dispatch failed",
// with code internal, since it would panic again. When ctx ends, what has not begun ends with its error. It returns when every goroutine
// that it started has ended.
func DispatchMany(ctx context.Context, d Dispatcher, requests []DispatchRequest, limit int) []DispatchResult {
	if limit <= 0 {
		limit = DefaultDispatchLimit
	}
	results := make([]DispatchResult, len(requests))
	slots := make(chan struct{}, min(limit, max(1, len(requests))))
	var all sync.WaitGroup
	for i, r := range requests {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if err := ctx.Err(); err != nil {
			results[i].Err = AsError(err)
			continue
		}
		all.Go(func() {
			defer func() { <-slots }()
			dispatchOne(ctx, d, r, &results[i])
		})
	}
	all.Wait()
	return results
}

func dispatchOne(ctx context.Context, d Dispatcher, r DispatchRequest, result *DispatchResult) {
	returned := false
	defer func() {
		if returned {
			return
		}
		cause := fmt.Errorf("panic: %v\n%s", recover(), debug.Stack()) // nil if it ended the goroutine instead
		result.Err = ErrDispatchFailed("the operator panicked").WithCode(CodeInternal).Because(cause)
	}()
	result.Output, result.Err = d.Dispatch(ctx, r.Operator, r.Input)
	returned = true
}
