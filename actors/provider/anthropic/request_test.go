package anthropic_test

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/provider/anthropic"
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
		s.body = nil
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

func (s *server) provider(t *testing.T, cfg anthropic.Config) *anthropic.Provider {
	t.Helper()
	cfg.BaseURL, cfg.HTTPClient = "http://api.anthropic.com", providertest.As(t, s.URL)
	p := anthropic.New(cfg)
	t.Cleanup(p.Close)
	return p
}

const reply = `{"type":"message","model":"claude-haiku-4-5-20251001","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn",
	"usage":{"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":20,"output_tokens":5}}`

func wantKind(t *testing.T, name string, err error, kind protocol.ErrorKind) {
	t.Helper()
	if !errors.Is(err, &protocol.Error{Kind: kind}) {
		t.Errorf("%s: got %v, want %s", name, err, kind)
	}
}

func decoded(t *testing.T, raw string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return v
}

func text(role protocol.Role, s string) protocol.Message {
	return protocol.NewMessage(role, protocol.TextContent(s))
}

func says(role protocol.Role, blocks ...protocol.ContentBlock) protocol.Message {
	return protocol.NewMessage(role, protocol.BlockContent(blocks...))
}

func calls(ids ...string) protocol.Message {
	var blocks []protocol.ContentBlock
	for _, id := range ids {
		blocks = append(blocks, protocol.ToolUseBlock{ID: id, Name: "clock", Input: json.RawMessage(`{"a":1}`)})
	}
	return says(protocol.RoleAssistant, blocks...)
}

const (
	hello = `{"role":"user","content":[{"type":"text","text":"hello"}]}`
	call1 = `{"type":"tool_use","id":"c1","name":"clock","input":{"a":1}}`
	call2 = `{"type":"tool_use","id":"c2","name":"clock","input":{"a":1}}`
	noon  = `{"type":"tool_result","tool_use_id":"c1","is_error":false,"content":[{"type":"text","text":"noon"}]}`
)

