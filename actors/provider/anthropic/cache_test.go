package anthropic_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/provider/anthropic"
	"github.com/skelegent/skelegent-go/protocol"
)

// marks lists where a request has cache marks.
func marks(at string, v any) []string {
	var found []string
	switch v := v.(type) {
	case map[string]any:
		if c, ok := v["cache_control"].(map[string]any); ok {
			found = append(found, fmt.Sprint(at, " ", c["type"], c["ttl"]))
		}
		for _, key := range []string{"tools", "system", "messages", "content"} {
			found = append(found, marks(at+"/"+key, v[key])...)
		}
	case []any:
		for i, e := range v {
			found = append(found, marks(fmt.Sprint(at, i), e)...)
		}
	}
	return found
}

func TestCacheMarks(t *testing.T) {
	t.Parallel()
	tools := func(extras ...string) []protocol.ToolSchema {
		var list []protocol.ToolSchema
		for i, e := range extras {
			list = append(list, protocol.ToolSchema{Name: fmt.Sprint("t", i), Extra: json.RawMessage(e)})
		}
		return list
	}
	const mark, hour = `{"cache_control":{"type":"ephemeral"}}`, `{"cache_control":{"type":"ephemeral","ttl":"1h"}}`
	hi, thought := text(protocol.RoleUser, "hello"), says(protocol.RoleAssistant,
		protocol.TextBlock{Text: "I"}, protocol.CustomBlock{ContentType: "anthropic/x", Data: json.RawMessage(`{"type":"x"}`)})
	tests := []struct {
		name  string
		cache bool
		req   protocol.InferRequest
		want  []string
	}{
		{"none", false, protocol.InferRequest{System: "You.", Messages: []protocol.Message{hi}, Tools: tools("", "")}, nil},
		{"all", true, protocol.InferRequest{System: "You.", Messages: []protocol.Message{text(protocol.RoleSystem, "Be kind."), hi, text(protocol.RoleAssistant, "a"), hi, hi}, Tools: tools("", "")}, []string{
			"/tools1 ephemeral<nil>", "/system1 ephemeral<nil>", "/messages2/content1 ephemeral<nil>",
		}},
		{"messages alone", true, protocol.InferRequest{Messages: []protocol.Message{hi}}, []string{"/messages0/content0 ephemeral<nil>"}},
		{"result", true, protocol.InferRequest{Messages: []protocol.Message{hi, calls("c1"), protocol.ToolResultMessage("c1", "clock", "", false)}}, []string{"/messages2/content0 ephemeral<nil>"}},
		{"not behind the last text", true, protocol.InferRequest{Messages: []protocol.Message{hi, thought}}, []string{"/messages1/content0 ephemeral<nil>"}},
		{"of tools", false, protocol.InferRequest{Messages: []protocol.Message{hi}, Tools: tools(mark, "", hour, `{"cache_control":null}`, `[]`)}, []string{
			"/tools0 ephemeral<nil>", "/tools2 ephemeral1h",
		}},
		{"of the last tool", true, protocol.InferRequest{Messages: []protocol.Message{hi}, Tools: tools("", hour)}, []string{
			"/tools1 ephemeral1h", "/messages0/content0 ephemeral<nil>",
		}},
		{"too many", false, protocol.InferRequest{Messages: []protocol.Message{hi}, Tools: tools(mark, mark, mark, mark, mark, "")}, []string{
			"/tools1 ephemeral<nil>", "/tools2 ephemeral<nil>", "/tools3 ephemeral<nil>", "/tools4 ephemeral<nil>",
		}},
		{"too many with all", true, protocol.InferRequest{System: "You.", Messages: []protocol.Message{hi}, Tools: tools(mark, mark, mark, "")}, []string{
			"/tools2 ephemeral<nil>", "/tools3 ephemeral<nil>", "/system0 ephemeral<nil>", "/messages0/content0 ephemeral<nil>",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, "application/json", reply)
			if _, err := s.provider(t, anthropic.Config{CachePrompt: tt.cache}).Infer(t.Context(), tt.req, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, marks("", any(s.body))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
