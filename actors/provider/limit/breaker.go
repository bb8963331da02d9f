package limit

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/middleware"
	"github.com/skelegent/skelegent-go/protocol"
)

// Defaults of BreakerConfig.
const (
	DefaultFailures = 5
	DefaultOpenFor  = 30 * time.Second
)

// ErrOpen is the cause of the errors of calls that a breaker did not let through.
var ErrOpen = errors.New("circuit breaker is open")

// BreakerConfig says when a provider is not asked. The zero BreakerConfig works.
type BreakerConfig struct {
	// Name is the provider in errors and logs; "provider" if empty.
	Name string
	// Failures in a row open the breaker; DefaultFailures if 0.
	Failures uint32
	// OpenFor is how long the provider is left alone; DefaultOpenFor if 0.
	OpenFor time.Duration
	// Probes is how many calls in a row have to be answered before the breaker closes, and how many may try at a time; 1
	// if 0.
	Probes uint32
	// Logger is silent if nil.
	Logger *zap.Logger
}

func (c BreakerConfig) withDefaults() BreakerConfig {
	if c.Name == "" {
		c.Name = "provider"
	}
	if c.Failures == 0 {
		c.Failures = DefaultFailures
	}
	if c.OpenFor <= 0 {
		c.OpenFor = DefaultOpenFor
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c
}

// Breaker returns p behind a breaker, which all who use it share. It is a Pricer and a Quoter if p is.
//
// What opens it are failures that pass: transient errors, and an attempt's own timeout. A refusal that shows the provider
// to be at work (invalid request, auth failed, content blocked) counts as an answer. What says nothing about the provider
// counts as nothing: calls whose context ended, rate limits, answers that make no sense, panics.
//
// While it is open, calls fail at once with a transient error that has the cause ErrOpen and, in RetryAfter, the time until
// the provider is tried again. That is by single calls; others fail as before, without RetryAfter, until one is answered.
func Breaker(p provider.Provider, cfg BreakerConfig) provider.Provider {
	b := &breaker{cfg: cfg.withDefaults()}
	log := b.cfg.Logger.Named("breaker").With(zap.String("provider", b.cfg.Name))
	b.states = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests: b.cfg.Probes,
		Timeout:     b.cfg.OpenFor,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= b.cfg.Failures },
		IsExcluded:  func(err error) bool { return errors.Is(err, errNothing) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				b.until.Store(new(time.Now().Add(b.cfg.OpenFor)))
			}
			log.Warn("state changed", zap.Stringer("from", from), zap.Stringer("to", to))
		},
	})
	return middleware.NewStack().Guard(b).Build().Wrap(p)
}

type breaker struct {
	cfg    BreakerConfig
	states *gobreaker.TwoStepCircuitBreaker[struct{}]
	until  atomic.Pointer[time.Time] // when it opens for a try; nil before it was ever open
}

// What a call can say about the provider, beside nil.
var (
	errFailure = errors.New("failure")
	errNothing = errors.New("nothing")
)

// Infer implements middleware.Infer.
func (b *breaker) Infer(
	ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent), next middleware.Next,
) (protocol.InferResponse, error) {
	done, err := b.states.Allow()
	if err != nil {
		return protocol.InferResponse{}, b.open(err)
	}
	verdict := errNothing // stays so if next does not return
	defer func() { done(verdict) }()
	resp, err := next(ctx, req, sink)
	verdict = judge(ctx, err)
	return resp, err
}

// open is the error of a call that was not let through.
func (b *breaker) open(err error) error {
	until := b.until.Load()
	if until == nil || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return protocol.ErrProviderTransient(b.cfg.Name+" failed and is being tried by another call", 0).Because(ErrOpen)
	}
	wait := max(0, time.Until(*until)) + time.Millisecond // the library waits for a time after it
	text := fmt.Sprintf("%s is left alone for another %v, after failures in a row", b.cfg.Name, wait.Round(time.Millisecond))
	return protocol.ErrProviderTransient(text, 0).After(wait).Because(ErrOpen)
}

// judge says what the end of a call tells about the provider.
func judge(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	e := protocol.AsError(err)
	switch e.Kind {
	case protocol.KindProviderInvalidRequest, protocol.KindProviderAuthFailed, protocol.KindProviderContentBlocked:
		return nil
	case protocol.KindProviderRateLimited, protocol.KindProviderInvalidResponse:
		return errNothing
	default:
		if ctx.Err() != nil || !e.Retryable {
			return errNothing
		}
		return errFailure
	}
}
