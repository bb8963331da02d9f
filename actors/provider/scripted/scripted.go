package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/protocol"
)

// ErrNoStep is in the errors of calls for which the script has no step; errors.Is finds it.
var ErrNoStep = errors.New("the script has no step for the call")

// Provider answers from a script. It is safe for concurrent use.
type Provider struct {
	script Script

	mu       sync.Mutex
	taken    []int // calls by step
	calls    int
	requests []protocol.InferRequest
}

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Pricer   = (*Provider)(nil)
)

// New returns a provider that says steps.
func New(steps ...Step) *Provider { return FromScript(Script{Steps: steps}) }

// FromScript returns a provider that says script.
func FromScript(script Script) *Provider {
	script.Steps = slices.Clone(script.Steps)
	if script.Model == "" {
		script.Model = DefaultModel
	}
	if script.Mode == "" {
		script.Mode = ModeOrder
		if slices.ContainsFunc(script.Steps, func(s Step) bool { return s.Match != nil }) {
			script.Mode = ModeMatch
		}
	}
	return &Provider{script: script, taken: make([]int, len(script.Steps))}
}

// Calls returns how many calls came, those included that failed.
func (p *Provider) Calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

// Left returns the steps that are for more calls than came, in their order. A step that any number of calls may take is never
// among them.
func (p *Provider) Left() []Step {
	p.mu.Lock()
	defer p.mu.Unlock()
	var left []Step
	for i, s := range p.script.Steps {
		calls := s.Repeat
		if p.script.Mode == ModeOrder && calls == 0 {
			calls = 1
		}
		if p.taken[i] < calls {
			left = append(left, s)
		}
	}
	return left
}

// maxRequests is how many requests are kept.
const maxRequests = 1000

// Requests returns the requests of the last 1,000 calls in the order in which they came.
func (p *Provider) Requests() []protocol.InferRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Priced implements provider.Pricer: there is a price for the model, or every answer of the script says its cost.
func (p *Provider) Priced(model string) bool {
	if model == "" {
		model = p.script.Model
	}
	if _, ok := p.script.Prices[model]; ok {
		return true
	}
	return !slices.ContainsFunc(p.script.Steps, func(s Step) bool { return s.Err == nil && s.Cost == nil })
}

// Infer implements provider.Provider. Its errors are those of the script; when that has no step for the call, invalid
// request; and by the end of ctx the codes timeout or cancelled.
func (p *Provider) Infer(
	ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent),
) (protocol.InferResponse, error) {
	now := situationOf(req.Messages)
	step, call, err := p.take(req, now)
	if err != nil {
		return protocol.InferResponse{}, err
	}
	if err := pause(ctx, step.Delay); err != nil {
		return protocol.InferResponse{}, err
	}
	if step.Err != nil {
		return protocol.InferResponse{}, step.Err
	}
	resp := p.answer(step, req, fmt.Sprintf("call_%d_%d", now.turn, call))
	if sink == nil {
		return resp, nil
	}
	if err := stream(ctx, resp, sink); err != nil {
		return protocol.InferResponse{}, err
	}
	return resp, nil
}

// take finds the step of a call and returns it with the number of the call.
func (p *Provider) take(req protocol.InferRequest, now situation) (step Step, call int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.requests) == maxRequests {
		p.requests = slices.Delete(p.requests, 0, 1)
	}
	p.requests = append(p.requests, snapshot(req))
	p.calls++
	call = p.calls
	for i, s := range p.script.Steps {
		if p.script.Mode == ModeMatch {
			if !s.Match.fits(now, req) || s.Repeat > 0 && p.taken[i] >= s.Repeat {
				continue
			}
		} else if s.Repeat >= 0 && p.taken[i] >= max(1, s.Repeat) {
			continue
		}
		p.taken[i]++
		return s, call, nil
	}
	text := fmt.Sprintf("the script is used up: call %d came, and its %d steps are for fewer", call, len(p.script.Steps))
	if p.script.Mode == ModeMatch {
		text = fmt.Sprintf("no step of the script fits call %d, turn %d of the model", call, now.turn)
	}
	return Step{}, call, protocol.ErrInvalidRequest(text, 0).Because(ErrNoStep)
}

// snapshot keeps a request as it is now; what the caller appends or replaces later does not show.
func snapshot(req protocol.InferRequest) protocol.InferRequest {
	req.Messages = slices.Clone(req.Messages)
	req.Tools = slices.Clone(req.Tools)
	req.ProviderOptions = maps.Clone(req.ProviderOptions)
	return req
}

func (p *Provider) answer(step Step, req protocol.InferRequest, id string) protocol.InferResponse {
	resp := protocol.InferResponse{
		Content:    protocol.TextContent(step.Text),
		ToolCalls:  make([]protocol.ToolCall, len(step.ToolCalls)),
		StopReason: step.StopReason,
		Usage:      step.Usage,
		Model:      req.Model,
		Cost:       step.Cost,
	}
	for i, c := range step.ToolCalls {
		if c.ID == "" {
			c.ID = fmt.Sprintf("%s_%d", id, i)
		}
		if len(c.Input) == 0 {
			c.Input = json.RawMessage(`{}`)
		}
		resp.ToolCalls[i] = c
	}
	if resp.Model == "" {
		resp.Model = p.script.Model
	}
	if resp.Cost == nil {
		resp.Cost = p.script.Prices.Cost(resp.Model, step.Usage)
	}
	if resp.StopReason == "" {
		resp.StopReason = protocol.StopEndTurn
		if len(resp.ToolCalls) > 0 {
			resp.StopReason = protocol.StopToolUse
		}
	}
	return resp
}

// pause waits for d or the end of ctx, whose error it returns.
func pause(ctx context.Context, d time.Duration) error {
	if d > 0 && ctx.Err() == nil {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
	if err := ctx.Err(); err != nil {
		return protocol.AsError(err).Because(fmt.Errorf("%w: %w", err, context.Cause(ctx)))
	}
	return nil
}

// piece is the length of a delta in characters.
const piece = 6

func stream(ctx context.Context, resp protocol.InferResponse, sink func(protocol.StreamEvent)) error {
	text, _ := resp.Content.AsText()
	for _, s := range pieces(text) {
		if err := pause(ctx, 0); err != nil {
			return err
		}
		sink(protocol.TextDelta{Text: s})
	}
	for i, c := range resp.ToolCalls {
		sink(protocol.ToolCallStart{Index: i, ID: c.ID, Name: c.Name})
		for _, s := range pieces(string(c.Input)) {
			if err := pause(ctx, 0); err != nil {
				return err
			}
			sink(protocol.ToolCallDelta{Index: i, JSONDelta: s})
		}
	}
	sink(protocol.UsageEvent{Usage: resp.Usage})
	sink(protocol.Done{Response: resp})
	return nil
}

func pieces(s string) []string {
	var out []string
	for part := range slices.Chunk([]rune(s), piece) {
		out = append(out, string(part))
	}
	return out
}
