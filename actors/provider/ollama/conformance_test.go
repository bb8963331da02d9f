package ollama_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/ollama"
	"github.com/skelegent/skelegent-go/actors/provider/providertest"
	"github.com/skelegent/skelegent-go/actors/provider/secret"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	providertest.Run(t, providertest.Harness{
		New: func(cfg providertest.Config) provider.Provider {
			return ollama.New(ollama.Config{
				BaseURL: cfg.URL, APIKey: secret.Static(providertest.Key),
				HTTPClient: cfg.HTTPClient, MaxResponse: providertest.MaxResponse,
			})
		},
		Render: render,
		RenderError: func(_ int, code, message string) []byte {
			return encode(map[string]any{"error": code + ": " + message})
		},
		BlockedCode: "content_filter",
		Free:        true,
		Without:     []string{"content filter", "cached tokens", "reasoning tokens"},
	})
}

func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// render answers as Ollama does: text in pieces, calls each as a whole, and the counts in the last line. Arguments that
// are no JSON, which it never sends, are a string here.
func render(a providertest.Answer, stream bool) (string, []byte) {
	var calls []any
	for _, c := range a.Calls {
		f := map[string]any{"name": c.Name}
		switch {
		case json.Valid([]byte(c.Arguments)):
			f["arguments"] = json.RawMessage(c.Arguments)
		case c.Arguments != "":
			f["arguments"] = c.Arguments
		}
		calls = append(calls, map[string]any{"id": c.ID, "function": f})
	}
	end := map[string]any{
		"model": a.Model, "created_at": "2026-01-31T12:00:00Z", "done": true, "done_reason": "stop", "total_duration": 5,
		"message": map[string]any{"role": "assistant", "content": ""},
	}
	if a.Stop == protocol.StopMaxTokens {
		end["done_reason"] = "length"
	}
	if a.Usage != nil {
		end["prompt_eval_count"], end["eval_count"] = a.Usage.InputTokens, a.Usage.OutputTokens
	}
	if !stream {
		end["message"] = map[string]any{"role": "assistant", "content": a.Text, "tool_calls": calls}
		return "application/json; charset=utf-8", encode(end)
	}
	var b bytes.Buffer
	line := func(v any) {
		b.Write(encode(v))
		b.WriteByte('\n')
	}
	piece := func(name string, v any) {
		line(map[string]any{"model": a.Model, "message": map[string]any{"role": "assistant", "content": "", name: v}, "done": false})
	}
	runes := []rune(a.Text)
	for len(runes) > 0 {
		n := 1 + len(runes)/8
		piece("content", string(runes[:n]))
		runes = runes[n:]
	}
	for _, c := range calls {
		piece("tool_calls", []any{c})
	}
	line(end)
	return "application/x-ndjson", b.Bytes()
}
