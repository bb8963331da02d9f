package ollama_test

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/ollama"
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

const reply = `{"model":"llama3.2:1b","message":{"role":"assistant","content":"ok"},"done":true,"prompt_eval_count":10,"eval_count":5}`

func serve(t *testing.T, status int, reply string) *server {
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
		w.WriteHeader(status)
		_, _ = io.WriteString(w, reply)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) provider(t *testing.T, cfg ollama.Config) *ollama.Provider {
	t.Helper()
	cfg.BaseURL = s.URL + cfg.BaseURL
	p := ollama.New(cfg)
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

func user(blocks ...protocol.ContentBlock) protocol.Message {
	return protocol.NewMessage(protocol.RoleUser, protocol.BlockContent(blocks...))
}

func TestMessages(t *testing.T) {
	t.Parallel()
	image := protocol.ImageBlock{Source: protocol.Base64Source("QUJD"), MediaType: "image/png"}
	calls := protocol.NewMessage(protocol.RoleAssistant, protocol.BlockContent(
		protocol.ThinkingBlock{Thinking: "hm"}, protocol.TextBlock{Text: "Look"}, protocol.TextBlock{Text: "ing"},
		protocol.ToolUseBlock{ID: "c1", Name: "clock", Input: json.RawMessage(`{"a":1}`)},
		protocol.ToolUseBlock{ID: "c2", Name: "shot", Input: json.RawMessage(`"{\"broken"`)},
		protocol.ToolUseBlock{ID: "c3", Name: "shot"}))
	called := `{"role":"assistant","content":"Looking","thinking":"hm","tool_calls":[
		{"id":"c1","function":{"name":"clock","arguments":{"a":1}}},
		{"id":"c2","function":{"name":"shot","arguments":{"input":"{\"broken"}}},
		{"id":"c3","function":{"name":"shot","arguments":{"input":null}}}]}`
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
		{
			"calls and results",
			[]protocol.Message{calls, protocol.ToolResultMessage("c1", "clock", "", false), protocol.ToolResultMessage("c2", "shot", "bad input", true)},
			`[` + called + `,{"role":"tool","content":"","tool_name":"clock","tool_call_id":"c1"},
			{"role":"tool","content":"bad input","tool_name":"shot","tool_call_id":"c2"}]`,
		},
		{"results in a user's message find their tools", []protocol.Message{
			calls, user(protocol.TextBlock{Text: "and?"}, protocol.ToolResultBlock{ToolUseID: "c1", Content: "1"},
				protocol.ToolResultBlock{ToolUseID: "c2", Content: "2"}),
		}, `[` + called + `,{"role":"tool","content":"1","tool_name":"clock","tool_call_id":"c1"},
			{"role":"tool","content":"2","tool_name":"shot","tool_call_id":"c2"},{"role":"user","content":"and?"}]`},
		{
			"id in the role alone",
			[]protocol.Message{protocol.NewMessage(protocol.ToolRole("clock", "c1"), protocol.TextContent("noon"))},
			`[{"role":"tool","content":"noon","tool_name":"clock","tool_call_id":"c1"}]`,
		},
		{"image of a tool", []protocol.Message{
			protocol.NewMessage(protocol.ToolRole("shot", "c2"), protocol.BlockContent(protocol.ToolResultBlock{ToolUseID: "c2", Content: "1"}, image)),
		}, `[{"role":"tool","content":"1","images":["QUJD"],"tool_name":"shot","tool_call_id":"c2"}]`},
		{
			"parts",
			[]protocol.Message{user(protocol.TextBlock{Text: "see"}, image, image, protocol.DataBlock{Data: json.RawMessage(`{"a":1}`)})},
			`[{"role":"user","content":"see\n{\"a\":1}","images":["QUJD","QUJD"]}]`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, http.StatusOK, reply)
			if _, err := s.provider(t, ollama.Config{}).Infer(t.Context(), protocol.InferRequest{Messages: tt.messages}, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parse(t, tt.want), s.body["messages"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMessagesRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, http.StatusOK, reply)
	p := s.provider(t, ollama.Config{})
	for name, m := range map[string]protocol.Message{
		"image by address": user(protocol.ImageBlock{Source: protocol.URLSource("https://e/i.png"), MediaType: "image/png"}),
		"call of the user": user(protocol.ToolUseBlock{ID: "c", Name: "n", Input: json.RawMessage(`{}`)}),
		"file":             user(protocol.FileBlock{Source: protocol.Base64Source("QUJD"), MediaType: "application/pdf"}),
		"custom":           user(protocol.CustomBlock{ContentType: "x", Data: json.RawMessage(`{}`)}),
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
	clock := protocol.ToolSchema{Name: "clock", Description: "Tells.", InputSchema: json.RawMessage(`{"type":"object","$defs":{}}`)}
	tools := []protocol.ToolSchema{clock, {Name: "n"}}
	named, none, must := protocol.ChooseTool("clock"), protocol.ChooseTools(protocol.ChoiceNone), protocol.ChooseTools(protocol.ChoiceAny)
	clockJSON := `{"type":"function","function":{"name":"clock","description":"Tells.","parameters":{"type":"object","$defs":{}}}}`
	bothJSON := clockJSON + `,{"type":"function","function":{"name":"n","parameters":{"type":"object","properties":{}}}}`
	options := map[string]json.RawMessage{
		"top_p": json.RawMessage(`0.5`), "top_k": json.RawMessage(`3`), "seed": json.RawMessage(`0`), "num_ctx": json.RawMessage(`8192`),
		"stop": json.RawMessage(`["\n"]`), "keep_alive": json.RawMessage(`0`), "think": json.RawMessage(`"low"`),
		"tenant": json.RawMessage(`"acme"`), "model": json.RawMessage(`"x"`), "num_predict": json.RawMessage(`-1`),
	}
	tests := []struct {
		name string
		cfg  ollama.Config
		req  protocol.InferRequest
		want string // beside model, messages and stream
	}{
		{"defaults", ollama.Config{}, protocol.InferRequest{}, `{}`},
		{"limits", ollama.Config{}, protocol.InferRequest{MaxTokens: &limit, Temperature: &zero}, `{"options":{"num_predict":7,"temperature":0}}`},
		{"options", ollama.Config{}, protocol.InferRequest{ProviderOptions: options}, `{"keep_alive":0,"think":"low",
			"options":{"top_p":0.5,"top_k":3,"seed":0,"num_ctx":8192,"stop":["\n"]}}`},
		{
			"of all requests",
			ollama.Config{KeepAlive: 90 * time.Second, Options: map[string]any{"num_ctx": 4096, "top_k": 1, "num_gpu": 0}},
			protocol.InferRequest{MaxTokens: &limit, ProviderOptions: map[string]json.RawMessage{"num_ctx": json.RawMessage(`1`)}},
			`{"keep_alive":"1m30s","options":{"num_ctx":1,"top_k":1,"num_gpu":0,"num_predict":7}}`,
		},
		{"for ever", ollama.Config{KeepAlive: -1}, protocol.InferRequest{}, `{"keep_alive":"-1ns"}`},
		{"tools", ollama.Config{}, protocol.InferRequest{Tools: tools}, `{"tools":[` + bothJSON + `]}`},
		{"some tool", ollama.Config{}, protocol.InferRequest{Tools: tools, ToolChoice: &must}, `{"tools":[` + bothJSON + `]}`},
		{"one tool", ollama.Config{}, protocol.InferRequest{Tools: tools, ToolChoice: &named}, `{"tools":[` + clockJSON + `]}`},
		{"no tool", ollama.Config{}, protocol.InferRequest{Tools: tools, ToolChoice: &none}, `{}`},
		{"json", ollama.Config{}, protocol.InferRequest{ResponseFormat: protocol.JSONFormat{}}, `{"format":"json"}`},
		{"text", ollama.Config{}, protocol.InferRequest{ResponseFormat: protocol.TextFormat{}}, `{}`},
		{"schema", ollama.Config{}, protocol.InferRequest{ResponseFormat: protocol.SchemaFormat{Name: "s", Schema: json.RawMessage(`{"anyOf":[]}`)}}, `{"format":{"anyOf":[]}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, http.StatusOK, reply)
			tt.req.System = "You."
			if _, err := s.provider(t, tt.cfg).Infer(t.Context(), tt.req, nil); err != nil {
				t.Fatal(err)
			}
			want := parse(t, tt.want).(map[string]any)
			want["model"], want["stream"] = "llama3.2:1b", false
			want["messages"] = []any{map[string]any{"role": "system", "content": "You."}}
			if diff := cmp.Diff(want, s.body); diff != "" {
				t.Error(diff)
			}
		})
	}
	if len(tools) != 2 || tools[0].Name != "clock" || tools[1].Name != "n" {
		t.Errorf("the caller's tools were changed: %v", tools)
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "/", "/api/chat", "/api/chat/"} {
		s := serve(t, http.StatusOK, reply)
		p := s.provider(t, ollama.Config{BaseURL: base, APIKey: secret.Static("k-1"), Model: "m"})
		if _, err := p.Infer(t.Context(), protocol.InferRequest{}, func(protocol.StreamEvent) {}); err != nil {
			t.Fatal(err)
		}
		if s.path != "/api/chat" || s.header.Get("Authorization") != "Bearer k-1" || s.body["model"] != "m" || s.body["stream"] != true {
			t.Errorf("base %q: path %s, header %v, body %v", base, s.path, s.header, s.body)
		}
	}
	s := serve(t, http.StatusOK, reply)
	if _, err := s.provider(t, ollama.Config{BaseURL: "/proxy"}).Infer(t.Context(), protocol.InferRequest{}, nil); err != nil || s.path != "/proxy/api/chat" || s.header.Get("Authorization") != "" {
		t.Errorf("behind a path: %v, %s, %v", err, s.path, s.header)
	}
	_, err := s.provider(t, ollama.Config{APIKey: secret.Env("SKG_TEST_UNSET")}).Infer(t.Context(), protocol.InferRequest{}, nil)
	wantKind(t, "unset key", err, protocol.KindProviderAuthFailed)
	for _, url := range []string{"://", "ftp://host", "localhost:11434"} {
		_, err := ollama.New(ollama.Config{BaseURL: url, HTTPClient: &http.Client{}}).Infer(t.Context(), protocol.InferRequest{}, nil)
		wantKind(t, url, err, protocol.KindProviderInvalidRequest)
	}
}

func TestFree(t *testing.T) {
	t.Parallel()
	var p provider.Provider = ollama.New(ollama.Config{HTTPClient: &http.Client{}})
	price, ok := p.(provider.Quoter).Quote("anything")
	if cost := price.Bound(1<<40, 1<<40); !ok || !cost.IsZero() || !p.(provider.Pricer).Priced("") {
		t.Errorf("quote %v, %v", price, ok)
	}
}
