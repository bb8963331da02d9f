package limit_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/provider/limit"
	"github.com/skelegent/skelegent-go/actors/provider/middleware"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errRateLimited = &protocol.Error{Kind: protocol.KindProviderRateLimited}

// acquire must not fail.
func acquire(t *testing.T, l limit.Limiter, model string, tokens int) func(limit.Usage) {
	t.Helper()
	release, err := l.Acquire(t.Context(), model, tokens)
	if err != nil {
		t.Fatal(err)
	}
	return release
}

// line is calls that were made one after the other and wait in that order.
type line struct {
	wg    sync.WaitGroup
	start time.Time

	mu    sync.Mutex
	order []int
	went  map[int]time.Duration // since start
	errs  map[int]error
}

func newLine() *line {
	return &line{start: time.Now(), went: map[int]time.Duration{}, errs: map[int]error{}}
}

// join lets a call wait; it holds its place for hold.
func (l *line) join(ctx context.Context, n int, lim limit.Limiter, tokens int, hold time.Duration, used limit.Usage) {
	l.wg.Go(func() {
		release, err := lim.Acquire(ctx, "m", tokens)
		l.mu.Lock()
		l.order, l.went[n], l.errs[n] = append(l.order, n), time.Since(l.start), err
		l.mu.Unlock()
		if err == nil {
			time.Sleep(hold)
			release(used)
		}
	})
}

// fake answers as f does.
func fake(f func(ctx context.Context, req protocol.InferRequest) (protocol.InferResponse, error)) middleware.Next {
	return func(ctx context.Context, req protocol.InferRequest, _ func(protocol.StreamEvent)) (protocol.InferResponse, error) {
		return f(ctx, req)
	}
}

func retryAfter(err error) time.Duration {
	var e *protocol.Error
	if errors.As(err, &e) {
		return e.RetryAfter
	}
	return -1
}
