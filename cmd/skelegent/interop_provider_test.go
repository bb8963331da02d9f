package main

import (
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/anthropic"
	"github.com/skelegent/skelegent-go/actors/provider/ollama"
	"github.com/skelegent/skelegent-go/actors/provider/openai"
	"github.com/skelegent/skelegent-go/actors/provider/responses"
	"github.com/skelegent/skelegent-go/actors/provider/secret"
	"github.com/skelegent/skelegent-go/protocol"
)

// TestInteropProviders lets every HTTP provider talk to a model server that nobody here wrote: texts, calls and their results,
// thinking, errors, whole and streamed.
func TestInteropProviders(t *testing.T) {
	t.Parallel()
	needNode(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/interop")); err != nil {
		t.Fatal(err)
	}
	runProgram(t, dir, "npm", "ci", "--no-audit", "--no-fund", "--loglevel=error")
	address := freeAddress(t)
	host, port, _ := net.SplitHostPort(address)
	background(t, dir, nil, "./node_modules/.bin/llmock", "-h", host, "-p", port, "-f", "fixtures.json", "--strict", "--log-level", "warn")
	waitHTTP(t, "http://"+address+"/v1/models")

	url := "http://" + address
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	key := secret.Static("sk-interop")
	for name, c := range map[string]struct { //nolint:paralleltest // the server is one for all
		p        provider.Provider
		model    string
		thinks   bool
		isPriced bool
	}{
		"openai":    {openai.New(openai.Config{BaseURL: url + "/v1", APIKey: key, HTTPClient: client, Prices: openai.ListPrices()}), "gpt-4o-mini", false, true},
		"responses": {responses.New(responses.Config{BaseURL: url + "/v1", APIKey: key, HTTPClient: client, Prices: openai.ListPrices()}), "gpt-5-mini", true, true},
		"anthropic": {anthropic.New(anthropic.Config{BaseURL: url, APIKey: key, HTTPClient: client}), "claude-haiku-4-5", true, false},
		"ollama":    {ollama.New(ollama.Config{BaseURL: url, HTTPClient: client}), "llama3.2:1b", false, true},
	} {
		for way, stream := range map[string]bool{"whole": false, "streamed": true} {
			t.Run(name+" "+way, func(t *testing.T) {
				ask := peer{p: c.p, model: c.model, stream: stream}
				resp := ask.must(t, user("two tools"))
				if resp.StopReason != protocol.StopToolUse || len(resp.ToolCalls) != 2 || resp.ToolCalls[1].Name != "clock" ||
					!strings.Contains(string(resp.ToolCalls[1].Input), "Europe/Oslo") || resp.ToolCalls[0].ID == resp.ToolCalls[1].ID {
					t.Errorf("calls: %+v", resp)
				}
				if c.isPriced && resp.Cost == nil || resp.Usage.OutputTokens == 0 && name != "ollama" {
					t.Errorf("cost %v, usage %+v", resp.Cost, resp.Usage)
				}
				both := []protocol.Message{user("two tools"), resp.ToMessage()}
				for _, call := range resp.ToolCalls {
					both = append(both, protocol.ToolResultMessage(call.ID, call.Name, "noon", false))
				}
				if text, _ := ask.must(t, both...).Content.AsText(); text != "Both are done." {
					t.Errorf("behind the results: %q", text)
				}
				thought := ask.must(t, user("think first"))
				if text, _ := thought.Content.AsText(); text != "Forty-two." {
					t.Errorf("thinking: %+v", thought)
				}
				if c.thinks && !thinks(thought) {
					t.Errorf("no thinking in %+v", thought)
				}
				// What was thought goes back, and is accepted.
				ask.must(t, user("think first"), thought.ToMessage(), user("think first"))
				for text, kind := range map[string]protocol.ErrorKind{
					"say 401": protocol.KindProviderAuthFailed, "say 429": protocol.KindProviderRateLimited, "say 500": protocol.KindProviderTransient,
				} {
					_, err := ask.infer(t, user(text))
					if !errors.Is(err, &protocol.Error{Kind: kind}) || strings.Contains(err.Error(), "sk-interop") {
						t.Errorf("%s: got %v", text, err)
					}
				}
			})
		}
	}
}

type peer struct {
	p      provider.Provider
	model  string
	stream bool
}

func (p peer) infer(t *testing.T, messages ...protocol.Message) (protocol.InferResponse, error) {
	t.Helper()
	var sink func(protocol.StreamEvent)
	var done *protocol.Done
	if p.stream {
		sink = func(e protocol.StreamEvent) {
			if d, ok := e.(protocol.Done); ok {
				done = &d
			}
		}
	}
	limit := uint32(1000)
	resp, err := p.p.Infer(t.Context(), protocol.InferRequest{
		Model: p.model, System: "Be brief.", Messages: messages, MaxTokens: &limit,
		Tools: []protocol.ToolSchema{{
			Name: "clock", Description: "Tells the time.", InputSchema: []byte(`{"type":"object","properties":{"zone":{"type":"string"}}}`),
		}},
	}, sink)
	if p.stream && err == nil && done == nil {
		t.Error("the stream has no end")
	}
	return resp, err
}

func (p peer) must(t *testing.T, messages ...protocol.Message) protocol.InferResponse {
	t.Helper()
	resp, err := p.infer(t, messages...)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func user(text string) protocol.Message {
	return protocol.NewMessage(protocol.RoleUser, protocol.TextContent(text))
}

func thinks(resp protocol.InferResponse) bool {
	for _, b := range resp.Content.Blocks() {
		if _, ok := b.(protocol.ThinkingBlock); ok {
			return true
		}
	}
	return false
}
