package limit_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/limit"
	"github.com/skelegent/skelegent-go/actors/provider/middleware"
	"github.com/skelegent/skelegent-go/actors/provider/openai"
	"github.com/skelegent/skelegent-go/actors/provider/scripted"
	"github.com/skelegent/skelegent-go/protocol"
)

// limiter notes what it is asked and told.
type limiter struct {
	model  string
	tokens int
	used   []limit.Usage
	err    error
}

func (l *limiter) Acquire(_ context.Context, model string, tokens int) (func(limit.Usage), error) {
	l.model, l.tokens = model, tokens
	if l.err != nil {
		return nil, l.err
	}
	return func(u limit.Usage) { l.used = append(l.used, u) }, nil
}

func TestWhatTheLimiterIsTold(t *testing.T) {
	t.Parallel()
	noQuota := protocol.ErrRateLimited(0)
	noQuota.Retryable = false
	answered := func(in, out uint64) (protocol.InferResponse, error) {
		return protocol.InferResponse{Usage: protocol.TokenUsage{InputTokens: in, OutputTokens: out}}, nil
	}
	failed := func(err error) (protocol.InferResponse, error) { return protocol.InferResponse{}, err }
	tests := []struct {
		name   string
		answer func() (protocol.InferResponse, error)
		want   limit.Usage
	}{
		{"counted", func() (protocol.InferResponse, error) { return answered(100, 20) }, limit.Usage{Tokens: 120, Counted: true}},
		{"not counted", func() (protocol.InferResponse, error) { return answered(0, 0) }, limit.Usage{}},
		{"nonsense", func() (protocol.InferResponse, error) { return answered(1<<63, 1<<63) }, limit.Usage{Tokens: 1 << 32, Counted: true}},
		{"refused", func() (protocol.InferResponse, error) { return failed(protocol.ErrRateLimited(time.Minute)) }, limit.Usage{Counted: true, Refused: true, RetryAfter: time.Minute}},
		{"quota used up", func() (protocol.InferResponse, error) { return failed(noQuota) }, limit.Usage{Counted: true}},
		{"a limiter within", func() (protocol.InferResponse, error) {
			return failed(protocol.ErrRateLimited(time.Minute).Because(limit.ErrQueueFull))
		}, limit.Usage{Counted: true, RetryAfter: time.Minute}},
		{"invalid request", func() (protocol.InferResponse, error) { return failed(protocol.ErrInvalidRequest("x", 400)) }, limit.Usage{Counted: true}},
		{"transient", func() (protocol.InferResponse, error) { return failed(protocol.ErrProviderTransient("x", 503)) }, limit.Usage{}},
		{"no code", func() (protocol.InferResponse, error) { return failed(errors.New("x")) }, limit.Usage{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := &limiter{}
			p := limit.New(fake(func(context.Context, protocol.InferRequest) (protocol.InferResponse, error) { return tt.answer() }),
				limit.Config{Limiter: l, Model: "default", MaxOutput: 500})
			req := protocol.InferRequest{Messages: []protocol.Message{protocol.NewMessage(protocol.RoleUser, protocol.TextContent("12345678"))}}
			_, got := p.Infer(t.Context(), req, nil)
			if _, want := tt.answer(); protocol.CodeOf(got) != protocol.CodeOf(want) {
				t.Errorf("error %v, want %v", got, want)
			}
			if len(l.used) != 1 || l.used[0] != tt.want {
				t.Errorf("told %+v, want %+v", l.used, tt.want)
			}
			if l.model != "default" || l.tokens != 506 {
				t.Errorf("asked for %q and %d tokens", l.model, l.tokens)
			}
			longest := uint32(7)
			req.Model, req.MaxTokens = "m", &longest
			_, _ = p.Infer(t.Context(), req, nil)
			if l.model != "m" || l.tokens != 13 {
				t.Errorf("asked for %q and %d tokens", l.model, l.tokens)
			}
		})
	}
}

