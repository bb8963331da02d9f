package responses_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/providertest"
	"github.com/skelegent/skelegent-go/actors/provider/responses"
	"github.com/skelegent/skelegent-go/actors/provider/secret"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	providertest.Run(t, providertest.Harness{
		New: func(cfg providertest.Config) provider.Provider {
			return responses.New(responses.Config{
				BaseURL: cfg.URL + "/v1/", APIKey: secret.Static(providertest.Key), Prices: cfg.Prices,
				HTTPClient: cfg.HTTPClient, MaxResponse: providertest.MaxResponse,
			})
		},
		Render: func(a providertest.Answer, stream bool) (string, []byte) {
			if stream {
				return "text/event-stream", renderStream(a)
			}
			return "application/json", encode(object(a))
		},
		RenderError: func(_ int, code, message string) []byte {
			return encode(map[string]any{"error": map[string]any{
				"message": message, "type": "error_type", "param": nil, "code": code,
			}})
		},
		BlockedCode: "content_filter",
	})
}

type obj = map[string]any

func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// items are the output, as it is in the end.
func items(a providertest.Answer) []obj {
	var out []obj
	if a.Text != "" || len(a.Calls) == 0 {
		out = append(out, obj{
			"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
			"content": []obj{{"type": "output_text", "text": a.Text, "annotations": []any{}, "logprobs": []any{}}},
		})
	}
	for i, c := range a.Calls {
		out = append(out, obj{
			"type": "function_call", "id": fmt.Sprint("fc_", i), "status": "completed",
			"call_id": c.ID, "name": c.Name, "arguments": c.Arguments,
		})
	}
	return out
}

// object is the response with all that OpenAI repeats of the request.
func object(a providertest.Answer) obj {
	out := obj{
		"id": "resp_1", "object": "response", "created_at": 1769860800, "status": "completed", "model": a.Model, "error": nil,
		"incomplete_details": nil, "instructions": "Be kind.", "metadata": obj{}, "output": items(a), "service_tier": "default",
		"store": false, "temperature": 1.0, "text": obj{"format": obj{"type": "text"}}, "tools": []any{}, "usage": nil,
	}
	switch a.Stop {
	case protocol.StopMaxTokens:
		out["status"], out["incomplete_details"] = "incomplete", obj{"reason": "max_output_tokens"}
	case protocol.StopContentFilter:
		out["status"], out["incomplete_details"] = "incomplete", obj{"reason": "content_filter"}
	case protocol.StopEndTurn, protocol.StopToolUse:
	}
	if u := a.Usage; u != nil {
		usage := obj{"input_tokens": u.InputTokens, "output_tokens": u.OutputTokens, "total_tokens": u.InputTokens + u.OutputTokens}
		if u.CacheReadTokens != nil {
			usage["input_tokens_details"] = obj{"cached_tokens": *u.CacheReadTokens}
		}
		if u.ReasoningTokens != nil {
			usage["output_tokens_details"] = obj{"reasoning_tokens": *u.ReasoningTokens}
		}
		out["usage"] = usage
	}
	return out
}

// events writes server-sent events as OpenAI does.
type events struct {
	bytes.Buffer
	n int
}

func (e *events) send(kind string, fields obj) {
	fields["type"], fields["sequence_number"] = kind, e.n
	e.n++
	fmt.Fprintf(e, "event: %s\ndata: %s\n\n", kind, encode(fields))
}

// renderStream begins all items, and then sends their pieces.
func renderStream(a providertest.Answer) []byte {
	var e events
	begun := obj{"id": "resp_1", "status": "in_progress", "output": []any{}, "usage": nil}
	e.send("response.created", obj{"response": begun})
	all := items(a)
	for i, it := range all {
		first := obj{"status": "in_progress"}
		for k, v := range it {
			if _, ok := first[k]; !ok {
				first[k] = v
			}
		}
		if it["type"] == "message" {
			first["content"] = []any{}
		} else {
			first["arguments"] = ""
		}
		e.send("response.output_item.added", obj{"output_index": i, "item": first})
	}
	for i, it := range all {
		field := obj{"output_index": i, "item_id": it["id"]}
		kind, text := "response.function_call_arguments", ""
		if it["type"] == "message" {
			kind, text = "response.output_text", a.Text
			e.send("response.content_part.added", obj{"output_index": i, "content_index": 0, "part": obj{"type": "output_text", "text": ""}})
		} else {
			text = it["arguments"].(string)
		}
		for runes := []rune(text); len(runes) > 0; {
			n := 1 + len(runes)/8
			field["delta"], runes = string(runes[:n]), runes[n:]
			e.send(kind+".delta", field)
		}
		e.send(kind+".done", obj{"output_index": i, "item_id": it["id"], "text": text, "arguments": text})
		e.send("response.output_item.done", obj{"output_index": i, "item": it})
	}
	last := object(a)
	e.send("response."+last["status"].(string), obj{"response": last})
	return e.Bytes()
}
