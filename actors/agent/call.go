package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/budget"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// repair makes the calls of an answer fit to be kept and shown to a model again: each has an id of its own, a name that providers
// take, and an input that is JSON. What a model wrote that is none becomes a string, which no tool accepts, so that the model sees
// what it wrote; so does nothing at the end of an answer that was cut, where something was to follow.
func (r *run) repair(resp protocol.InferResponse) []protocol.ToolCall {
	calls := slices.Clone(resp.ToolCalls) // they are the provider's
	ids := map[string]int{}               // how often each was given, or asked for
	for i := range calls {
		c := &calls[i]
		c.Name = nameable(c.Name)
		if c.ID == "" || len(c.ID) > maxShown {
			c.ID = fmt.Sprintf("call_%d_%d", r.c.Metrics().Turns+1, i+1)
		}
		for id := c.ID; ids[c.ID] > 0; c.ID = fmt.Sprintf("%s-%d", id, ids[id]) {
			ids[id]++
		}
		ids[c.ID]++
		input := string(bytes.TrimSpace(c.Input))
		switch {
		case resp.StopReason == protocol.StopMaxTokens && i == len(calls)-1 && (input == "" || input == `{}`):
			c.Input = json.RawMessage(`""`)
		case input == "":
			c.Input = json.RawMessage(`{}`)
		case !json.Valid(c.Input):
			c.Input, _ = protocol.Marshal(string(c.Input)) // a string always marshals
		}
	}
	return calls
}

// maxName is how much is kept of a name that no tool has.
const maxName = 64

// nameable returns a tool's name as it is, and of any other what providers take.
func nameable(name string) string {
	if tool.CheckName(name) == nil {
		return name
	}
	clean := []byte(name[:min(len(name), maxName)])
	for i := range clean {
		if tool.CheckName(string(clean[i:i+1])) != nil {
			clean[i] = '_'
		}
	}
	return cmp.Or(string(clean), "unnamed")
}

// outcome is what a call came to, as the log of a durable run has it.
type outcome struct {
	Text          string            `json:"output"` // that the model is told
	Error         *protocol.Error   `json:"error,omitempty"`
	Effects       protocol.Effects  `json:"effects,omitempty"`
	Cost          *protocol.Decimal `json:"cost,omitempty"` // with what calls within spent
	UnpricedCalls uint32            `json:"unpriced_calls,omitempty"`
	Duration      protocol.Millis   `json:"duration"`
	// Unknown says that the process ended while the call was made.
	Unknown bool `json:"outcome_unknown,omitempty"`

	err         error // the error itself
	interrupted bool  // the time limit, or the caller, ended it
}

// invoke calls the tool. It is called side by side with other calls, and changes nothing of the run.
func (r *run) invoke(ctx context.Context, p *prepared, key string) outcome {
	c := p.op.Call
	start := r.cfg.Now()
	res, err := r.use(ctx, p, key)
	o := outcome{
		Effects: res.Effects, Cost: res.Cost, UnpricedCalls: res.UnpricedCalls, err: err,
		Duration: protocol.MillisOf(r.cfg.Now().Sub(start)),
	}
	if h, ok := r.handoff(res); ok && err == nil {
		o.Effects = append(slices.Clip(o.Effects), h)
	}
	switch {
	case err != nil:
		o.Text, o.Error = r.explain(p, err), protocol.AsError(err).Clip()
	case r.cfg.ResultText != nil:
		o.Text = r.cfg.ResultText(c, res)
	default:
		o.Text = res.Text()
	}
	o.Text = tool.Cut(o.Text, r.cfg.MaxResultText)
	return o
}

// handoff is that for which a result stands, if the agent may hand off to it so.
func (r *run) handoff(res tool.Result) (protocol.Handoff, bool) {
	if len(r.cfg.HandoffTargets) == 0 {
		return protocol.Handoff{}, false
	}
	h, ok := tool.HandoffOf(res)
	return h, ok && slices.Contains(r.cfg.HandoffTargets, h.Operator)
}

func (r *run) use(ctx context.Context, p *prepared, key string) (tool.Result, error) {
	if p.tool == nil {
		return tool.Result{}, r.unknown(p.op.Call.Name)
	}
	ctx = tool.WithRun(alone(ctx), tool.Run{Session: r.session, Declared: p.declared, IdempotencyKey: key})
	ctx = p.op.Context(protocol.WithCall(ctx, protocol.Call{Budget: p.budget}))
	if r.account == nil {
		return p.call(ctx, bytes.Clone(p.op.Call.Input))
	}
	part := r.account.Part()
	res, err := p.call(budget.With(ctx, part), bytes.Clone(p.op.Call.Input))
	charge(part, res)
	return res, err
}

