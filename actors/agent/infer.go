package agent

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Retry says when a failed model call is made again. How often is Limits.MaxConsecutiveFailures. A call is not made again
// if the time for the wait is not left.
type Retry struct {
	// Base is the bound of the first delay, which doubles with every failure; 500 ms if 0. The delay is a random part of
	// the bound, so that agents that failed together do not come back together.
	Base time.Duration
	// Max is the highest bound; 30 s if 0.
	Max time.Duration
	// MaxRetryAfter is the longest wait that a provider can ask for; 2 minutes if 0. Who asks for more is given up.
	MaxRetryAfter time.Duration
}

func (p Retry) withDefaults() Retry {
	if p.Base <= 0 {
		p.Base = 500 * time.Millisecond
	}
	if p.Max <= 0 {
		p.Max = 30 * time.Second
	}
	if p.MaxRetryAfter <= 0 {
		p.MaxRetryAfter = 2 * time.Minute
	}
	return p
}

// delay after that many failures in a row, with a random number in [0,1).
func (p Retry) delay(failures uint32, random float64) time.Duration {
	bound := p.Base
	for range failures - 1 {
		if bound >= p.Max {
			break
		}
		bound *= 2
	}
	return time.Duration(random * float64(min(bound, p.Max)))
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// offer says which tools the model is told of in this turn.
func (r *run) offer() {
	if r.tools != nil && r.cfg.ToolFilter == nil && r.registry.Version() == r.version {
		return
	}
	r.tools = r.registry.Snapshot()
	r.version = r.tools.Version()
	if r.allowed != nil {
		r.tools = r.tools.Only(r.allowed)
	}
	if filter := r.cfg.ToolFilter; filter != nil {
		r.tools = r.tools.Filter(func(t tool.Tool) bool { return filter(r.c, t) })
	}
	r.c.Params.Tools = r.output.offer(r.tools.Schemas())
}

// request is what the model is asked next.
func (r *run) request() protocol.InferRequest {
	p := &r.c.Params
	req := protocol.InferRequest{
		Model: p.Model, Messages: r.c.Conversation(), Tools: p.Tools, System: r.c.System(), Temperature: p.Temperature,
		ToolChoice: p.ToolChoice, ResponseFormat: p.Format, ProviderOptions: p.Options,
	}
	if p.MaxTokens > 0 {
		req.MaxTokens = &p.MaxTokens
	}
	if req.ResponseFormat == nil {
		req.ResponseFormat = r.output.format()
	}
	return req
}

// infer makes one model call, and again while that can help. It is the only place that retries.
func (r *run) infer(ctx context.Context, req protocol.InferRequest) (protocol.InferResponse, *stop) {
	reserved, end := r.reserve(&req)
	if end != nil {
		return protocol.InferResponse{}, end
	}
	defer reserved.Release()
	resp, end := r.insist(ctx, req)
	if end == nil {
		reserved.Settle(resp.Cost)
	}
	return resp, end
}

func (r *run) insist(ctx context.Context, req protocol.InferRequest) (protocol.InferResponse, *stop) {
	for failures := uint32(1); ; failures++ {
		resp, err := r.attempt(ctx, req)
		if err == nil {
			return resp, nil
		}
		if end := ended(ctx); end != nil {
			return resp, end
		}
		e := protocol.AsError(err)
		if end := halted(e); end != nil {
			return resp, end
		}
		wait := max(r.cfg.Retry.delay(failures, r.cfg.Rand()), e.RetryAfter)
		log := r.log.With(zap.String("code", string(e.Code)), zap.String("kind", string(e.Kind)), zap.Uint32("attempt", failures))
		switch {
		case !e.Retryable && e.Kind == protocol.KindProviderContentBlocked:
			return resp, r.giveUp(log, protocol.WrapModel(err), protocol.SafetyStop(contentFiltered))
		case !e.Retryable:
			return resp, r.giveUp(log, protocol.WrapModel(err), protocol.Exit(protocol.ExitError))
		case failures >= r.bounds.failures || e.RetryAfter > r.cfg.Retry.MaxRetryAfter:
			return resp, r.giveUp(log, protocol.WrapModel(err), protocol.Exit(protocol.ExitCircuitBreaker))
		case !r.timeFor(ctx, wait):
			return resp, r.giveUp(log, protocol.WrapModel(err), protocol.Exit(protocol.ExitTimeout))
		}
		log.Warn("model call failed, will retry", zap.Duration("delay", wait))
		if err := r.cfg.Sleep(ctx, wait); err != nil {
			if end := ended(ctx); end != nil {
				return resp, end
			}
			return resp, &stop{err: protocol.AsError(err)}
		}
	}
}

// giveUp ends the run with an output once something was paid, else with the error.
func (r *run) giveUp(log *zap.Logger, err error, reason protocol.ExitReason) *stop {
	if r.aside || r.c.Metrics().Turns == 0 { // what a rule asks for is the rule's business
		return &stop{err: err}
	}
	// The output has no place for the error: whoever wants to know why looks at the events.
	coded := protocol.AsError(err)
	r.events.Emit(protocol.EventLog, logged{Level: protocol.LogError, Message: "the run ends: " + coded.Error(), Error: coded})
	log.Warn("the run ends", zap.Stringer("exit", reason), zap.Error(err))
	return &stop{exit: reason}
}

// timeFor reports whether there is time to wait for d and do something then.
func (r *run) timeFor(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	return r.bounds.duration == nil || r.elapsed()+d < *r.bounds.duration
}

// halted returns how the run stops if a guard around the provider or a tool says that it must, else nil.
func halted(e *protocol.Error) *stop {
	if !errors.Is(e, &protocol.Error{Kind: protocol.KindEngineHalted}) {
		return nil
	}
	return &stop{exit: protocol.InterceptorHalt(strings.TrimPrefix(e.Message, "halted: "))}
}
