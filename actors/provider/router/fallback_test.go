package router_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/provider/limit"
	"github.com/skelegent/skelegent-go/actors/provider/router"
	"github.com/skelegent/skelegent-go/actors/provider/scripted"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestWhenAlternativesAreTried(t *testing.T) {
	t.Parallel()
	noQuota := protocol.ErrRateLimited(0)
	noQuota.Retryable = false
	blocked := []protocol.ErrorKind{protocol.KindProviderContentBlocked}
	tests := []struct {
		name string
		err  error
		also []protocol.ErrorKind
		want bool
	}{
		{"transient", protocol.ErrProviderTransient("x", 503), nil, true},
		{"rate limited", protocol.ErrRateLimited(time.Minute), nil, true},
		{"an attempt's timeout", context.DeadlineExceeded, nil, true},
		{"quota used up", noQuota, nil, false},
		{"quota used up, configured", noQuota, []protocol.ErrorKind{protocol.KindProviderRateLimited}, true},
		{"invalid request", protocol.ErrInvalidRequest("x", 400), blocked, false},
		{"auth failed", protocol.ErrAuthFailed("x"), blocked, false},
		{"content blocked", protocol.ErrContentBlocked("x"), nil, false},
		{"content blocked, configured", protocol.ErrContentBlocked("x"), blocked, true},
		{"invalid response", protocol.ErrInvalidResponse("x"), nil, false},
		{"halted", protocol.ErrEngineHalted("x"), blocked, false},
		{"no code", errors.New("x"), []protocol.ErrorKind{""}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			route := router.OpenAI(failing(&calls, tt.err), router.Target{Provider: named("other"), Model: "other-1"})
			route.Also = tt.also
			resp, err := build(t, route).Infer(t.Context(), protocol.InferRequest{Model: "gpt-4o"}, nil)
			if calls != 1 {
				t.Errorf("%d attempts", calls)
			}
			if tt.want && (err != nil || say(resp) != "other" || resp.Model != "other-1") {
				t.Errorf("got %q of %q, error %v", say(resp), resp.Model, err)
			}
			if !tt.want && !errors.Is(err, tt.err) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestInTheirOrder(t *testing.T) {
	t.Parallel()
	var models []string
	down := answer(func(_ context.Context, req protocol.InferRequest, _ sink) (protocol.InferResponse, error) {
		models = append(models, req.Model)
		return protocol.InferResponse{}, protocol.ErrProviderTransient("x", 503)
	})
	silent := answer(func(context.Context, protocol.InferRequest, sink) (protocol.InferResponse, error) {
		return protocol.InferResponse{}, nil // does not say its model
	})
	r := build(t, router.OpenAI(down, router.Target{Provider: down}, router.Target{Provider: down, Model: "b"},
		router.Target{Provider: silent, Model: "c"}, router.Target{Provider: down, Model: "never"}))
	resp, err := r.Infer(t.Context(), protocol.InferRequest{Model: "openai:gpt-4o"}, nil)
	if err != nil || resp.Model != "c" || strings.Join(models, " ") != "gpt-4o gpt-4o b" {
		t.Errorf("asked %q, answered %q, error %v", models, resp.Model, err)
	}
}

func TestNoAlternativeOnceTheAnswerIsSeen(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		event protocol.StreamEvent
		want  bool // whether the alternative is tried
	}{
		{"nothing yet", nil, true},
		{"a count of tokens", protocol.UsageEvent{}, true},
		{"text", protocol.TextDelta{Text: "x"}, false},
		{"thinking", protocol.ThinkingDelta{Thinking: "x"}, false},
		{"a call", protocol.ToolCallStart{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			down := protocol.ErrProviderTransient("the connection broke", 0)
			cut := answer(func(_ context.Context, _ protocol.InferRequest, s sink) (protocol.InferResponse, error) {
				if tt.event != nil {
					s(tt.event)
				}
				return protocol.InferResponse{}, down
			})
			other := scripted.New(scripted.Step{Text: "other"})
			done := 0
			_, err := build(t, router.Default(cut, router.Target{Provider: other})).Infer(t.Context(), protocol.InferRequest{},
				func(ev protocol.StreamEvent) {
					if _, ok := ev.(protocol.Done); ok {
						done++
					}
				})
			if tt.want && (err != nil || other.Calls() != 1 || done != 1) {
				t.Errorf("error %v, %d calls, done %d times", err, other.Calls(), done)
			}
			if !tt.want && (!errors.Is(err, down) || other.Calls() != 0 || done != 0) {
				t.Errorf("error %v, %d calls, done %d times", err, other.Calls(), done)
			}
		})
	}
}

func TestNoAlternativeAfterTheEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	down := answer(func(context.Context, protocol.InferRequest, sink) (protocol.InferResponse, error) {
		cancel()
		return protocol.InferResponse{}, protocol.ErrProviderTransient("x", 503)
	})
	other := scripted.New(scripted.Step{Text: "other"})
	_, err := build(t, router.Default(down, router.Target{Provider: other})).Infer(ctx, protocol.InferRequest{}, nil)
	if err == nil || other.Calls() != 0 {
		t.Errorf("error %v, %d calls", err, other.Calls())
	}
}

func TestAllFail(t *testing.T) {
	t.Parallel()
	transient := protocol.ErrProviderTransient("down", 503)
	minute, second := protocol.ErrRateLimited(time.Minute), protocol.ErrRateLimited(time.Second)
	auth := protocol.ErrAuthFailed("the key")
	tests := []struct {
		name string
		errs []error
		want *protocol.Error
	}{
		{"the soonest", []error{minute, second}, second},
		{"the soonest first", []error{second, minute}, second},
		{"no wait is the soonest", []error{minute, transient}, transient},
		{"one that passes", []error{minute, auth}, minute},
		{"one that passes, after one that does not", []error{auth, minute}, minute},
		{"none passes", []error{auth, protocol.ErrInvalidRequest("x", 400)}, auth},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			route := router.Default(failing(&calls, tt.errs[0]), router.Target{Provider: failing(&calls, tt.errs[1]), Model: "b"})
			route.Also = []protocol.ErrorKind{protocol.KindProviderAuthFailed}
			before := *tt.want
			_, err := build(t, route).Infer(t.Context(), protocol.InferRequest{Model: "a"}, nil)
			e := protocol.AsError(err)
			if e.Kind != tt.want.Kind || e.Retryable != tt.want.Retryable || e.RetryAfter != tt.want.RetryAfter || calls != 2 {
				t.Errorf("got %v (%v), want %v; %d calls", e, e.RetryAfter, tt.want, calls)
			}
			if !strings.Contains(e.Error(), tt.want.Error()) || !strings.Contains(e.Error(), `"a"`) || !strings.Contains(e.Error(), `"b"`) {
				t.Errorf("text %q", e)
			}
			if !errors.Is(err, tt.errs[0]) || !errors.Is(err, tt.errs[1]) {
				t.Error("a cause is lost")
			}
			if tt.want.Message != before.Message {
				t.Error("the provider's error was changed")
			}
		})
	}
}

