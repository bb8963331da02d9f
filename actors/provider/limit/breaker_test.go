package limit_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/limit"
	"github.com/skelegent/skelegent-go/protocol"
)

// backend answers with err, or with what do says.
type backend struct {
	mu    sync.Mutex
	err   error
	do    func()
	calls int
}

func (b *backend) Infer(context.Context, protocol.InferRequest, func(protocol.StreamEvent)) (protocol.InferResponse, error) {
	b.mu.Lock()
	b.calls++
	do, err := b.do, b.err
	b.mu.Unlock()
	if do != nil {
		do()
	}
	return protocol.InferResponse{}, err
}

func (b *backend) set(err error, do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err, b.do = err, do
}

func ask(ctx context.Context, p provider.Provider) error {
	_, err := p.Infer(ctx, protocol.InferRequest{}, nil)
	return err
}

var down = protocol.ErrProviderTransient("down", 503)

func TestBreakerOpensAndCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zapcore.WarnLevel)
		b := &backend{err: down}
		p := limit.Breaker(b, limit.BreakerConfig{Name: "acme", Failures: 3, OpenFor: 10 * time.Second, Logger: zap.New(core)})
		for range 3 {
			if err := ask(t.Context(), p); !errors.Is(err, down) {
				t.Errorf("the provider's error is lost: %v", err)
			}
		}
		time.Sleep(4 * time.Second)
		err := ask(t.Context(), p)
		if !errors.Is(err, limit.ErrOpen) || !errors.Is(err, &protocol.Error{Kind: protocol.KindProviderTransient}) ||
			!protocol.IsRetryable(err) || retryAfter(err).Round(time.Second) != 6*time.Second || !strings.Contains(err.Error(), "acme") {
			t.Errorf("open: %v, retry after %v", err, retryAfter(err))
		}
		if b.calls != 3 {
			t.Errorf("the provider was asked %d times, want 3", b.calls)
		}
		time.Sleep(retryAfter(err)) // whoever waits so long gets through
		if err := ask(t.Context(), p); !errors.Is(err, down) {
			t.Errorf("the probe: %v", err)
		}
		if err := ask(t.Context(), p); !errors.Is(err, limit.ErrOpen) || retryAfter(err).Round(time.Second) != 10*time.Second {
			t.Errorf("open again: %v, retry after %v", err, retryAfter(err))
		}
		time.Sleep(11 * time.Second)
		b.set(nil, nil)
		for range 5 {
			if err := ask(t.Context(), p); err != nil {
				t.Errorf("closed: %v", err)
			}
		}
		if logs.Len() != 5 { // open, half-open, open, half-open, closed
			t.Errorf("%d changes of state in the log", logs.Len())
		}
	})
}

func TestWhatCountsForTheBreaker(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  error
		opens,
		resets bool
	}{
		{"transient", down, true, false},
		{"an attempt's timeout", context.DeadlineExceeded, true, false},
		{"rate limited", protocol.ErrRateLimited(time.Second), false, false},
		{"auth failed", protocol.ErrAuthFailed("x"), false, true},
		{"invalid request", protocol.ErrInvalidRequest("x", 400), false, true},
		{"content blocked", protocol.ErrContentBlocked("x"), false, true},
		{"invalid response", protocol.ErrInvalidResponse("x"), false, false},
		{"a halt of a guard", protocol.ErrEngineHalted("x"), false, false},
		{"no code", errors.New("x"), false, false},
		{"answered", nil, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := &backend{err: tt.err}
			p := limit.Breaker(b, limit.BreakerConfig{Failures: 2})
			for range 4 {
				_ = ask(t.Context(), p)
			}
			if opened := b.calls == 2; opened != tt.opens || !opened && b.calls != 4 {
				t.Errorf("four times: %d calls came through", b.calls)
			}
			if tt.opens {
				return
			}
			b = &backend{}
			p = limit.Breaker(b, limit.BreakerConfig{Failures: 2})
			for _, err := range []error{down, tt.err, down, nil} {
				b.set(err, nil)
				_ = ask(t.Context(), p)
			}
			if reset := b.calls == 4; reset != tt.resets {
				t.Errorf("between two failures: %d calls came through", b.calls)
			}
		})
	}
}

func TestTheCallersOwnEndDoesNotCount(t *testing.T) {
	t.Parallel()
	b := &backend{err: down}
	p := limit.Breaker(b, limit.BreakerConfig{Failures: 1})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 3 {
		_ = ask(ctx, p)
	}
	if b.calls != 3 {
		t.Errorf("%d calls came through", b.calls)
	}
}

// TestAProbeThatNeverReturnsAnAnswer: whatever becomes of it, another one is let through.
func TestAProbeThatNeverReturnsAnAnswer(t *testing.T) {
	t.Parallel()
	ends := map[string]func(){"panic": func() { panic("boom") }, "goexit": runtime.Goexit, "cancelled": nil}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := &backend{err: down}
				p := limit.Breaker(b, limit.BreakerConfig{Failures: 1, OpenFor: time.Second})
				_ = ask(t.Context(), p)
				time.Sleep(2 * time.Second)
				b.set(context.Canceled, end)
				var probe sync.WaitGroup
				probe.Go(func() {
					defer func() { _ = recover() }()
					_ = ask(t.Context(), p)
				})
				probe.Wait()
				b.set(nil, nil)
				if err := ask(t.Context(), p); err != nil {
					t.Errorf("after the probe: %v", err)
				}
			})
		})
	}
}

func TestOneProbeAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &backend{err: down}
		p := limit.Breaker(b, limit.BreakerConfig{Failures: 1, OpenFor: time.Second})
		_ = ask(t.Context(), p)
		time.Sleep(2 * time.Second)
		b.set(nil, func() { time.Sleep(time.Second) })
		var probe sync.WaitGroup
		probe.Go(func() {
			if err := ask(t.Context(), p); err != nil {
				t.Errorf("the probe: %v", err)
			}
		})
		synctest.Wait()
		for range 3 {
			if err := ask(t.Context(), p); !errors.Is(err, limit.ErrOpen) || !protocol.IsRetryable(err) || retryAfter(err) != 0 {
				t.Errorf("beside the probe: %v", err)
			}
		}
		probe.Wait()
		if err := ask(t.Context(), p); err != nil || b.calls != 3 {
			t.Errorf("after the probe: %v, %d calls", err, b.calls)
		}
	})
}
