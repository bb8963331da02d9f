package anthropic_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/anthropic"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestPrices(t *testing.T) {
	t.Parallel()
	own := provider.Prices{"mine": {Input: protocol.MustDecimal("1"), Output: protocol.MustDecimal("1")}}
	answer := func(model, usage string) string {
		return `{"model":"` + model + `","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{` + usage + `}}`
	}
	const tokens = `"input_tokens":100000,"cache_read_input_tokens":50000,"cache_creation_input_tokens":50000,"output_tokens":10000`
	tests := []struct {
		name, reply string
		cfg         anthropic.Config
		want        string
	}{
		{"cached and written", reply, anthropic.Config{}, "0.00007"}, // 10*1 + 100*0.10 + 20*1.25 + 5*5
		{"own prices replace", reply, anthropic.Config{Prices: own}, ""},
		{"no prices", reply, anthropic.Config{Prices: provider.Prices{}}, ""},
		{"requested name", reply, anthropic.Config{Prices: own, Model: "mine-20260131"}, "0.000135"},
		{"unknown model", answer("claude-opus-9", `"input_tokens":10,"output_tokens":5`), anthropic.Config{Model: "claude-opus-9"}, ""},
		{"unknown relative", answer("claude-sonnet-4-5-mini", `"input_tokens":10,"output_tokens":5`), anthropic.Config{Model: "claude-sonnet-4-5-mini"}, ""},
		{"behind a router", answer("anthropic/claude-sonnet-4-5@20250929", `"input_tokens":1000,"output_tokens":0`), anthropic.Config{}, "0.003"},
		{"opus", answer("claude-opus-4-1-20250805", tokens), anthropic.Config{}, "3.2625"},
		{"opus of today", answer("claude-opus-5", tokens), anthropic.Config{}, "1.0875"},
		{"just short", answer("claude-sonnet-4-5", tokens), anthropic.Config{}, "0.6525"},
		{"long", answer("claude-sonnet-4-5", strings.Replace(tokens, "100000", "1000000", 1)), anthropic.Config{}, "6.63"},
		{"long by a token of the cache", answer("claude-sonnet-4-5", strings.Replace(tokens, "50000", "50001", 1)), anthropic.Config{}, "1.2300006"},
		{"long at one price", answer("claude-sonnet-4-6", strings.Replace(tokens, "50000", "50001", 1)), anthropic.Config{}, "0.6525003"},
		{"standard tier", answer("claude-haiku-4-5", `"input_tokens":1000,"output_tokens":0,"service_tier":"standard","inference_geo":"global"`), anthropic.Config{}, "0.001"},
		{"another tier", answer("claude-haiku-4-5", `"input_tokens":1000,"output_tokens":0,"service_tier":"priority"`), anthropic.Config{}, ""},
		{"another tier, own prices", answer("mine", `"input_tokens":1000,"output_tokens":0,"service_tier":"priority"`), anthropic.Config{Prices: own}, "0.001"},
		{"a region", answer("claude-haiku-4-5", `"input_tokens":1000,"output_tokens":0,"inference_geo":"us"`), anthropic.Config{}, ""},
		{"cached for an hour", answer("claude-haiku-4-5", `"input_tokens":1,"output_tokens":0,"cache_creation_input_tokens":9,"cache_creation":{"ephemeral_1h_input_tokens":9}`), anthropic.Config{}, ""},
		{"cached for minutes", answer("claude-haiku-4-5", `"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":1000,"cache_creation":{"ephemeral_1h_input_tokens":0}`), anthropic.Config{}, "0.00125"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, "application/json", tt.reply)
			resp, err := s.provider(t, tt.cfg).Infer(t.Context(), protocol.InferRequest{Messages: []protocol.Message{text(protocol.RoleUser, "x")}}, nil)
			got := ""
			if resp.Cost != nil {
				got = resp.Cost.String()
			}
			if err != nil || got != tt.want {
				t.Errorf("cost %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	client := &http.Client{}
	p := anthropic.New(anthropic.Config{HTTPClient: client})
	for model, want := range map[string]string{
		"": "5", "claude-haiku-4-5-20251001": "5", "claude-3-5-haiku-latest": "4", "claude-sonnet-4-20250514": "15", "claude-sonnet-4-5": "15",
		"claude-opus-4-5": "25", "claude-opus-4-0": "75", "claude-haiku": "", "claude-opus-4-5-fast": "", "llama": "",
	} {
		price, ok := p.Quote(model)
		if got := price.Output.String(); ok != (want != "") || ok && got != want || p.Priced(model) != ok {
			t.Errorf("Quote(%q) = %s, %v, want %q", model, got, ok, want)
		}
	}
	long := anthropic.New(anthropic.Config{HTTPClient: client, Betas: []string{"context-1m-2025-08-07"}})
	if price, _ := long.Quote("claude-sonnet-4-5"); price.Output.String() != "22.50" {
		t.Errorf("long context: %v", price.Output)
	}
	if anthropic.New(anthropic.Config{HTTPClient: client, Prices: provider.Prices{}}).Priced("") {
		t.Error("an empty table has prices")
	}
}
