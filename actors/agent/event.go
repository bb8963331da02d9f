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
		Content string `json:"content"`
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

// attempt makes one model call and tells of it. Where a call is made again, inference_started follows without an
// inference_completed: what was streamed since the last one is void.
func (r *run) attempt(ctx context.Context, req protocol.InferRequest) (protocol.InferResponse, error) {
	r.events.Emit(protocol.EventInferenceStarted, inferenceStarted{Model: req.Model})
	var sink func(protocol.StreamEvent)
	if r.stream {
		sink = func(e protocol.StreamEvent) {
			if d, ok := e.(protocol.TextDelta); ok && d.Text != "" {
				r.events.Emit(protocol.EventProgress, progress{Content: d.Text})
			}
		}
	}
	resp, err := r.cfg.Provider.Infer(ctx, req, sink)
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