// TestAnOpenBreakerIsNotWaitedFor: the provider that is down is not asked, the alternative answers.
func TestAnOpenBreakerIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	calls := 0
	down := limit.Breaker(failing(&calls, protocol.ErrProviderTransient("x", 503)), limit.BreakerConfig{Failures: 2})
	r := build(t, router.Default(down, router.Target{Provider: named("other")}))
	for range 5 {
		if resp, err := r.Infer(t.Context(), protocol.InferRequest{}, nil); err != nil || say(resp) != "other" {
			t.Errorf("got %q, error %v", say(resp), err)
		}
	}
	if calls != 2 {
		t.Errorf("%d calls came through the breaker", calls)
	}
}

func TestCallsAtTheSameTime(t *testing.T) {
	t.Parallel()
	down := answer(func(context.Context, protocol.InferRequest, sink) (protocol.InferResponse, error) {
		return protocol.InferResponse{}, protocol.ErrProviderTransient("x", 503)
	})
	r := build(t, router.Anthropic(named("anthropic")), router.OpenAI(down, router.Target{Provider: named("other")}))
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			model, want := "claude-x", "anthropic"
			if i%2 == 0 {
				model, want = "gpt-x", "other"
			}
			if resp, err := r.Infer(t.Context(), protocol.InferRequest{Model: model}, func(protocol.StreamEvent) {}); err != nil || say(resp) != want {
				t.Errorf("%s: got %q, error %v", model, say(resp), err)
			}
		})
	}
	wg.Wait()
}