func TestMessages(t *testing.T) {
	t.Parallel()
	user, assistant, system := protocol.RoleUser, protocol.RoleAssistant, protocol.RoleSystem
	hi := text(user, "hello")
	image := protocol.ImageBlock{Source: protocol.URLSource("https://e/i.png"), MediaType: "image/png"}
	const imageBlock = `{"type":"image","source":{"type":"url","url":"https://e/i.png"}}`
	tests := []struct {
		name     string
		messages []protocol.Message
		want     string
	}{
		{"text", []protocol.Message{hi}, `[` + hello + `]`},
		{"texts that say nothing", []protocol.Message{
			text(user, ""), says(user, protocol.TextBlock{Text: " \n"}, protocol.TextBlock{Text: "hello"}), text(assistant, "\n"),
		}, `[` + hello + `]`},
		{"the same role twice", []protocol.Message{
			hi, text(user, "<again>"), text(assistant, "one"), text(assistant, ""), text(assistant, "two"), hi,
		}, `[{"role":"user","content":[{"type":"text","text":"hello"},{"type":"text","text":"<again>"}]},
			{"role":"assistant","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]},` + hello + `]`},
		{
			"the same role around nothing",
			[]protocol.Message{hi, text(assistant, ""), text(user, "more")},
			`[{"role":"user","content":[{"type":"text","text":"hello"},{"type":"text","text":"more"}]}]`,
		},
		{
			"the assistant first",
			[]protocol.Message{text(assistant, "well"), hi},
			`[{"role":"user","content":[{"type":"text","text":"(The begin of this conversation is left out.)"}]},
			{"role":"assistant","content":[{"type":"text","text":"well"}]},` + hello + `]`,
		},
		{
			"the assistant last",
			[]protocol.Message{hi, text(assistant, "The answer is (\n ")},
			`[` + hello + `,{"role":"assistant","content":[{"type":"text","text":"The answer is ("}]}]`,
		},
		{"results in one message, first", []protocol.Message{
			hi, calls("c1", "c2"), text(user, "hurry"), protocol.ToolResultMessage("c1", "clock", "noon", false),
			protocol.ToolResultMessage("c2", "clock", "", true),
		}, `[` + hello + `,{"role":"assistant","content":[` + call1 + `,` + call2 + `]},
			{"role":"user","content":[` + noon + `,{"type":"tool_result","tool_use_id":"c2","is_error":true},{"type":"text","text":"hurry"}]}]`},
		{"results of a user's message", []protocol.Message{
			hi, calls("c1"), says(user, protocol.TextBlock{Text: "and?"}, protocol.ToolResultBlock{ToolUseID: "c1", Content: "noon"}),
		}, `[` + hello + `,{"role":"assistant","content":[` + call1 + `]},{"role":"user","content":[` + noon + `,{"type":"text","text":"and?"}]}]`},
		{
			"id in the role alone",
			[]protocol.Message{hi, calls("c1"), says(protocol.ToolRole("clock", "c1"), protocol.ToolResultBlock{Content: "noon"})},
			`[` + hello + `,{"role":"assistant","content":[` + call1 + `]},{"role":"user","content":[` + noon + `]}]`,
		},
		{
			"a result that is a text",
			[]protocol.Message{hi, calls("c1"), text(protocol.ToolRole("clock", "c1"), "noon")},
			`[` + hello + `,{"role":"assistant","content":[` + call1 + `]},{"role":"user","content":[` + noon + `]}]`,
		},
		{
			"a result with an image",
			[]protocol.Message{hi, calls("c1"), says(protocol.ToolRole("clock", "c1"), protocol.ToolResultBlock{ToolUseID: "c1", Content: "noon"}, image)},
			`[` + hello + `,{"role":"assistant","content":[` + call1 + `]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","is_error":false,
			"content":[{"type":"text","text":"noon"},` + imageBlock + `]}]}]`,
		},
		{
			"a result with what cannot be part of it",
			[]protocol.Message{hi, calls("c1"), says(protocol.ToolRole("clock", "c1"),
				protocol.CustomBlock{ContentType: "anthropic/future", Data: json.RawMessage(`{"type":"future"}`)}, protocol.TextBlock{Text: " "}, protocol.TextBlock{Text: "noon"})},
			`[` + hello + `,{"role":"assistant","content":[` + call1 + `]},{"role":"user","content":[` + noon + `,{"type":"future"}]}]`,
		},
		{
			"an image alone as a result",
			[]protocol.Message{hi, calls("c1"), says(protocol.ToolRole("clock", "c1"), image)},
			`[` + hello + `,{"role":"assistant","content":[` + call1 + `]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","is_error":false,
			"content":[` + imageBlock + `]}]}]`,
		},
		{
			"a result whose call is gone",
			[]protocol.Message{says(protocol.ToolRole("clock", "c1"), protocol.ToolResultBlock{ToolUseID: "c1", Content: "noon"}, image)},
			`[{"role":"user","content":[{"type":"text","text":"(The result of a tool call that is left out.)"},{"type":"text","text":"noon"},` + imageBlock + `]}]`,
		},
		{"two results of a call", []protocol.Message{
			hi, calls("c1"), protocol.ToolResultMessage("c1", "clock", "noon", false), protocol.ToolResultMessage("c1", "clock", "later", false),
		}, `[` + hello + `,{"role":"assistant","content":[` + call1 + `]},
			{"role":"user","content":[` + noon + `,{"type":"text","text":"(The result of a tool call that is left out.)"},{"type":"text","text":"later"}]}]`},
		{
			"a call whose result is gone",
			[]protocol.Message{hi, calls("c2", "c1"), protocol.ToolResultMessage("c1", "clock", "noon", false), calls("c1"), hi},
			`[` + hello + `,{"role":"assistant","content":[` + call2 + `,` + call1 + `]},
			{"role":"user","content":[` + noon + `,{"type":"tool_result","tool_use_id":"c2","is_error":true,"content":[{"type":"text","text":"There is no result of this call."}]}]},
			{"role":"assistant","content":[` + call1 + `]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":[{"type":"text","text":"There is no result of this call."}]},{"type":"text","text":"hello"}]}]`,
		},
		{
			"memory on the way",
			[]protocol.Message{hi, calls("c1"), text(system, "remember"), text(system, ""), protocol.ToolResultMessage("c1", "clock", "noon", false)},
			`[` + hello + `,{"role":"assistant","content":[` + call1 + `]},
			{"role":"user","content":[` + noon + `,{"type":"text","text":"<system>\nremember\n</system>"}]}]`,
		},
		{"thinking", []protocol.Message{
			hi, says(assistant, protocol.ThinkingBlock{Thinking: "hm", Signature: "s1"},
				protocol.CustomBlock{ContentType: "anthropic/redacted_thinking", Data: json.RawMessage(`{"type":"redacted_thinking","data":"xyz"}`)},
				protocol.ThinkingBlock{Signature: "s2"}, protocol.ThinkingBlock{Thinking: "of another"}, protocol.TextBlock{Text: "Look"},
				protocol.CustomBlock{ContentType: "anthropic/future", Data: json.RawMessage(`{"type":"future","x":[1]}`)},
				protocol.ToolUseBlock{ID: "c1", Name: "clock", Input: json.RawMessage(`{"a":1}`)}),
			protocol.ToolResultMessage("c1", "clock", "noon", false),
		}, `[` + hello + `,{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s1"},{"type":"redacted_thinking","data":"xyz"},
			{"type":"thinking","thinking":"","signature":"s2"},{"type":"text","text":"Look"},{"type":"future","x":[1]},` + call1 + `]},{"role":"user","content":[` + noon + `]}]`},
		{"thinking that was cut off", []protocol.Message{
			hi, says(assistant, protocol.TextBlock{Text: "I"}, protocol.ThinkingBlock{Thinking: "hm", Signature: "s"}), hi,
			says(assistant, protocol.ThinkingBlock{Thinking: "hm", Signature: "s"}), hi,
		}, `[` + hello + `,{"role":"assistant","content":[{"type":"text","text":"I"}]},
			{"role":"user","content":[{"type":"text","text":"hello"},{"type":"text","text":"hello"}]}]`},
		{
			"inputs",
			[]protocol.Message{hi, says(assistant,
				protocol.ToolUseBlock{ID: "1", Name: "n"}, protocol.ToolUseBlock{ID: "2", Name: "n", Input: json.RawMessage(`"{\"broken"`)},
				protocol.ToolUseBlock{ID: "3", Name: "n", Input: json.RawMessage(` [1]`)}, protocol.ToolUseBlock{ID: "4", Name: "n", Input: json.RawMessage(`{"x":`)})},
			`[` + hello + `,{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"n","input":{}},
			{"type":"tool_use","id":"2","name":"n","input":{"INVALID_JSON":"{\"broken"}},{"type":"tool_use","id":"3","name":"n","input":{"INVALID_JSON":"[1]"}},
			{"type":"tool_use","id":"4","name":"n","input":{"INVALID_JSON":"{\"x\":"}}]}]`,
		},
		{"media", []protocol.Message{says(
			user, protocol.ImageBlock{Source: protocol.URLSource("https://e/i.png")}, protocol.ImageBlock{Source: protocol.Base64Source("aGk="), MediaType: "image/jpeg"},
			protocol.FileBlock{Source: protocol.Base64Source("JVBERg=="), MediaType: "application/pdf", Filename: "a.pdf"},
			protocol.FileBlock{Source: protocol.URLSource("https://e/f.pdf"), MediaType: "application/pdf"},
			protocol.FileBlock{Source: protocol.Base64Source("bsO2"), MediaType: "text/markdown; charset=utf-8", Filename: "n.md"},
			protocol.FileBlock{Source: protocol.Base64Source("aGk="), MediaType: "image/webp"}, protocol.DataBlock{Data: json.RawMessage(`{"n":1}`)},
		)}, `[{"role":"user","content":[` + imageBlock + `,{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"aGk="}},
			{"type":"document","title":"a.pdf","source":{"type":"base64","media_type":"application/pdf","data":"JVBERg=="}},
			{"type":"document","source":{"type":"url","url":"https://e/f.pdf"}},
			{"type":"document","title":"n.md","source":{"type":"text","media_type":"text/plain","data":"nö"}},
			{"type":"image","source":{"type":"base64","media_type":"image/webp","data":"aGk="}},{"type":"text","text":"{\"n\":1}"}]}]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, "application/json", reply)
			if _, err := s.provider(t, anthropic.Config{}).Infer(t.Context(), protocol.InferRequest{Messages: tt.messages}, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decoded(t, tt.want), s.body["messages"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSystem(t *testing.T) {
	t.Parallel()
	s := serve(t, "application/json", reply)
	req := protocol.InferRequest{System: "You.", Messages: []protocol.Message{
		text(protocol.RoleSystem, "Be kind."), text(protocol.RoleSystem, ""),
		says(protocol.RoleSystem, protocol.TextBlock{Text: "A"}, protocol.DataBlock{Data: json.RawMessage(`{"b":1}`)}), text(protocol.RoleUser, "hello"),
	}}
	if _, err := s.provider(t, anthropic.Config{}).Infer(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	want := `[{"type":"text","text":"You."},{"type":"text","text":"Be kind."},{"type":"text","text":"A"},{"type":"text","text":"{\"b\":1}"}]`
	if diff := cmp.Diff(decoded(t, want), s.body["system"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(decoded(t, `[`+hello+`]`), s.body["messages"]); diff != "" {
		t.Error(diff)
	}
}

// TestAppendOnly checks that what was sent is sent again as it was when the conversation goes on: the cache and the thinking
// of the provider depend on it.
func TestAppendOnly(t *testing.T) {
	t.Parallel()
	thought := says(protocol.RoleAssistant, protocol.ThinkingBlock{Thinking: "hm", Signature: "s"},
		protocol.ToolUseBlock{ID: "c1", Name: "clock", Input: json.RawMessage(`{"a":1}`)})
	all := []protocol.Message{
		text(protocol.RoleSystem, "Be kind."), text(protocol.RoleUser, "hello"), thought, protocol.ToolResultMessage("c1", "clock", "noon", false),
		text(protocol.RoleSystem, "remember"), thought, protocol.ToolResultMessage("c1", "clock", "noon", false), text(protocol.RoleAssistant, "done"), text(protocol.RoleUser, "thanks"),
	}
	s := serve(t, "application/json", reply)
	p := s.provider(t, anthropic.Config{})
	before := []any{}
	for _, n := range []int{2, 5, 7, 9} {
		if _, err := p.Infer(t.Context(), protocol.InferRequest{System: "You.", Messages: all[:n]}, nil); err != nil {
			t.Fatal(err)
		}
		now := append(s.body["system"].([]any), s.body["messages"].([]any)...)
		if len(now) < len(before) {
			t.Fatalf("%d messages became %d", len(before), len(now))
		}
		if diff := cmp.Diff(before, now[:len(before)]); diff != "" {
			t.Errorf("after %d messages: %s", n, diff)
		}
		before = now
	}
}

func TestMessagesRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, "application/json", reply)
	p := s.provider(t, anthropic.Config{})
	image := protocol.ImageBlock{Source: protocol.URLSource("https://e/i.png"), MediaType: "image/png"}
	user := protocol.RoleUser
	for name, m := range map[string]protocol.Message{
		"image of the assistant":   says(protocol.RoleAssistant, image),
		"image of the system":      says(protocol.RoleSystem, image),
		"call of the user":         says(user, protocol.ToolUseBlock{ID: "c", Name: "n", Input: json.RawMessage(`{}`)}),
		"call of a tool":           says(protocol.ToolRole("n", "c"), protocol.ToolUseBlock{ID: "c", Name: "n"}),
		"call of the system":       says(protocol.RoleSystem, protocol.ToolUseBlock{ID: "c", Name: "n"}),
		"text file by address":     says(user, protocol.FileBlock{Source: protocol.URLSource("https://e/f.txt"), MediaType: "text/plain"}),
		"file that is no text":     says(user, protocol.FileBlock{Source: protocol.Base64Source("/w=="), MediaType: "application/zip"}),
		"file that is not base64":  says(user, protocol.FileBlock{Source: protocol.Base64Source("???"), MediaType: "text/plain"}),
		"custom":                   says(user, protocol.CustomBlock{ContentType: "x", Data: json.RawMessage(`{}`)}),
		"custom that is no JSON":   says(user, protocol.CustomBlock{ContentType: anthropic.CustomPrefix + "x", Data: json.RawMessage(`{"a`)}),
		"nothing at all":           text(user, " "),
		"nothing but the system's": text(protocol.RoleSystem, "Be kind."),
		"nothing but thinking":     says(protocol.RoleAssistant, protocol.ThinkingBlock{Thinking: "hm", Signature: "s"}),
	} {
		_, err := p.Infer(t.Context(), protocol.InferRequest{System: "You.", Messages: []protocol.Message{m}}, nil)
		wantKind(t, name, err, protocol.KindProviderInvalidRequest)
	}
	nan := math.NaN()
	_, err := p.Infer(t.Context(), protocol.InferRequest{Messages: []protocol.Message{text(user, "x")}, Temperature: &nan}, nil)
	wantKind(t, "temperature that is no number", err, protocol.KindProviderInvalidRequest)
	if s.body != nil {
		t.Error("the server was asked")
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	limit, zero := uint32(7), 0.0
	tool := protocol.ToolSchema{Name: "clock", Description: "Tells.", InputSchema: json.RawMessage(`{"type":"object","$defs":{}}`), Extra: json.RawMessage(`{"strict":true,"other":1}`)}
	named, must := protocol.ChooseTool("clock"), protocol.ChooseTools(protocol.ChoiceAny)
	options := map[string]json.RawMessage{
		"thinking": json.RawMessage(`{"type":"enabled","budget_tokens":1024}`), "top_p": json.RawMessage(`0.9`), "top_k": json.RawMessage(`5`),
		"stop_sequences": json.RawMessage(`["END"]`), "service_tier": json.RawMessage(`"standard_only"`), "metadata": json.RawMessage(`{"user_id":"u1","name":"Ann"}`),
		"output_config": json.RawMessage(`{"effort":"low","other":1}`), "tenant": json.RawMessage(`"acme"`), "model": json.RawMessage(`"x"`), "system": json.RawMessage(`"x"`),
	}
	strict := protocol.SchemaFormat{Name: "s", Schema: json.RawMessage(`{"type":"object","properties":{}}`), Strict: true}
	lax := strict
	lax.Strict = false
	tests := []struct {
		name string
		cfg  anthropic.Config
		req  protocol.InferRequest
		want string // beside messages
	}{
		{"defaults", anthropic.Config{}, protocol.InferRequest{}, `{"model":"claude-haiku-4-5","max_tokens":4096}`},
		{"own defaults", anthropic.Config{Model: "m", MaxTokens: 9}, protocol.InferRequest{}, `{"model":"m","max_tokens":9}`},
		{"limits", anthropic.Config{}, protocol.InferRequest{Model: "m", MaxTokens: &limit, Temperature: &zero}, `{"model":"m","max_tokens":7,"temperature":0}`},
		{"options", anthropic.Config{}, protocol.InferRequest{ProviderOptions: options}, `{"model":"claude-haiku-4-5","max_tokens":4096,
			"thinking":{"type":"enabled","budget_tokens":1024},"top_p":0.9,"top_k":5,"stop_sequences":["END"],"service_tier":"standard_only",
			"metadata":{"user_id":"u1"},"output_config":{"effort":"low"}}`},
		{"odd options", anthropic.Config{}, protocol.InferRequest{ProviderOptions: map[string]json.RawMessage{
			"metadata": json.RawMessage(`"x"`), "output_config": json.RawMessage(`5`), "top_p": json.RawMessage(`null`),
		}}, `{"model":"claude-haiku-4-5","max_tokens":4096}`},
		{
			"tools",
			anthropic.Config{},
			protocol.InferRequest{Tools: []protocol.ToolSchema{tool, {Name: "n"}, {Name: "o", InputSchema: json.RawMessage(`{"properties":{"<a>":{}}}`)}}, ToolChoice: &named},
			`{"model":"claude-haiku-4-5","max_tokens":4096,
			"tools":[{"name":"clock","description":"Tells.","strict":true,"input_schema":{"type":"object","$defs":{}}},
			{"name":"n","input_schema":{"type":"object","properties":{}}},{"name":"o","input_schema":{"type":"object","properties":{"<a>":{}}}}],
			"tool_choice":{"type":"tool","name":"clock"}}`,
		},
		{"choice without tools", anthropic.Config{}, protocol.InferRequest{ToolChoice: &must}, `{"model":"claude-haiku-4-5","max_tokens":4096}`},
		{"json", anthropic.Config{}, protocol.InferRequest{ResponseFormat: protocol.JSONFormat{}}, `{"model":"claude-haiku-4-5","max_tokens":4096}`},
		{"text", anthropic.Config{}, protocol.InferRequest{ResponseFormat: protocol.TextFormat{}}, `{"model":"claude-haiku-4-5","max_tokens":4096}`},
		{"schema", anthropic.Config{}, protocol.InferRequest{ResponseFormat: lax}, `{"model":"claude-haiku-4-5","max_tokens":4096}`},
		{"strict schema", anthropic.Config{}, protocol.InferRequest{ResponseFormat: strict}, `{"model":"claude-haiku-4-5","max_tokens":4096,
			"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{}}}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, "application/json", reply)
			tt.req.Messages = []protocol.Message{text(protocol.RoleUser, "hello")}
			if _, err := s.provider(t, tt.cfg).Infer(t.Context(), tt.req, nil); err != nil {
				t.Fatal(err)
			}
			delete(s.body, "messages")
			if diff := cmp.Diff(decoded(t, tt.want), any(s.body)); diff != "" {
				t.Error(diff)
			}
		})
	}
	for want, choice := range map[string]protocol.ToolChoice{"none": protocol.ChooseTools(protocol.ChoiceNone), "any": must, "auto": {}} {
		s := serve(t, "application/json", reply)
		req := protocol.InferRequest{Messages: []protocol.Message{text(protocol.RoleUser, "x")}, Tools: []protocol.ToolSchema{tool}, ToolChoice: &choice}
		_, err := s.provider(t, anthropic.Config{}).Infer(t.Context(), req, nil)
		if diff := cmp.Diff(any(map[string]any{"type": want}), s.body["tool_choice"]); diff != "" || err != nil {
			t.Errorf("choice %s: %v %s", want, err, diff)
		}
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	req := protocol.InferRequest{Messages: []protocol.Message{text(protocol.RoleUser, "hello")}}
	for name, tt := range map[string]struct {
		cfg                  anthropic.Config
		apiKey, bearer, beta string
	}{
		"key":             {anthropic.Config{APIKey: secret.Static("sk-ant-api03-x")}, "sk-ant-api03-x", "", ""},
		"none":            {anthropic.Config{}, "", "", ""},
		"token":           {anthropic.Config{APIKey: secret.Static("sk-ant-oat01-x")}, "", "Bearer sk-ant-oat01-x", "oauth-2025-04-20"},
		"betas":           {anthropic.Config{APIKey: secret.Static("k"), Betas: []string{"a-1", "b-2"}}, "k", "", "a-1,b-2"},
		"token and betas": {anthropic.Config{APIKey: secret.Static("sk-ant-oat01-x"), Betas: []string{"a-1"}}, "", "Bearer sk-ant-oat01-x", "a-1,oauth-2025-04-20"},
	} {
		s := serve(t, "application/json", reply)
		if _, err := s.provider(t, tt.cfg).Infer(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		got := []string{s.path, s.header.Get("X-Api-Key"), s.header.Get("Authorization"), s.header.Get("Anthropic-Beta"), s.header.Get("Anthropic-Version"), s.header.Get("Content-Type")}
		want := []string{"/v1/messages", tt.apiKey, tt.bearer, tt.beta, "2023-06-01", "application/json"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	s := serve(t, "application/json", reply)
	_, err := s.provider(t, anthropic.Config{APIKey: secret.Env("SKG_TEST_UNSET")}).Infer(t.Context(), req, nil)
	wantKind(t, "unset key", err, protocol.KindProviderAuthFailed)
	_, err = s.provider(t, anthropic.Config{Betas: []string{"a\r\nX-Evil: 1"}}).Infer(t.Context(), req, nil)
	wantKind(t, "odd beta", err, protocol.KindProviderInvalidRequest)
	for _, url := range []string{"://", "ftp://host", "localhost:80"} {
		_, err := anthropic.New(anthropic.Config{BaseURL: url, HTTPClient: &http.Client{}}).Infer(t.Context(), req, nil)
		wantKind(t, url, err, protocol.KindProviderInvalidRequest)
	}
	if s.body != nil {
		t.Error("the server was asked")
	}
}

// TestEnvironment checks that the library takes nothing from where it looks by itself.
func TestEnvironment(t *testing.T) { //nolint:paralleltest // sets variables
	s := serve(t, "application/json", reply)
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": "sk-of-the-environment", "ANTHROPIC_AUTH_TOKEN": "sk-of-the-environment", "ANTHROPIC_PROFILE": "missing",
		"ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "ANTHROPIC_CUSTOM_HEADERS": "X-Custom: sk-of-the-environment",
	} {
		t.Setenv(name, value)
	}
	req := protocol.InferRequest{Messages: []protocol.Message{text(protocol.RoleUser, "hello")}}
	if _, err := s.provider(t, anthropic.Config{}).Infer(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	for name, values := range s.header {
		for _, v := range values {
			if v == "sk-of-the-environment" || v == "Bearer sk-of-the-environment" {
				t.Errorf("%s is sent", name)
			}
		}
	}
}
