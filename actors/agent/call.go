package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// repair makes calls fit to be kept: each has an id, and an input that is JSON. What a model wrote that is none becomes
// a string, which no tool accepts, so that the model sees what it wrote.
func (r *run) repair(calls []protocol.ToolCall) []protocol.ToolCall {
	calls = slices.Clone(calls) // they are the provider's
	for i := range calls {
		c := &calls[i]
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d_%d", r.conv.metrics.Turns+1, i+1)
		}
		if len(bytes.TrimSpace(c.Input)) == 0 {
			c.Input = json.RawMessage(`{}`)
		} else if !json.Valid(c.Input) {
			c.Input, _ = protocol.Marshal(string(c.Input)) // a string always marshals
		}
	}
	return calls
}

// useTools makes the calls of one answer, in their order. If any needs approval, a durable run waits until a person has
// decided, and any other makes none and ends. It returns nil if the model should see the results.
func (r *run) useTools(ctx context.Context, calls []protocol.ToolCall, said *protocol.Content) *stop {
	var pending []pendingCall
	for i, c := range calls {
		if !r.durable {
			r.events.Emit(protocol.EventToolCallAssembled, assembled(c))
		}
		t, ok := r.tools.Get(c.Name)
		if !ok {
			continue
		}
		if reason, needed := tool.NeedsApproval(t, c.Input); needed {
			pending = append(pending, pendingCall{index: i, call: c, reason: reason})
		}
	}
	if len(pending) > 0 && !r.durable {
		for _, p := range pending {
			r.conv.Declare(protocol.ToolApprovalRequired{ToolName: p.call.Name, CallID: p.call.ID, Input: p.call.Input})
		}
		return &stop{exit: protocol.Exit(protocol.ExitAwaitingApproval), message: said}
	}
	verdicts, end := r.approve(ctx, pending, said)
	if end != nil {
		return end
	}
	for i, c := range calls {
		if v := verdicts[i]; v.refusal != "" {
			r.conv.Append(protocol.ToolResultMessage(c.ID, c.Name, v.refusal, true))
			continue
		} else if v.input != nil {
			c.Input = v.input
		}
		if end := r.call(ctx, c); end != nil {
			return end
		}
	}
	return nil
}

// call makes one call and puts its result into the conversation. It returns nil unless the run ends by it.
func (r *run) call(ctx context.Context, c protocol.ToolCall) *stop {
	at := step.Next(ctx)
	known, err := at.Known(ctx)
	if err != nil {
		return r.broken(ctx, err)
	}
	if end := r.mustStop(ctx, false, known); end != nil {
		return end
	}
	if !at.Durable() {
		o := r.invoke(ctx, c, r.key())
		r.take(c, o)
		r.events.Emit(protocol.EventToolResultReceived, received(c, o.Text, o.err != nil))
		return r.after(ctx, c, o)
	}
	o, end := r.perform(ctx, at, c, known)
	if end != nil {
		return end
	}
	r.take(c, o)
	if o.interrupted {
		return r.outOfTime(ctx)
	}
	return r.after(ctx, c, o)
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

// invoke calls the tool.
func (r *run) invoke(ctx context.Context, c protocol.ToolCall, key string) outcome {
	start := r.cfg.Now()
	res, err := r.use(ctx, c, key)
	o := outcome{
		Effects: res.Effects, Cost: res.Cost, UnpricedCalls: res.UnpricedCalls, err: err,
		Duration: protocol.MillisOf(r.cfg.Now().Sub(start)),
	}
	if err != nil {
		o.Text, o.Error = r.explain(c, err), protocol.AsError(err).Clip()
	} else {
		o.Text = res.Text()
	}
	o.Text = tool.Cut(o.Text, r.cfg.MaxResultText)
	return o
}

func (r *run) use(ctx context.Context, c protocol.ToolCall, key string) (tool.Result, error) {
	t, ok := r.tools.Get(c.Name)
	if !ok {
		return tool.Result{}, r.unknown(c.Name)
	}
	ctx = tool.WithRun(ctx, tool.Run{Session: r.session, Declared: r.conv.SharedEffects(), IdempotencyKey: key})
	ctx = protocol.WithCall(ctx, protocol.Call{Budget: r.left()})
	return tool.Call(ctx, t, bytes.Clone(c.Input))
}

// key is the idempotency key of the next call outside of a durable run.
func (r *run) key() string {
	if r.inv.Run == "" {
		return ""
	}
	return fmt.Sprintf("%s/%d", r.inv.Run, r.conv.metrics.ToolCalls+1)
}

// take puts what a call came to into the conversation.
func (r *run) take(c protocol.ToolCall, o outcome) {
	r.conv.spend(o.Cost)
	r.conv.metrics.UnpricedCalls += o.UnpricedCalls
	r.conv.AppendToolResult(c, o.Text, protocol.SubDispatchRecord{Name: c.Name, Duration: o.Duration, Success: o.err == nil})
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
	r.conv.Declare(o.Effects...)
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

// maxSchemaAnswers is how often in a run a model is shown the schema of a tool whose input it got wrong.
const maxSchemaAnswers = 2

// explain is what the model is told of a failure.
func (r *run) explain(c protocol.ToolCall, err error) string {
	if !isBadInput(err) || r.rejected[c.Name] >= maxSchemaAnswers {
		return tool.ErrorText(err)
	}
	t, _ := r.tools.Get(c.Name)
	return fmt.Sprintf("Tool '%s' rejected the input: %s\nExpected schema: %s\nPlease fix the input and try again.",
		c.Name, strings.TrimPrefix(err.Error(), "invalid input: "), t.Metadata().InputSchema)
}

func isBadInput(err error) bool {
	return errors.Is(err, &protocol.Error{Kind: protocol.KindToolInvalidInput})
}

// failed counts a failure and returns how the run stops if it does.
func (r *run) failed(ctx context.Context, c protocol.ToolCall, err error) *stop {
	if ctx.Err() != nil { // not the tool's failure
		return r.mustStop(ctx, true, false)
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
