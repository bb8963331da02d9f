package responses_test

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/openai"
	"github.com/skelegent/skelegent-go/actors/provider/providertest"
	"github.com/skelegent/skelegent-go/actors/provider/responses"
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

func serve(t *testing.T, reply string) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err == nil {
			s.body = nil
			err = json.Unmarshal(raw, &s.body)
		}
		if err != nil {
			t.Errorf("request: %v", err)
		}
		s.header, s.path = r.Header, r.URL.Path
		_, _ = io.WriteString(w, reply)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) provider(t *testing.T, cfg responses.Config) *responses.Provider {
	t.Helper()
	cfg.BaseURL, cfg.HTTPClient = "http://api.openai.com/v1", providertest.As(t, s.URL)
	p := responses.New(cfg)
	t.Cleanup(p.Close)
	return p
}

func wantKind(t *testing.T, name string, err error, kind protocol.ErrorKind) {
	t.Helper()
	if !errors.Is(err, &protocol.Error{Kind: kind}) {
		t.Errorf("%s: got %v, want %s", name, err, kind)
	}
}

func parse(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

const reply = `{"status":"completed","model":"gpt-4o-mini-2024-07-18","output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}],
	"usage":{"input_tokens":10,"output_tokens":5,"input_tokens_details":{"cached_tokens":4}}}`

func user(blocks ...protocol.ContentBlock) protocol.Message {
	return protocol.NewMessage(protocol.RoleUser, protocol.BlockContent(blocks...))
}

func assistant(blocks ...protocol.ContentBlock) protocol.Message {
	return protocol.NewMessage(protocol.RoleAssistant, protocol.BlockContent(blocks...))
}

func TestInput(t *testing.T) {
	t.Parallel()
	image := protocol.ImageBlock{Source: protocol.URLSource("https://e/i.png"), MediaType: "image/png"}
	thought := func(id, call string) protocol.ThinkingBlock {
		return protocol.ThinkingBlock{Thinking: "hm", Signature: string(encode(obj{
			"responses_reasoning": obj{"id": id, "encrypted_content": "gAAA"}, "call": call,
		}))}
	}
	item := func(id string) string {
		return `{"type":"reasoning","id":"` + id + `","summary":[],"encrypted_content":"gAAA"}`
	}
	c1 := protocol.ToolUseBlock{ID: "c1", Name: "clock", Input: json.RawMessage(`{"a":1}`)}
	c2 := protocol.ToolUseBlock{ID: "c2", Name: "clock", Input: json.RawMessage(`"{\"broken"`)}
	call1 := `{"type":"function_call","call_id":"c1","name":"clock","arguments":"{\"a\":1}"}`
	call2 := `{"type":"function_call","call_id":"c2","name":"clock","arguments":"{\"broken"}`
	tests := []struct {
		name     string
		messages []protocol.Message
		want     string
	}{
		{"nothing", nil, `[]`},
		{"text", []protocol.Message{protocol.NewMessage(protocol.RoleUser, protocol.TextContent(""))}, `[{"role":"user","content":""}]`},
		{"roles", []protocol.Message{
			protocol.NewMessage(protocol.RoleSystem, protocol.TextContent("be kind")), user(protocol.TextBlock{Text: "<hi>"}),
			protocol.NewMessage(protocol.RoleAssistant, protocol.TextContent("hello")),
		}, `[{"role":"system","content":"be kind"},{"role":"user","content":"<hi>"},{"role":"assistant","content":"hello"}]`},
		{"calls and results", []protocol.Message{
			assistant(protocol.TextBlock{Text: "Looking"}, c1, c2, protocol.ToolUseBlock{ID: "c3", Name: "n"}),
			protocol.ToolResultMessage("c1", "clock", "", false), protocol.ToolResultMessage("c2", "clock", "bad input", true),
		}, `[{"role":"assistant","content":"Looking"},` + call1 + `,` + call2 + `,
			{"type":"function_call","call_id":"c3","name":"n","arguments":"{}"},
			{"type":"function_call_output","call_id":"c1","output":""},{"type":"function_call_output","call_id":"c2","output":"bad input"}]`},
		{
			"reasoning before its text",
			[]protocol.Message{assistant(thought("r1", ""), thought("r2", ""), protocol.TextBlock{Text: "4"})},
			`[` + item("r1") + `,` + item("r2") + `,{"role":"assistant","content":"4"}]`,
		},
		{
			"reasoning before its call",
			[]protocol.Message{assistant(thought("r1", "c1"), thought("r2", "c2"), protocol.TextBlock{Text: "4"}, c1, c2)},
			`[{"role":"assistant","content":"4"},` + item("r1") + `,` + call1 + `,` + item("r2") + `,` + call2 + `]`,
		},
		{
			"reasoning without what it led to",
			[]protocol.Message{assistant(protocol.TextBlock{Text: "4"}, thought("r1", "gone"), thought("r2", ""))},
			`[{"role":"assistant","content":"4"}]`,
		},
		{
			"thinking of others",
			[]protocol.Message{assistant(
				protocol.ThinkingBlock{Thinking: "hm"}, protocol.ThinkingBlock{Thinking: "hm", Signature: "EqQBCkgIARAB"},
				protocol.ThinkingBlock{Thinking: "hm", Signature: `{"responses_reasoning":{"id":"r"}}`}, protocol.TextBlock{Text: "4"})},
			`[{"role":"assistant","content":"4"}]`,
		},
		{
			"id in the role alone",
			[]protocol.Message{protocol.NewMessage(protocol.ToolRole("clock", "c1"), protocol.TextContent("noon"))},
			`[{"type":"function_call_output","call_id":"c1","output":"noon"}]`,
		},
		{"text and image of a tool", []protocol.Message{
			protocol.NewMessage(protocol.ToolRole("shot", "c1"), protocol.BlockContent(protocol.TextBlock{Text: "there"}, image)),
		}, `[{"type":"function_call_output","call_id":"c1","output":"there"},
			{"role":"user","content":[{"type":"input_image","image_url":"https://e/i.png"}]}]`},
		{"results in a user's message", []protocol.Message{
			user(protocol.TextBlock{Text: "and?"}, protocol.ToolResultBlock{ToolUseID: "c1", Content: "1"},
				protocol.ToolResultBlock{ToolUseID: "c2", Content: "2"}),
		}, `[{"type":"function_call_output","call_id":"c1","output":"1"},{"type":"function_call_output","call_id":"c2","output":"2"},
			{"role":"user","content":"and?"}]`},
		{
			"parts",
			[]protocol.Message{user(protocol.TextBlock{Text: "see"}, image,
				protocol.ImageBlock{Source: protocol.Base64Source("QUJD"), MediaType: "image/gif"},
				protocol.FileBlock{Source: protocol.Base64Source("QUJD"), MediaType: "application/pdf", Filename: "a.pdf"},
				protocol.FileBlock{Source: protocol.Base64Source("QUJD"), MediaType: "text/plain"},
				protocol.FileBlock{Source: protocol.URLSource("https://e/f.pdf"), MediaType: "application/pdf"},
				protocol.ThinkingBlock{Thinking: "hm"}, protocol.DataBlock{Data: json.RawMessage(`{"a":1}`)})},
			`[{"role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"https://e/i.png"},
			{"type":"input_image","image_url":"data:image/gif;base64,QUJD"},
			{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,QUJD"},
			{"type":"input_file","filename":"file","file_data":"data:text/plain;base64,QUJD"},
			{"type":"input_file","file_url":"https://e/f.pdf"},{"type":"input_text","text":"{\"a\":1}"}]}]`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, reply)
			if _, err := s.provider(t, responses.Config{}).Infer(t.Context(), protocol.InferRequest{Messages: tt.messages}, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parse(t, tt.want), s.body["input"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInputRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, reply)
	p := s.provider(t, responses.Config{})
	image := protocol.ImageBlock{Source: protocol.URLSource("https://e/i.png"), MediaType: "image/png"}
	for name, m := range map[string]protocol.Message{
		"image of the assistant": assistant(image),
		"call of the user":       user(protocol.ToolUseBlock{ID: "c", Name: "n", Input: json.RawMessage(`{}`)}),
		"custom":                 user(protocol.CustomBlock{ContentType: "x", Data: json.RawMessage(`{}`)}),
	} {
		_, err := p.Infer(t.Context(), protocol.InferRequest{Messages: []protocol.Message{m}}, nil)
		wantKind(t, name, err, protocol.KindProviderInvalidRequest)
	}
	hot := math.NaN()
	_, err := p.Infer(t.Context(), protocol.InferRequest{Temperature: &hot}, nil)
	wantKind(t, "no number", err, protocol.KindProviderInvalidRequest)
	if s.body != nil {
		t.Error("the server was asked")
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	limit, zero := uint32(7), 0.0
	clock := protocol.ToolSchema{Name: "clock", Description: "Tells.", InputSchema: json.RawMessage(`{"type":"object","$defs":{}}`), Extra: json.RawMessage(`{"strict":true}`)}
	named := protocol.ChooseTool("clock")
	must := protocol.ChooseTools(protocol.ChoiceAny)
	options := map[string]json.RawMessage{
		"service_tier": json.RawMessage(`"flex"`), "reasoning": json.RawMessage(`{"effort":"low","summary":"auto"}`),
		"parallel_tool_calls": json.RawMessage(`false`), "verbosity": json.RawMessage(`"low"`), "top_p": json.RawMessage(`0.5`),
		"tenant": json.RawMessage(`"acme"`), "model": json.RawMessage(`"x"`), "store": json.RawMessage(`true`),
		"previous_response_id": json.RawMessage(`"resp_1"`),
	}
	passed := `"service_tier":"flex","reasoning":{"effort":"low","summary":"auto"},"top_p":0.5,"include":["reasoning.encrypted_content"]`
	tests := []struct {
		name string
		req  protocol.InferRequest
		want string // beside input, instructions and store
	}{
		{"defaults", protocol.InferRequest{}, `{"model":"gpt-4o-mini"}`},
		{"limits", protocol.InferRequest{Model: "gpt-4o", MaxTokens: &limit, Temperature: &zero}, `{"model":"gpt-4o","max_output_tokens":7,"temperature":0}`},
		{"options", protocol.InferRequest{ProviderOptions: options}, `{"model":"gpt-4o-mini",` + passed + `,"text":{"verbosity":"low"}}`},
		{"tools", protocol.InferRequest{Tools: []protocol.ToolSchema{clock, {Name: "n", Extra: json.RawMessage(`[]`)}}, ToolChoice: &named, ProviderOptions: options}, `{"model":"gpt-4o-mini",` + passed + `,
			"parallel_tool_calls":false,"text":{"verbosity":"low"},"tool_choice":{"type":"function","name":"clock"},
			"tools":[{"type":"function","name":"clock","description":"Tells.","strict":true,"parameters":{"type":"object","$defs":{}}},
			{"type":"function","name":"n","strict":false,"parameters":{"type":"object","properties":{}}}]}`},
		{"choice without tools", protocol.InferRequest{ToolChoice: &must}, `{"model":"gpt-4o-mini"}`},
		{"json", protocol.InferRequest{ResponseFormat: protocol.JSONFormat{}}, `{"model":"gpt-4o-mini","text":{"format":{"type":"json_object"}}}`},
		{"text", protocol.InferRequest{ResponseFormat: protocol.TextFormat{}}, `{"model":"gpt-4o-mini"}`},
		{
			"schema",
			protocol.InferRequest{ResponseFormat: protocol.SchemaFormat{Name: "s", Schema: json.RawMessage(`{"anyOf":[]}`), Strict: true}},
			`{"model":"gpt-4o-mini","text":{"format":{"type":"json_schema","name":"s","schema":{"anyOf":[]},"strict":true}}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, reply)
			tt.req.System = "You."
			if _, err := s.provider(t, responses.Config{}).Infer(t.Context(), tt.req, nil); err != nil {
				t.Fatal(err)
			}
			want := parse(t, tt.want).(map[string]any)
			want["input"], want["instructions"], want["store"] = []any{}, "You.", false
			if diff := cmp.Diff(want, s.body); diff != "" {
				t.Error(diff)
			}
		})
	}
	for want, choice := range map[string]protocol.ToolChoice{
		"none": protocol.ChooseTools(protocol.ChoiceNone), "required": must, "auto": {},
	} {
		s := serve(t, reply)
		req := protocol.InferRequest{Tools: []protocol.ToolSchema{clock}, ToolChoice: &choice}
		if _, err := s.provider(t, responses.Config{}).Infer(t.Context(), req, nil); err != nil || s.body["tool_choice"] != want {
			t.Errorf("choice %v, %v, want %s", s.body["tool_choice"], err, want)
		}
	}
}

// TestEncryptedReasoning checks which models are asked for it: others answer with an error.
func TestEncryptedReasoning(t *testing.T) {
	t.Parallel()
	s := serve(t, reply)
	p := s.provider(t, responses.Config{})
	for model, want := range map[string]bool{
		"o3": true, "o4-mini-2025-04-16": true, "gpt-5": true, "gpt-5.2-codex": true, "openai/gpt-5-mini": true, "ft:o4-mini:acme": true,
		"codex-mini-latest": true, "gpt-4o": false, "gpt-4.1": false, "gpt-5-chat-latest": false, "olmo-2": false, "o3000": false,
	} {
		if _, err := p.Infer(t.Context(), protocol.InferRequest{Model: model}, nil); err != nil || (s.body["include"] != nil) != want {
			t.Errorf("%s: include %v, %v", model, s.body["include"], err)
		}
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	s := serve(t, reply)
	p := s.provider(t, responses.Config{APIKey: secret.Static("sk-x"), Organization: "org-1"})
	if _, err := p.Infer(t.Context(), protocol.InferRequest{}, nil); err != nil {
		t.Fatal(err)
	}
	if s.path != "/v1/responses" || s.header.Get("Authorization") != "Bearer sk-x" || s.header.Get("OpenAI-Organization") != "org-1" || s.body["stream"] != nil {
		t.Errorf("path %s, header %v, body %v", s.path, s.header, s.body)
	}
	_, err := p.Infer(t.Context(), protocol.InferRequest{}, func(protocol.StreamEvent) {})
	wantKind(t, "no stream", err, protocol.KindProviderInvalidResponse)
	if s.body["stream"] != true {
		t.Errorf("body %v", s.body)
	}
	if _, err := s.provider(t, responses.Config{}).Infer(t.Context(), protocol.InferRequest{}, nil); err != nil || s.header.Get("Authorization") != "" {
		t.Errorf("without a key: %v, header %v", err, s.header)
	}
	_, err = s.provider(t, responses.Config{APIKey: secret.Env("SKG_TEST_UNSET")}).Infer(t.Context(), protocol.InferRequest{}, nil)
	wantKind(t, "unset key", err, protocol.KindProviderAuthFailed)
	_, err = responses.New(responses.Config{Organization: "a\r\nX-B: c", HTTPClient: &http.Client{}}).Infer(t.Context(), protocol.InferRequest{}, nil)
	wantKind(t, "organization", err, protocol.KindProviderInvalidRequest)
	for _, url := range []string{"://", "ftp://host", "localhost:80"} {
		_, err := responses.New(responses.Config{BaseURL: url, HTTPClient: &http.Client{}}).Infer(t.Context(), protocol.InferRequest{}, nil)
		wantKind(t, url, err, protocol.KindProviderInvalidRequest)
	}
}

func TestPrices(t *testing.T) {
	t.Parallel()
	own := provider.Prices{"mine": {Input: protocol.MustDecimal("1"), Output: protocol.MustDecimal("1")}}
	flex := map[string]json.RawMessage{"service_tier": json.RawMessage(`"flex"`)}
	said := func(tier string) string { return reply[:len(reply)-1] + `,"service_tier":"` + tier + `"}` }
	tests := []struct {
		name, reply string
		cfg         responses.Config
		req         protocol.InferRequest
		want        string
	}{
		{"dated name, cached", reply, responses.Config{}, protocol.InferRequest{}, "0.0000042"},
		{"own prices replace", reply, responses.Config{Prices: own}, protocol.InferRequest{}, ""},
		{"requested name", reply, responses.Config{Prices: own}, protocol.InferRequest{Model: "mine"}, "0.000015"},
		{"another tier was asked for", reply, responses.Config{}, protocol.InferRequest{ProviderOptions: flex}, ""},
		{"and not given", said("default"), responses.Config{}, protocol.InferRequest{ProviderOptions: flex}, "0.0000042"},
		{"another tier was given", said("priority"), responses.Config{}, protocol.InferRequest{}, ""},
		{"another tier, own prices", said("flex"), responses.Config{Prices: own, Model: "mine"}, protocol.InferRequest{}, "0.000015"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp, err := serve(t, tt.reply).provider(t, tt.cfg).Infer(t.Context(), tt.req, nil)
			got := ""
			if resp.Cost != nil {
				got = resp.Cost.String()
			}
			if err != nil || got != tt.want || resp.Model != "gpt-4o-mini-2024-07-18" {
				t.Errorf("cost %q of %s, %v; want %q", got, resp.Model, err, tt.want)
			}
		})
	}
	var p provider.Provider = responses.New(responses.Config{HTTPClient: &http.Client{}})
	if price, ok := p.(provider.Quoter).Quote(""); !ok || price.Output.String() != "0.60" || p.(provider.Pricer).Priced("llama") {
		t.Errorf("Quote of the default: %v, %v", price, ok)
	}
	if responses.New(responses.Config{Prices: provider.Prices{}, HTTPClient: &http.Client{}}).Priced("") {
		t.Error("an empty table has prices")
	}
	prices := openai.ListPrices()
	clear(prices)
	if len(openai.ListPrices()) == 0 {
		t.Error("the table can be changed from outside")
	}
}
