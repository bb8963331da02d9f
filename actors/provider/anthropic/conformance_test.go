package anthropic_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/anthropic"
	"github.com/skelegent/skelegent-go/actors/provider/providertest"
	"github.com/skelegent/skelegent-go/actors/provider/secret"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const blocked = "blocked"

func TestConformance(t *testing.T) {
	t.Parallel()
	providertest.Run(t, providertest.Harness{
		New: func(cfg providertest.Config) provider.Provider {
			return anthropic.New(anthropic.Config{
				BaseURL: cfg.URL + "/", APIKey: secret.Static(providertest.Key), Prices: cfg.Prices,
				HTTPClient: cfg.HTTPClient, MaxResponse: providertest.MaxResponse, CachePrompt: true,
			})
		},
		Render: func(a providertest.Answer, stream bool) (string, []byte) {
			if stream {
				return "text/event-stream; charset=utf-8", renderStream(a)
			}
			return "application/json", renderWhole(a)
		},
		RenderError: func(_ int, code, message string) []byte {
			kind := "some_error"
			if code == blocked { // has no type of its own
				kind, message = "invalid_request_error", "Output blocked by content filtering policy "+message
			}
			return encode(map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}, "request_id": "req_1"})
		},
		BlockedCode: blocked,
	})
}

func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

func stop(a providertest.Answer) string {
	return map[protocol.StopReason]string{
		protocol.StopEndTurn: "end_turn", protocol.StopToolUse: "tool_use",
		protocol.StopMaxTokens: "max_tokens", protocol.StopContentFilter: "refusal",
	}[a.Stop]
}

// usage counts as the API does: input tokens are those outside of the cache.
func usage(u *protocol.TokenUsage) map[string]any {
	out := map[string]any{"output_tokens": u.OutputTokens, "service_tier": "standard"}
	input := u.InputTokens
	if u.CacheReadTokens != nil {
		out["cache_read_input_tokens"] = *u.CacheReadTokens
		input -= *u.CacheReadTokens
	}
	if u.ReasoningTokens != nil {
		out["output_tokens_details"] = map[string]any{"thinking_tokens": *u.ReasoningTokens}
	}
	out["input_tokens"] = input
	return out
}

func renderWhole(a providertest.Answer) []byte {
	content := []any{}
	if a.Text != "" {
		content = append(content, map[string]any{"type": "text", "text": a.Text, "citations": nil})
	}
	for _, c := range a.Calls {
		var input any = c.Arguments
		switch {
		case c.Arguments == "":
			input = map[string]any{}
		case json.Valid([]byte(c.Arguments)):
			input = json.RawMessage(c.Arguments)
		}
		content = append(content, map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": input})
	}
	out := map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": a.Model,
		"content": content, "stop_reason": stop(a), "stop_sequence": nil,
	}
	if a.Usage != nil {
		out["usage"] = usage(a.Usage)
	}
	return encode(out)
}

// renderStream sends text and input in pieces, with pings and comments between, as the API does.
func renderStream(a providertest.Answer) []byte {
	var b bytes.Buffer
	b.WriteString(": hello\n\n")
	send := func(kind string, fields map[string]any) {
		fields["type"] = kind
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", kind, encode(fields))
	}
	message := map[string]any{"id": "msg_1", "type": "message", "role": "assistant", "model": a.Model, "content": []any{}, "stop_reason": nil}
	if a.Usage != nil {
		first := usage(a.Usage)
		first["output_tokens"] = 1
		message["usage"] = first
	}
	send("message_start", map[string]any{"message": message})
	send("ping", map[string]any{})
	index := 0
	part := func(begin map[string]any, kind, field, text string) {
		send("content_block_start", map[string]any{"index": index, "content_block": begin})
		for piece := range chunks(text) {
			send("content_block_delta", map[string]any{"index": index, "delta": map[string]any{"type": kind, field: piece}})
		}
		send("content_block_stop", map[string]any{"index": index})
		index++
	}
	if a.Text != "" {
		part(map[string]any{"type": "text", "text": ""}, "text_delta", "text", a.Text)
	}
	for _, c := range a.Calls {
		part(map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": map[string]any{}}, "input_json_delta", "partial_json", c.Arguments)
	}
	end := map[string]any{"delta": map[string]any{"stop_reason": stop(a), "stop_sequence": nil}}
	if a.Usage != nil {
		end["usage"] = usage(a.Usage)
	}
	send("message_delta", end)
	send("message_stop", map[string]any{})
	return b.Bytes()
}

func chunks(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		runes := []rune(s)
		for len(runes) > 0 {
			n := min(len(runes), 1+len(runes)/8)
			if !yield(string(runes[:n])) {
				return
			}
			runes = runes[n:]
		}
	}
}