func TestAPanicGivesThePlaceBack(t *testing.T) {
	t.Parallel()
	l := &limiter{}
	p := limit.New(fake(func(context.Context, protocol.InferRequest) (protocol.InferResponse, error) { panic("boom") }), limit.Config{Limiter: l})
	func() {
		defer func() {
			if recover() != "boom" {
				t.Error("the panic is lost")
			}
		}()
		_, _ = p.Infer(t.Context(), protocol.InferRequest{}, nil)
	}()
	if len(l.used) != 1 || l.used[0] != (limit.Usage{}) {
		t.Errorf("told %+v", l.used)
	}
}

func TestTheProviderIsNotAskedWithoutAPlace(t *testing.T) {
	t.Parallel()
	inner := scripted.New(scripted.Step{Text: "hi"})
	p := limit.New(inner, limit.Config{Limiter: &limiter{err: protocol.ErrRateLimited(time.Second)}})
	if _, err := p.Infer(t.Context(), protocol.InferRequest{}, nil); !errors.Is(err, errRateLimited) || inner.Calls() != 0 {
		t.Errorf("error %v, %d calls", err, inner.Calls())
	}
}

func TestRolesAreKept(t *testing.T) {
	t.Parallel()
	inner := openai.New(openai.Config{})
	defer inner.Close()
	p := limit.Breaker(limit.New(inner, limit.Config{}), limit.BreakerConfig{})
	pricer, ok := p.(provider.Pricer)
	if !ok || !pricer.Priced("gpt-4o") || pricer.Priced("nobody") {
		t.Errorf("a pricer: %t", ok)
	}
	if quoter, ok := p.(provider.Quoter); !ok {
		t.Error("no quoter")
	} else if _, ok := quoter.Quote("gpt-4o"); !ok {
		t.Error("no quote")
	}
	if found, ok := middleware.As[*openai.Provider](p); !ok || found != inner {
		t.Error("the provider is not found")
	}
}

func TestModelsHaveLimitsOfTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		models := map[string]limit.Limits{"slow": {Requests: 1}}
		l := limit.NewLocal(limit.Config{Default: limit.Limits{Requests: 60}, Models: models})
		delete(models, "slow") // the limiter has its own
		for range 60 {
			acquire(t, l, "a", 0)(limit.Usage{})
			acquire(t, l, "b", 0)(limit.Usage{})
		}
		start := time.Now()
		acquire(t, l, "slow", 0)(limit.Usage{})
		if time.Since(start) != 0 {
			t.Error("models share what they should not")
		}
		acquire(t, l, "slow", 0)(limit.Usage{})
		if got := time.Since(start); got != time.Minute {
			t.Errorf("the slow one went after %v", got)
		}
	})
}

// TestARefusalKeepsAllAgentsAway: a real server refuses once, and sees nobody until the time that it asked for.
func TestARefusalKeepsAllAgentsAway(t *testing.T) {
	t.Parallel()
	const pause = 150 * time.Millisecond
	var mu sync.Mutex
	var refused time.Time
	early, calls := 0, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		calls++
		first := calls == 1
		if first {
			refused = time.Now()
		} else if time.Since(refused) < pause {
			early++
		}
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if first {
			w.Header().Set("Retry-After-Ms", "150")
			w.WriteHeader(http.StatusTooManyRequests)
		}
		_, _ = io.WriteString(w, `{"model":"gpt-4o","choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`)
	}))
	defer server.Close()
	inner := openai.New(openai.Config{BaseURL: server.URL + "/v1"})
	defer inner.Close()
	p := limit.New(inner, limit.Config{Default: limit.Limits{Concurrent: 1}})
	ask := func() error {
		_, err := p.Infer(t.Context(), protocol.InferRequest{Model: "gpt-4o", Messages: []protocol.Message{
			protocol.NewMessage(protocol.RoleUser, protocol.TextContent("hi")),
		}}, nil)
		return err
	}
	var agents sync.WaitGroup
	var limited int
	for range 20 {
		agents.Go(func() {
			if err := ask(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				if !errors.Is(err, errRateLimited) || retryAfter(err) != pause {
					t.Errorf("error %v, retry after %v", err, retryAfter(err))
				}
				limited++
			}
		})
	}
	agents.Wait()
	if limited != 1 || early != 0 || calls != 20 {
		t.Errorf("%d agents were refused, %d of %d calls came too early", limited, early, calls)
	}
}
