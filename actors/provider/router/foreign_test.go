package router_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/anthropic"
	"github.com/skelegent/skelegent-go/actors/provider/ollama"
	"github.com/skelegent/skelegent-go/actors/provider/openai"
	"github.com/skelegent/skelegent-go/actors/provider/responses"
	"github.com/skelegent/skelegent-go/protocol"
)

// A conversation that one provider began can be sent to any other: what only the first understands is left out.
func TestConversationsOfOtherProviders(t *testing.T) {
	t.Parallel()
	foreign := []protocol.Message{
		protocol.NewMessage(protocol.RoleUser, protocol.TextContent("hi")),
		protocol.NewMessage(protocol.RoleAssistant, protocol.BlockContent(
			protocol.ThinkingBlock{Thinking: "hm", Signature: "c2lnbmVk"}, // of Anthropic
			protocol.CustomBlock{ContentType: anthropic.CustomPrefix + "redacted_thinking", Data: json.RawMessage(`{"type":"redacted_thinking","data":"x"}`)},
			protocol.ThinkingBlock{Signature: `{"responses_reasoning":{"type":"reasoning","id":"rs_1","encrypted_content":"x","summary":[]}}`},
			protocol.TextBlock{Text: "hello"},
		)),
		protocol.NewMessage(protocol.RoleUser, protocol.TextContent("again")),
	}
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(s.Close)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for name, p := range map[string]provider.Provider{
		"anthropic": anthropic.New(anthropic.Config{BaseURL: s.URL, HTTPClient: client}),
		"openai":    openai.New(openai.Config{BaseURL: s.URL, HTTPClient: client}),
		"responses": responses.New(responses.Config{BaseURL: s.URL, HTTPClient: client}),
		"ollama":    ollama.New(ollama.Config{BaseURL: s.URL, HTTPClient: client}),
	} {
		before := asked.Load()
		_, err := p.Infer(t.Context(), protocol.InferRequest{Messages: foreign}, nil)
		if !errors.Is(err, &protocol.Error{Kind: protocol.KindProviderTransient}) || asked.Load() != before+1 {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
