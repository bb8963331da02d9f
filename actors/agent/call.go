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

// useTools makes the calls of one answer, in their order, or asks for approval and makes none. It returns nil if the
// model should see the results.
func (r *run) useTools(ctx context.Context, calls []protocol.ToolCall, said *protocol.Content) *stop {
	waiting := false
	for _, c := range calls {
		r.events.Emit(protocol.EventToolCallAssembled, toolCallAssembled{CallID: c.ID, Capability: c.Name, Input: c.Input})
		t, ok := r.tools.Get(c.Name)
		if !ok {
			continue
		}
		if _, needed := tool.NeedsApproval(t, c.Input); needed {
			waiting = true
			r.conv.Declare(protocol.ToolApprovalRequired{ToolName: c.Name, CallID: c.ID, Input: c.Input})
		}
	}
	if waiting {
		return &stop{exit: protocol.Exit(protocol.ExitAwaitingApproval), message: said}
	}
	for _, c := range calls {
		if end := r.mustStop(ctx, false); end != nil {
			return end
		}
		if end := r.call(ctx, c); end != nil {
			return end
		}
	}
	return nil
}

// call makes one call and puts its result into the conversation. It returns nil unless the run ends by it.
func (r *run) call(ctx context.Context, c protocol.ToolCall) *stop {
	start := r.cfg.Now()
	res, err := r.invoke(ctx, c)
	r.conv.spend(res.Cost)
	r.conv.metrics.UnpricedCalls += res.UnpricedCalls
	text := res.Text()
	if err != nil {
		text = r.explain(c, err)
	}
	text = tool.Cut(text, r.cfg.MaxResultText)
	r.conv.AppendToolResult(c, text, protocol.SubDispatchRecord{
		Name: c.Name, Duration: protocol.MillisOf(r.cfg.Now().Sub(start)), Success: err == nil,
	})
	r.events.Emit(protocol.EventToolResultReceived, toolResultReceived{
		CallID: c.ID, Capability: c.Name, Output: text, IsError: err != nil,
	})
	if err != nil {
		return r.failed(ctx, c, err)
	}
	r.failures = 0
	r.conv.Declare(res.Effects...)
	if slices.ContainsFunc(res.Effects, isHandoff) {
		return exit(protocol.ExitHandedOff)
	}
	return nil
}

func isHandoff(e protocol.Effect) bool { return e.Kind() == protocol.KindHandoff }

func (r *run) invoke(ctx context.Context, c protocol.ToolCall) (tool.Result, error) {
	t, ok := r.tools.Get(c.Name)
	if !ok {
		return tool.Result{}, r.unknown(c.Name)
	}
	ctx = tool.WithRun(ctx, tool.Run{Session: r.session, Declared: r.conv.SharedEffects()})
	ctx = protocol.WithCall(ctx, protocol.Call{Budget: r.left()})
	return tool.Call(ctx, t, bytes.Clone(c.Input))
}

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
	if !errors.Is(err, &protocol.Error{Kind: protocol.KindToolInvalidInput}) || r.rejected[c.Name] >= maxSchemaAnswers {
		return tool.ErrorText(err)
	}
	t, _ := r.tools.Get(c.Name)
	r.rejected[c.Name]++
	return fmt.Sprintf("Tool '%s' rejected the input: %s\nExpected schema: %s\nPlease fix the input and try again.",
		c.Name, strings.TrimPrefix(err.Error(), "invalid input: "), t.Metadata().InputSchema)
}

// failed counts a failure and returns how the run stops if it does.
func (r *run) failed(ctx context.Context, c protocol.ToolCall, err error) *stop {
	if ctx.Err() != nil { // not the tool's failure
		return r.mustStop(ctx, true)
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
