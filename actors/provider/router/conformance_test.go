package router_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/limit"
	"github.com/skelegent/skelegent-go/actors/provider/middleware"
	"github.com/skelegent/skelegent-go/actors/provider/openai"
	"github.com/skelegent/skelegent-go/actors/provider/providertest"
	"github.com/skelegent/skelegent-go/actors/provider/router"
	"github.com/skelegent/skelegent-go/actors/provider/secret"
	"github.com/skelegent/skelegent-go/protocol"
)

// TestConformance: behind a router, a breaker, a limiter and middleware a provider keeps every promise of a provider.
func TestConformance(t *testing.T) {
	t.Parallel()
	providertest.Run(t, providertest.Harness{
		New: func(cfg providertest.Config) provider.Provider {
			var p provider.Provider = openai.New(openai.Config{
				BaseURL: cfg.URL + "/v1/", APIKey: secret.Static(providertest.Key), Prices: cfg.Prices,
				HTTPClient: cfg.HTTPClient, MaxResponse: providertest.MaxResponse,
			})
			p = middleware.NewStack().
				Observe(middleware.Log(zap.NewExample(zap.IncreaseLevel(zap.ErrorLevel)))).
				Transform(middleware.Timeout(time.Hour)).
				Guard(middleware.MaxInput(1 << 30)).
				Build().Wrap(p)
			p = limit.New(p, limit.Config{
				Default:  limit.Limits{Requests: 1 << 30, Tokens: 1 << 40, Concurrent: 100},
				MaxPause: time.Nanosecond, // the suite asks again at once
			})
			p = limit.Breaker(p, limit.BreakerConfig{Failures: 1 << 30})
			r, err := router.New(router.Default(p))
			if err != nil {
				panic(err)
			}
			return r
		},
		Render: render,
		RenderError: func(_ int, code, message string) []byte {
			return encode(map[string]any{"error": map[string]any{"message": message, "type": "error_type", "code": code}})
		},
		BlockedCode: "content_filter",
	})
}

func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

var finish = map[protocol.StopReason]string{
	protocol.StopEndTurn: "stop", protocol.StopToolUse: "tool_calls",
	protocol.StopMaxTokens: "length", protocol.StopContentFilter: "content_filter",
}

func usage(u *protocol.TokenUsage) map[string]any {
	out := map[string]any{"prompt_tokens": u.InputTokens, "completion_tokens": u.OutputTokens}
	if u.CacheReadTokens != nil {
		out["prompt_tokens_details"] = map[string]any{"cached_tokens": *u.CacheReadTokens}
	}
	if u.ReasoningTokens != nil {
		out["completion_tokens_details"] = map[string]any{"reasoning_tokens": *u.ReasoningTokens}
	}
	return out
}

// render speaks as a chat completions server does.
func render(a providertest.Answer, stream bool) (contentType string, body []byte) {
	var calls []any
	for i, c := range a.Calls {
		calls = append(calls, map[string]any{
			"index": i, "id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Arguments},
		})
	}
	message := map[string]any{"role": "assistant", "content": a.Text}
	if calls != nil {
		message["tool_calls"] = calls
	}
	if !stream {
		whole := map[string]any{
			"model": a.Model, "choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish[a.Stop]}},
		}
		if a.Usage != nil {
			whole["usage"] = usage(a.Usage)
		}
		return "application/json", encode(whole)
	}
	var b bytes.Buffer
	send := func(choices []any, count any) {
		fmt.Fprintf(&b, "data: %s\n\n", encode(map[string]any{"model": a.Model, "choices": choices, "usage": count}))
	}
	half := len([]rune(a.Text)) / 2
	for _, piece := range []string{string([]rune(a.Text)[:half]), string([]rune(a.Text)[half:])} {
		send([]any{map[string]any{"index": 0, "delta": map[string]any{"content": piece}}}, nil)
	}
	if calls != nil {
		send([]any{map[string]any{"index": 0, "delta": map[string]any{"tool_calls": calls}}}, nil)
	}
	send([]any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish[a.Stop]}}, nil)
	if a.Usage != nil {
		send([]any{}, usage(a.Usage))
	}
	b.WriteString("data: [DONE]\n\n")
	return "text/event-stream", b.Bytes()
}