// charge takes what a call cost from an account, but for what runs within have.
func charge(part *budget.Account, res tool.Result) {
	var rest protocol.Decimal
	if res.Cost != nil {
		rest.Decimal = res.Cost.Sub(part.Spent().Decimal)
	}
	part.Spend(rest, res.UnpricedCalls-min(res.UnpricedCalls, part.Unknown()))
}

// call calls a tool. Beside others it has a goroutine of its own: a tool may end that, and then has failed. Alone it would end the
// run's, as any code of an operator.
func (p *prepared) call(ctx context.Context, input json.RawMessage) (res tool.Result, err error) {
	if !p.beside {
		return called(ctx, p.tool, input)
	}
	err = protocol.ErrToolFailed("the tool ended without a result; this is a defect of the tool")
	var over sync.WaitGroup
	over.Go(func() {
		made, failed := called(ctx, p.tool, input)
		res, err = made, failed
	})
	over.Wait()
	return res, err
}

// called is what a tool returned, looked at.
func called(ctx context.Context, t tool.Tool, input json.RawMessage) (res tool.Result, err error) {
	defer func() {
		if v := recover(); v != nil { // at what it returned
			res, err = tool.Result{}, protocol.ErrToolFailed("the tool crashed; this is a defect of the tool").
				Because(&tool.PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	res, err = tool.Call(ctx, t, input)
	if res.Cost != nil && res.Cost.IsNegative() { // nobody knows what it was
		res.Cost, res.UnpricedCalls = nil, res.UnpricedCalls+1
	}
	for _, e := range res.Effects {
		_ = e.Kind() // of nothing there is none
	}
	return res, err
}

// key is the idempotency key of the nth call outside of a durable run.
func (r *run) key(n uint32) string {
	if r.inv.Run == "" {
		return ""
	}
	return fmt.Sprintf("%s/%d", r.inv.Run, n)
}

// after returns how the run stops behind a call, nil if it does not.
func (r *run) after(ctx context.Context, c protocol.ToolCall, o outcome) *stop {
	switch {
	case o.Unknown: // not the tool's failure
		return nil
	case o.err != nil:
		return r.failed(ctx, c, o.err)
	}
	r.failures = 0
	if slices.ContainsFunc(o.Effects, isHandoff) {
		return exit(protocol.ExitHandedOff)
	}
	return nil
}

func isHandoff(e protocol.Effect) bool { return e.Kind() == protocol.KindHandoff }

// unknown tells the model what there is instead.
func (r *run) unknown(name string) error {
	e := protocol.ErrToolNotFound(name)
	if r.tools.Len() == 0 {
		e.Message += "; there are no tools"
	} else {
		e.Message += "; the tools are: " + strings.Join(r.tools.Names(), ", ")
	}
	return e
}

// explain is what the model is told of a failure.
func (r *run) explain(p *prepared, err error) string {
	c := p.op.Call
	if isBadInput(err) && p.tool != nil && p.rejected < r.cfg.MaxSchemaAnswers {
		return fmt.Sprintf("Tool '%s' rejected the input: %s\nExpected schema: %s\nPlease fix the input and try again.",
			c.Name, strings.TrimPrefix(err.Error(), "invalid input: "), p.tool.Metadata().InputSchema)
	}
	if r.cfg.ErrorText != nil {
		return r.cfg.ErrorText(c, err)
	}
	return tool.ErrorText(err)
}

func isBadInput(err error) bool {
	return errors.Is(err, &protocol.Error{Kind: protocol.KindToolInvalidInput})
}

// failed counts a failure and returns how the run stops if it does.
func (r *run) failed(ctx context.Context, c protocol.ToolCall, err error) *stop {
	if ctx.Err() != nil { // not the tool's failure
		return r.mustStop(ctx, true, false, false)
	}
	if isBadInput(err) {
		r.rejected[c.Name]++
	}
	e := protocol.AsError(err)
	name := c.Name
	if _, ok := r.tools.Get(name); !ok { // the model's own words
		name = "unknown"
	}
	log := r.log.With(zap.String("tool", name), zap.String("code", string(e.Code)), zap.String("kind", string(e.Kind)))
	var crash *tool.PanicError
	if errors.As(err, &crash) {
		log.Error("tool panicked", zap.Error(crash), zap.ByteString("stack", crash.Stack))
	}
	if end := halted(e); end != nil {
		return end
	}
	r.failures++
	log.Debug("tool failed", zap.Uint32("failures", r.failures))
	if r.failures >= r.bounds.failures {
		return exit(protocol.ExitCircuitBreaker)
	}
	return nil
}
