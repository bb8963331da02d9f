package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/openai"
	"github.com/skelegent/skelegent-go/actors/provider/providertest"
	"github.com/skelegent/skelegent-go/actors/provider/secret"
	"github.com/skelegent/skelegent-go/protocol"
)

// server answers every request with reply and keeps the last one.
type server struct {
	*httptest.Server
	body   map[string]any
	header http.Header
	path   string
}

func serve(t *testing.T, contentType, reply string) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(raw, &s.body)
		}
		if err != nil {
			t.Errorf("request: %v", err)
		}
		s.header, s.path = r.Header, r.URL.Path
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, reply)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) provider(t *testing.T, cfg openai.Config) *openai.Provider {
	t.Helper()
	cfg.BaseURL, cfg.HTTPClient = "http://api.openai.com/v1", providertest.As(t, s.URL)
	p := openai.New(cfg)
	t.Cleanup(p.Close)
	return p
}

const reply = `{"model":"gpt-4o-mini-2024-07-18","choices":[{"message":{"content":"ok"},"finish_reason":"stop"}],
	"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4}}}`

func user(blocks ...protocol.ContentBlock) protocol.Message {
	return protocol.NewMessage(protocol.RoleUser, protocol.BlockContent(blocks...))
}

func TestMessages(t *testing.T) {
	t.Parallel()
	image := protocol.ImageBlock{Source: protocol.URLSource("https://e/i.png"), MediaType: "image/png"}
	calls := protocol.NewMessage(protocol.RoleAssistant, protocol.BlockContent(
		protocol.ThinkingBlock{Thinking: "hm"}, protocol.TextBlock{Text: "Look"}, protocol.TextBlock{Text: "ing"},
		protocol.ToolUseBlock{ID: "c1", Name: "clock", Input: json.RawMessage(`{"a":1}`)},
		protocol.ToolUseBlock{ID: "c2", Name: "clock", Input: json.RawMessage(`"{\"broken"`)}))
	tests := []struct {
		name     string
		messages []protocol.Message
		want     string
	}{
		{"text", []protocol.Message{protocol.NewMessage(protocol.RoleUser, protocol.TextContent(""))}, `[{"role":"user","content":""}]`},
		{"roles", []protocol.Message{
			protocol.NewMessage(protocol.RoleSystem, protocol.TextContent("be kind")), user(protocol.TextBlock{Text: "<hi>"}),
			protocol.NewMessage(protocol.RoleAssistant, protocol.TextContent("hello")),
		}, `[{"role":"system","content":"be kind"},{"role":"user","content":"<hi>"},{"role":"assistant","content":"hello"}]`},
		{"calls and results", []protocol.Message{
			calls, protocol.ToolResultMessage("c1", "clock", "", false), protocol.ToolResultMessage("c2", "clock", "bad input", true),
		}, `[{"role":"assistant","content":"Looking","tool_calls":[
			{"id":"c1","type":"function","function":{"name":"clock","arguments":"{\"a\":1}"}},
			{"id":"c2","type":"function","function":{"name":"clock","arguments":"{\"broken"}}]},
			{"role":"tool","content":"","tool_call_id":"c1"},{"role":"tool","content":"bad input","tool_call_id":"c2"}]`},
		{
			"calls alone",
			[]protocol.Message{protocol.NewMessage(protocol.RoleAssistant, protocol.BlockContent(
				protocol.ToolUseBlock{ID: "c1", Name: "clock", Input: json.RawMessage(`{}`)}))},
			`[{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"clock","arguments":"{}"}}]}]`,
		},
		{
			"empty id in the role",
			[]protocol.Message{protocol.NewMessage(protocol.ToolRole("clock", ""), protocol.BlockContent(
				protocol.ToolResultBlock{ToolUseID: "c1", Content: "noon"}))},
			`[{"role":"tool","content":"noon","tool_call_id":"c1"}]`,
		},
		{
			"id in the role alone",
			[]protocol.Message{protocol.NewMessage(protocol.ToolRole("clock", "c1"), protocol.TextContent("noon"))},
			`[{"role":"tool","content":"noon","tool_call_id":"c1"}]`,
		},
		{"results in a user's message", []protocol.Message{
			user(protocol.TextBlock{Text: "and?"}, protocol.ToolResultBlock{ToolUseID: "c1", Content: "1"},
				protocol.ToolResultBlock{ToolUseID: "c2", Content: "2"}),
		}, `[{"role":"tool","content":"1","tool_call_id":"c1"},{"role":"tool","content":"2","tool_call_id":"c2"},
			{"role":"user","content":"and?"}]`},
		{"an image between results waits", []protocol.Message{
			protocol.NewMessage(protocol.ToolRole("shot", "c1"), protocol.BlockContent(protocol.ToolResultBlock{ToolUseID: "c1", Content: "1"}, image)),
			protocol.ToolResultMessage("c2", "shot", "2", false), user(protocol.TextBlock{Text: "next"}),
		}, `[{"role":"tool","content":"1","tool_call_id":"c1"},{"role":"tool","content":"2","tool_call_id":"c2"},
			{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://e/i.png"}}]},{"role":"user","content":"next"}]`},
		{
			"parts",
			[]protocol.Message{user(protocol.TextBlock{Text: "see"}, image,
				protocol.ImageBlock{Source: protocol.Base64Source("QUJD"), MediaType: "image/gif"},
				protocol.FileBlock{Source: protocol.Base64Source("QUJD"), MediaType: "application/pdf", Filename: "a.pdf"},
				protocol.DataBlock{Data: json.RawMessage(`{"a":1}`)})},
			`[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"https://e/i.png"}},
			{"type":"image_url","image_url":{"url":"data:image/gif;base64,QUJD"}},
			{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,QUJD"}},{"type":"text","text":"{\"a\":1}"}]}]`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, "application/json", reply)
			if _, err := s.provider(t, openai.Config{}).Infer(t.Context(), protocol.InferRequest{Messages: tt.messages}, nil); err != nil {
				t.Fatal(err)
			}
			var want any
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, s.body["messages"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMessagesRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, "application/json", reply)
	p := s.provider(t, openai.Config{})
	image := protocol.ImageBlock{Source: protocol.URLSource("https://e/i.png"), MediaType: "image/png"}
	for name, m := range map[string]protocol.Message{
		"image of the assistant": protocol.NewMessage(protocol.RoleAssistant, protocol.BlockContent(image)),
		"call of the user":       user(protocol.ToolUseBlock{ID: "c", Name: "n", Input: json.RawMessage(`{}`)}),
		"file by address":        user(protocol.FileBlock{Source: protocol.URLSource("https://e/f")}),
		"custom":                 user(protocol.CustomBlock{ContentType: "x", Data: json.RawMessage(`{}`)}),
	} {
		_, err := p.Infer(t.Context(), protocol.InferRequest{Messages: []protocol.Message{m}}, nil)
		wantKind(t, name, err, protocol.KindProviderInvalidRequest)
	}
	if s.body != nil {
		t.Error("the server was asked")
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	limit, zero := uint32(7), 0.0
	tool := protocol.ToolSchema{Name: "clock", Description: "Tells.", InputSchema: json.RawMessage(`{"type":"object","$defs":{}}`), Extra: json.RawMessage(`{"strict":true}`)}
	named, none := protocol.ChooseTool("clock"), protocol.ChooseTools(protocol.ChoiceNone)
	must, auto := protocol.ChooseTools(protocol.ChoiceAny), protocol.ToolChoice{}
	options := map[string]json.RawMessage{
		"service_tier": json.RawMessage(`"flex"`), "reasoning_effort": json.RawMessage(`"low"`),
		"parallel_tool_calls": json.RawMessage(`false`), "tenant": json.RawMessage(`"acme"`), "model": json.RawMessage(`"x"`),
	}
	tests := []struct {
		name string
		req  protocol.InferRequest
		want string // beside messages
	}{
		{"defaults", protocol.InferRequest{}, `{"model":"gpt-4o-mini"}`},
		{"limits", protocol.InferRequest{Model: "gpt-4o", MaxTokens: &limit, Temperature: &zero}, `{"model":"gpt-4o","max_tokens":7,"temperature":0}`},
		{"o3", protocol.InferRequest{Model: "o3", MaxTokens: &limit}, `{"model":"o3","max_completion_tokens":7}`},
		{"o4", protocol.InferRequest{Model: "o4-mini-2025-04-16", MaxTokens: &limit}, `{"model":"o4-mini-2025-04-16","max_completion_tokens":7}`},
		{"gpt-5", protocol.InferRequest{Model: "gpt-5.1", MaxTokens: &limit}, `{"model":"gpt-5.1","max_completion_tokens":7}`},
		{"router", protocol.InferRequest{Model: "openai/gpt-5-mini", MaxTokens: &limit}, `{"model":"openai/gpt-5-mini","max_completion_tokens":7}`},
		{"other", protocol.InferRequest{Model: "olmo-2", MaxTokens: &limit}, `{"model":"olmo-2","max_tokens":7}`},
		{"options", protocol.InferRequest{ProviderOptions: options}, `{"model":"gpt-4o-mini","service_tier":"flex","reasoning_effort":"low"}`},
		{"tools", protocol.InferRequest{Tools: []protocol.ToolSchema{tool, {Name: "n"}}, ToolChoice: &named, ProviderOptions: options}, `{"model":"gpt-4o-mini",
			"service_tier":"flex","reasoning_effort":"low","parallel_tool_calls":false,
			"tools":[{"type":"function","function":{"name":"clock","description":"Tells.","strict":true,"parameters":{"type":"object","$defs":{}}}},
			{"type":"function","function":{"name":"n","parameters":{"type":"object","properties":{}}}}],
			"tool_choice":{"type":"function","function":{"name":"clock"}}}`},
		{"choice without tools", protocol.InferRequest{ToolChoice: &must}, `{"model":"gpt-4o-mini"}`},
		{"json", protocol.InferRequest{ResponseFormat: protocol.JSONFormat{}}, `{"model":"gpt-4o-mini","response_format":{"type":"json_object"}}`},
		{"text", protocol.InferRequest{ResponseFormat: protocol.TextFormat{}}, `{"model":"gpt-4o-mini"}`},
		{
			"schema",
			protocol.InferRequest{ResponseFormat: protocol.SchemaFormat{Name: "s", Schema: json.RawMessage(`{"anyOf":[]}`), Strict: true}},
			`{"model":"gpt-4o-mini","response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{"anyOf":[]},"strict":true}}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, "application/json", reply)
			tt.req.System = "You."
			if _, err := s.provider(t, openai.Config{}).Infer(t.Context(), tt.req, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]any{map[string]any{"role": "system", "content": "You."}}, s.body["messages"]); diff != "" {
				t.Error(diff)
			}
			delete(s.body, "messages")
			var want map[string]any
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, s.body); diff != "" {
				t.Error(diff)
			}
		})
	}
	for want, choice := range map[string]protocol.ToolChoice{"none": none, "required": must, "auto": auto} {
		s := serve(t, "application/json", reply)
		req := protocol.InferRequest{Tools: []protocol.ToolSchema{tool}, ToolChoice: &choice}
		if _, err := s.provider(t, openai.Config{}).Infer(t.Context(), req, nil); err != nil || s.body["tool_choice"] != want {
			t.Errorf("choice %v, %v, want %s", s.body["tool_choice"], err, want)
		}
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	s := serve(t, "application/json", reply)
	p := s.provider(t, openai.Config{APIKey: secret.Static("sk-x"), Organization: "org-1"})
	if _, err := p.Infer(t.Context(), protocol.InferRequest{}, nil); err != nil {
		t.Fatal(err)
	}
	if s.path != "/v1/chat/completions" || s.header.Get("Authorization") != "Bearer sk-x" || s.header.Get("OpenAI-Organization") != "org-1" {
		t.Errorf("path %s, header %v", s.path, s.header)
	}
	if _, err := s.provider(t, openai.Config{}).Infer(t.Context(), protocol.InferRequest{}, nil); err != nil || s.header.Get("Authorization") != "" {
		t.Errorf("without a key: %v, header %v", err, s.header)
	}
	_, err := s.provider(t, openai.Config{APIKey: secret.Env("SKG_TEST_UNSET")}).Infer(t.Context(), protocol.InferRequest{}, nil)
	wantKind(t, "unset key", err, protocol.KindProviderAuthFailed)
	_, err = openai.New(openai.Config{Organization: "a\r\nX-B: c", HTTPClient: &http.Client{}}).Infer(t.Context(), protocol.InferRequest{}, nil)
	wantKind(t, "organization", err, protocol.KindProviderInvalidRequest)
	for _, url := range []string{"://", "ftp://host", "localhost:80"} {
		_, err := openai.New(openai.Config{BaseURL: url, HTTPClient: &http.Client{}}).Infer(t.Context(), protocol.InferRequest{}, nil)
		wantKind(t, url, err, protocol.KindProviderInvalidRequest)
	}
}

func TestPrices(t *testing.T) {
	t.Parallel()
	own := provider.Prices{"mine": {Input: protocol.MustDecimal("1"), Output: protocol.MustDecimal("1")}}
	flex := map[string]json.RawMessage{"service_tier": json.RawMessage(`"flex"`)}
	tests := []struct {
		name string
		cfg  openai.Config
		req  protocol.InferRequest
		want string
	}{
		{"dated name, cached", openai.Config{}, protocol.InferRequest{}, "0.0000042"},
		{"own prices replace", openai.Config{Prices: own}, protocol.InferRequest{}, ""},
		{"requested name", openai.Config{Prices: own}, protocol.InferRequest{Model: "mine"}, "0.000015"},
		{"requested dated name", openai.Config{Prices: own, Model: "mine-2026-01-31"}, protocol.InferRequest{}, "0.000015"},
		{"another tier", openai.Config{}, protocol.InferRequest{ProviderOptions: flex}, ""},
		{"another tier, own prices", openai.Config{Prices: own, Model: "mine"}, protocol.InferRequest{ProviderOptions: flex}, "0.000015"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, "application/json", reply)
			resp, err := s.provider(t, tt.cfg).Infer(t.Context(), tt.req, nil)
			got := ""
			if resp.Cost != nil {
				got = resp.Cost.String()
			}
			if err != nil || got != tt.want || resp.Model != "gpt-4o-mini-2024-07-18" {
				t.Errorf("cost %q of %s, %v; want %q", got, resp.Model, err, tt.want)
			}
		})
	}
	p := openai.New(openai.Config{HTTPClient: &http.Client{}})
	for model, want := range map[string]bool{
		"": true, "gpt-4o": true, "gpt-4o-2024-11-20": true, "openai/gpt-4o": true, "gpt-4o-mini-audio": false, "llama": false,
		"someone/gpt-4o": false, "ft:gpt-4o:acme::1": false, "gpt-4o:free": false,
	} {
		if got := p.Priced(model); got != want {
			t.Errorf("Priced(%q) = %v", model, got)
		}
	}
	var quoter provider.Quoter = p
	if price, ok := quoter.Quote("gpt-4o-2024-05-13"); !ok || price.Input.String() != "5.00" {
		t.Errorf("Quote of a version with its own price: %v, %v", price, ok)
	}
	if price, ok := quoter.Quote(""); !ok || price.Output.String() != "0.60" {
		t.Errorf("Quote of the default: %v, %v", price, ok)
	}
	if openai.New(openai.Config{Prices: provider.Prices{}, HTTPClient: &http.Client{}}).Priced("") {
		t.Error("an empty table has prices")
	}
}

// A server may answer with another model than was asked for, whose price is not known.
func TestAnsweredByAnUnknownModel(t *testing.T) {
	t.Parallel()
	s := serve(t, "application/json", strings.Replace(reply, "gpt-4o-mini-2024-07-18", "gpt-4o-mini-audio", 1))
	resp, err := s.provider(t, openai.Config{}).Infer(t.Context(), protocol.InferRequest{Model: "gpt-4o"}, nil)
	if err != nil || resp.Cost != nil || resp.Model != "gpt-4o-mini-audio" {
		t.Errorf("%s costs %v, %v", resp.Model, resp.Cost, err)
	}
}

// What counts is the tier that was billed, not the one that was asked for.
func TestTierOfTheServer(t *testing.T) {
	t.Parallel()
	const end = `"choices":[{"index":0,"message":{"content":"x"},"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000000,"completion_tokens":0}}`
	flex := protocol.InferRequest{ProviderOptions: map[string]json.RawMessage{"service_tier": json.RawMessage(`"flex"`)}}
	for tier, want := range map[string]string{"": "0.15", `"service_tier":"default",`: "0.15", `"service_tier":"priority",`: ""} {
		req := protocol.InferRequest{}
		if tier != "" && want != "" {
			req = flex // was asked for, and not given
		}
		for _, stream := range []bool{false, true} {
			contentType, body := "application/json", "{"+tier+end
			sink := func(protocol.StreamEvent) {}
			if stream {
				contentType, body = "text/event-stream", "data: "+body+"\n\n"
			} else {
				sink = nil
			}
			resp, err := serve(t, contentType, body).provider(t, openai.Config{}).Infer(t.Context(), req, sink)
			got := ""
			if resp.Cost != nil {
				got = resp.Cost.String()
			}
			if err != nil || got != want {
				t.Errorf("%s stream %v: cost %q, want %q (%v)", tier, stream, got, want, err)
			}
		}
	}
}
