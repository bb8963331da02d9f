package agent

import (
	"context"
	"encoding/json"

	"github.com/skelegent/skelegent-go/protocol"
)

// silence is the sink of invocations that nobody observes.
var silence = protocol.InvocationFrom(context.Background()).Events

// observers returns where events go, and whether anybody may see them.
func observers(inv *protocol.Invocation) (protocol.EventSink, bool) {
	if inv.Events == nil || inv.Events == silence {
		return silence, false
	}
	return inv.Events, true
}

// The data of the events.
type (
	inferenceStarted struct {
		Model string `json:"model"`
	}
	progress struct {
		Content  string         `json:"content"`
		Thinking string         `json:"thinking,omitempty"`
		ToolCall *toolCallPiece `json:"tool_call,omitempty"`
	}
	toolCallPiece struct {
		Index int    `json:"index"`
		ID    string `json:"id,omitempty"`
		Name  string `json:"name,omitempty"`
		Input string `json:"input,omitempty"` // more of the JSON
	}
	inferenceCompleted struct {
		Model      string              `json:"model"`
		Usage      protocol.TokenUsage `json:"usage"`
		Cost       *protocol.Decimal   `json:"cost"`
		StopReason protocol.StopReason `json:"stop_reason"`
		ToolCalls  int                 `json:"tool_calls"`
	}
	toolCallAssembled struct {
		CallID     string          `json:"call_id"`
		Capability string          `json:"capability_id"`
		Input      json.RawMessage `json:"input"`
	}
	logged struct {
		Level   protocol.LogLevel `json:"level"`
		Message string            `json:"message"`
		Error   *protocol.Error   `json:"error"`
	}
	toolResultReceived struct {
		CallID     string `json:"call_id"`
		Capability string `json:"capability_id"`
		Output     string `json:"output"`
		IsError    bool   `json:"is_error"`
	}
)

func assembled(c protocol.ToolCall) toolCallAssembled {
	return toolCallAssembled{CallID: c.ID, Capability: c.Name, Input: c.Input}
}

func received(c protocol.ToolCall, text string, isError bool) toolResultReceived {
	return toolResultReceived{CallID: c.ID, Capability: c.Name, Output: text, IsError: isError}
}

// observe finds out who wants to see what happens.
func (r *run) observe(ctx context.Context) {
	var live bool
	r.events, live = observers(r.inv)
	own := streamFrom(ctx)
	switch {
	case live && !r.cfg.NoStream && own != nil:
		r.sink = func(e protocol.StreamEvent) {
			own(e)
			r.show(e)
		}
	case live && !r.cfg.NoStream:
		r.sink = r.show
	default:
		r.sink = own
	}
}

// observed is where the lifecycle events go, nil if nobody sees them.
func (r *run) observed() protocol.EventSink {
	if r.events == silence {
		return nil
	}
	return r.events
}

// show tells observers of a piece of an answer.
func (r *run) show(e protocol.StreamEvent) {
	var p progress
	switch e := e.(type) {
	case protocol.TextDelta:
		p.Content = e.Text
	case protocol.ThinkingDelta:
		p.Thinking = e.Thinking
	case protocol.ToolCallStart:
		p.ToolCall = &toolCallPiece{Index: e.Index, ID: e.ID, Name: e.Name}
	case protocol.ToolCallDelta:
		p.ToolCall = &toolCallPiece{Index: e.Index, Input: e.JSONDelta}
	}
	if p != (progress{}) {
		r.events.Emit(protocol.EventProgress, p)
	}
}

// attempt makes one model call and tells of it. Where a call is made again, inference_started follows without an
// inference_completed: what was streamed since the last one is void.
func (r *run) attempt(ctx context.Context, req protocol.InferRequest) (protocol.InferResponse, error) {
	r.events.Emit(protocol.EventInferenceStarted, inferenceStarted{Model: req.Model})
	sink := r.sink
	if r.aside {
		sink = nil
	}
	resp, err := r.cfg.Provider.Infer(ctx, req, sink)
	if resp.Cost != nil && resp.Cost.IsNegative() { // nobody knows what it was
		resp.Cost = nil
	}
	if err == nil && !r.durable {
		r.events.Emit(protocol.EventInferenceCompleted, inferenceCompleted{
			Model: resp.Model, Usage: resp.Usage, Cost: resp.Cost, StopReason: resp.StopReason, ToolCalls: len(resp.ToolCalls),
		})
	}
	return resp, err
}

// encoded is the JSON of what always has one.
func encoded(v any) json.RawMessage {
	raw, err := protocol.Marshal(v)
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
}
