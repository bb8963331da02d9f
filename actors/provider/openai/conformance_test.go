package openai_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	goopenai "github.com/sashabaranov/go-openai"
	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/openai"
	"github.com/skelegent/skelegent-go/actors/provider/providertest"
	"github.com/skelegent/skelegent-go/actors/provider/secret"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func harness() providertest.Harness {
	return providertest.Harness{
		New: func(cfg providertest.Config) provider.Provider {
			return openai.New(openai.Config{
				BaseURL: cfg.URL + "/v1/", APIKey: secret.Static(providertest.Key), Prices: cfg.Prices,
				HTTPClient: cfg.HTTPClient, MaxResponse: providertest.MaxResponse,
			})
		},
		Render: func(a providertest.Answer, stream bool) (string, []byte) {
			if stream {
				return "text/event-stream", renderStream(a)
			}
			return "application/json", renderWhole(a)
		},
		RenderError: func(_ int, code, message string) []byte {
			return encode(map[string]any{"error": map[string]any{
				"message": message, "type": "error_type", "param": nil, "code": code,
			}})
		},
		BlockedCode: "content_filter",
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	providertest.Run(t, harness())
}

func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

func finish(a providertest.Answer) goopenai.FinishReason {
	return map[protocol.StopReason]goopenai.FinishReason{
		protocol.StopEndTurn: "stop", protocol.StopToolUse: "tool_calls",
		protocol.StopMaxTokens: "length", protocol.StopContentFilter: "content_filter",
	}[a.Stop]
}

func usage(u *protocol.TokenUsage) *goopenai.Usage {
	if u == nil {
		return nil
	}
	out := &goopenai.Usage{
		PromptTokens: int(u.InputTokens), CompletionTokens: int(u.OutputTokens), TotalTokens: int(u.InputTokens + u.OutputTokens),
	}
	if u.CacheReadTokens != nil {
		out.PromptTokensDetails = &goopenai.PromptTokensDetails{CachedTokens: int(*u.CacheReadTokens)}
	}
	if u.ReasoningTokens != nil {
		out.CompletionTokensDetails = &goopenai.CompletionTokensDetails{ReasoningTokens: int(*u.ReasoningTokens)}
	}
	return out
}

func renderWhole(a providertest.Answer) []byte {
	m := goopenai.ChatCompletionMessage{Role: "assistant", Content: a.Text}
	for _, c := range a.Calls {
		m.ToolCalls = append(m.ToolCalls, goopenai.ToolCall{
			ID: c.ID, Type: "function", Function: goopenai.FunctionCall{Name: c.Name, Arguments: c.Arguments},
		})
	}
	out := map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "model": a.Model,
		"choices": []goopenai.ChatCompletionChoice{{Message: m, FinishReason: finish(a)}},
	}
	if u := usage(a.Usage); u != nil {
		out["usage"] = u
	}
	return encode(out)
}

// renderStream sends text and arguments in pieces, and the calls' pieces in turn, as servers do.
func renderStream(a providertest.Answer) []byte {
	var b bytes.Buffer
	b.WriteString(": keep-alive\n\nevent: message\nid: 1\n")
	send := func(delta map[string]any, finish any) {
		choice := map[string]any{"index": 0, "delta": delta, "finish_reason": finish}
		fmt.Fprintf(&b, "data: %s\n\n", encode(map[string]any{"model": a.Model, "choices": []any{choice}, "usage": nil}))
	}
	send(map[string]any{"role": "assistant", "content": ""}, nil)
	for piece := range chunks(a.Text) {
		send(map[string]any{"content": piece}, nil)
	}
	for i, c := range a.Calls {
		send(map[string]any{"tool_calls": []any{map[string]any{
			"index": i, "id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": ""},
		}}}, nil)
	}
	for i, c := range a.Calls {
		for piece := range chunks(c.Arguments) {
			send(map[string]any{"tool_calls": []any{map[string]any{
				"index": i, "function": map[string]any{"arguments": piece},
			}}}, nil)
		}
	}
	send(map[string]any{}, finish(a))
	if u := usage(a.Usage); u != nil {
		fmt.Fprintf(&b, "data: %s\r\n\r\n", encode(map[string]any{"model": a.Model, "choices": []any{}, "usage": u}))
	}
	b.WriteString("data: [DONE]\n\n")
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

// broken is a provider that breaks one promise.
type broken struct {
	provider.Provider
	infer func(ctx context.Context, p provider.Provider, req protocol.InferRequest, sink func(protocol.StreamEvent)) (protocol.InferResponse, error)
}

func (b broken) Infer(ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent)) (protocol.InferResponse, error) {
	return b.infer(ctx, b.Provider, req, sink)
}

// TestSuite checks that the suite notices each broken promise.
func TestSuite(t *testing.T) {
	t.Parallel()
	type sink = func(protocol.StreamEvent)
	type infer = func(ctx context.Context, p provider.Provider, req protocol.InferRequest, s sink) (protocol.InferResponse, error)
	events := func(change func(protocol.StreamEvent) protocol.StreamEvent) infer {
		return func(ctx context.Context, p provider.Provider, req protocol.InferRequest, s sink) (protocol.InferResponse, error) {
			if s == nil {
				return p.Infer(ctx, req, nil)
			}
			return p.Infer(ctx, req, func(ev protocol.StreamEvent) {
				if ev = change(ev); ev != nil {
					s(ev)
				}
			})
		}
	}
	after := func(change func(*protocol.InferResponse, error) error) infer {
		return func(ctx context.Context, p provider.Provider, req protocol.InferRequest, s sink) (protocol.InferResponse, error) {
			r, err := p.Infer(ctx, req, s)
			err = change(&r, err)
			return r, err
		}
	}
	coded := func(change func(*protocol.Error) *protocol.Error) infer {
		return after(func(_ *protocol.InferResponse, err error) error {
			var e *protocol.Error
			if errors.As(err, &e) {
				return change(e)
			}
			return err
		})
	}
	price := func(literal string) infer {
		return after(func(r *protocol.InferResponse, err error) error {
			d := protocol.MustDecimal(literal)
			r.Cost = &d
			return err
		})
	}
	tests := []struct {
		broken string
		infer  infer
		cases  []string
	}{
		{"no done", events(func(ev protocol.StreamEvent) protocol.StreamEvent {
			if _, ok := ev.(protocol.Done); ok {
				return nil
			}
			return ev
		}), []string{"text"}},
		{"text lost in the stream", events(func(ev protocol.StreamEvent) protocol.StreamEvent {
			if d, ok := ev.(protocol.TextDelta); ok && len(d.Text) > 3 {
				return nil
			}
			return ev
		}), []string{"text", "long text"}},
		{"calls lost", after(func(r *protocol.InferResponse, err error) error {
			r.ToolCalls = r.ToolCalls[:min(1, len(r.ToolCalls))]
			return err
		}), []string{"parallel tool calls"}},
		{"unknown is free", price("0"), []string{"unknown price", "no usage, no cost"}},
		{"one price for all", price("0.0000045"), []string{"cached tokens"}},
		{
			"retry-after lost", coded(func(e *protocol.Error) *protocol.Error { return e.After(0) }),
			[]string{"status 429 with seconds", "status 429 with a date", "calls at the same time", "status 400"},
		},
		{
			"all transient", coded(func(*protocol.Error) *protocol.Error { return protocol.ErrProviderTransient("x", 0) }),
			[]string{"status 401", "status 404", "garbage", "content blocked"},
		},
		{"prompt in the error", coded(func(e *protocol.Error) *protocol.Error {
			e.Message += providertest.Prompt
			return e
		}), []string{"status 500", "garbage"}},
		{
			"key in a cause", coded(func(e *protocol.Error) *protocol.Error { return e.Because(errors.New(providertest.Key)) }),
			[]string{"status 401"},
		},
		{"retries", func(ctx context.Context, p provider.Provider, req protocol.InferRequest, s sink) (protocol.InferResponse, error) {
			if _, err := p.Infer(ctx, req, nil); err == nil {
				return protocol.InferResponse{}, nil
			}
			return p.Infer(ctx, req, s)
		}, []string{"status 500", "status 429"}},
		{"a short answer for a cut one", after(func(r *protocol.InferResponse, err error) error {
			if errors.Is(err, &protocol.Error{Kind: protocol.KindProviderTransient}) {
				*r = protocol.InferResponse{Content: protocol.TextContent("Once")}
				return nil
			}
			return err
		}), []string{"aborted in the middle", "cut anywhere"}},
		{"not cancelled", func(ctx context.Context, p provider.Provider, req protocol.InferRequest, s sink) (protocol.InferResponse, error) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 200*time.Millisecond)
			defer cancel()
			return p.Infer(ctx, req, s)
		}, []string{"cancelled while waiting", "cancelled in the middle", "ended before"}},
	}
	for _, tt := range tests {
		for _, name := range tt.cases {
			t.Run(tt.broken+"/"+name, func(t *testing.T) {
				t.Parallel()
				h := harness()
				whole := h.New
				h.New = func(cfg providertest.Config) provider.Provider { return broken{whole(cfg), tt.infer} }
				if err := find(t, name).Check(t.Context(), h); err == nil {
					t.Error("the suite does not notice")
				}
			})
		}
	}
}

func find(t *testing.T, name string) providertest.Case {
	t.Helper()
	for _, c := range providertest.Cases() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no case %q", name)
	return providertest.Case{}
}
