package provider_test

import (
	"math"
	"testing"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/protocol"
)

func dec(literal string) *protocol.Decimal {
	d := protocol.MustDecimal(literal)
	return &d
}

func count(n uint64) *uint64 { return &n }

func TestPricesCost(t *testing.T) {
	t.Parallel()
	prices := provider.Prices{
		"mini":    {Input: *dec("0.15"), Output: *dec("0.60"), Cached: dec("0.075")},
		"plain":   {Input: *dec("3.00"), Output: *dec("15")},
		"writes":  {Input: *dec("3"), Output: *dec("15"), Cached: dec("0.30"), CacheWrite: dec("3.75")},
		"free":    {},
		"precise": {Input: *dec("0.0000001"), Output: *dec("0.0000002")},
	}
	tests := []struct {
		name  string
		model string
		usage protocol.TokenUsage
		want  string // empty for nil
	}{
		{"unknown", "other", protocol.TokenUsage{InputTokens: 1, OutputTokens: 1}, ""},
		{"names are exact", "mini-2024-07-18", protocol.TokenUsage{InputTokens: 1}, ""},
		{"nothing used", "mini", protocol.TokenUsage{}, "0"},
		{"free", "free", protocol.TokenUsage{InputTokens: 5, OutputTokens: 5}, "0"},
		{"input and output", "mini", protocol.TokenUsage{InputTokens: 10, OutputTokens: 5}, "0.0000045"},
		{"scale trimmed", "plain", protocol.TokenUsage{InputTokens: 1_000_000, OutputTokens: 1_000_000}, "18"},
		{"cached at its own price", "mini", protocol.TokenUsage{InputTokens: 100, OutputTokens: 10, CacheReadTokens: count(60)}, "0.0000165"},
		{"cached at the input price", "plain", protocol.TokenUsage{InputTokens: 100, CacheReadTokens: count(60)}, "0.0003"},
		{"cache written", "writes", protocol.TokenUsage{InputTokens: 100, CacheReadTokens: count(50), CacheCreationTokens: count(20)}, "0.00018"},
		{"more cached than input", "mini", protocol.TokenUsage{InputTokens: 10, CacheReadTokens: count(20)}, "0.0000015"},
		{"exact far below a cent", "precise", protocol.TokenUsage{InputTokens: 1, OutputTokens: 1}, "0.0000000000003"},
		{"huge counts do not overflow", "plain", protocol.TokenUsage{InputTokens: math.MaxUint64}, "55340232221128.654845"},
		{"reasoning is part of the output", "mini", protocol.TokenUsage{OutputTokens: 10, ReasoningTokens: count(9)}, "0.000006"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if cost := prices.Cost(tt.model, tt.usage); cost != nil {
				got = cost.String()
			}
			if got != tt.want {
				t.Errorf("Cost(%s, %+v) = %q, want %q", tt.model, tt.usage, got, tt.want)
			}
		})
	}
}

func TestNilPrices(t *testing.T) {
	t.Parallel()
	if cost := provider.Prices(nil).Cost("mini", protocol.TokenUsage{InputTokens: 1}); cost != nil {
		t.Errorf("no prices: cost = %v, want nil", cost)
	}
}

func TestPricesFind(t *testing.T) {
	t.Parallel()
	prices := provider.Prices{
		"gpt-4o": {Input: *dec("1")}, "gpt-4o-2024-05-13": {Input: *dec("2")}, "claude-x": {Input: *dec("3")},
		"router/gpt-4o": {Input: *dec("4")},
	}
	for model, want := range map[string]string{
		"gpt-4o": "1", "gpt-4o-2024-08-06": "1", "gpt-4o-2024-05-13": "2", "gpt-4o-latest": "1", "openai/gpt-4o": "1",
		"openai/gpt-4o-2024-05-13": "2", "anthropic/claude-x@20250929": "3", "router/gpt-4o": "4", "router/gpt-4o-latest": "4",
		"claude-x-20250929": "3", "claude-x@20250929": "3",
		"": "", "gpt-4o-mini": "", "gpt-4o-2024": "", "gpt-4": "", "gpt-4o/": "", "-latest": "", "gpt-4o:free": "", "claude-x-2025092": "",
		"someone/gpt-4o": "", "a/openai/gpt-4o": "", "openai/b/gpt-4o": "", "ft:gpt-4o:acme::1": "", "vertex_ai/claude-x": "",
	} {
		got := ""
		if p, ok := prices.Find(model); ok {
			got = p.Input.String()
		}
		if got != want {
			t.Errorf("Find(%q) = %q, want %q", model, got, want)
		}
	}
}

func TestPricesCostOf(t *testing.T) {
	t.Parallel()
	prices := provider.Prices{"a": {Input: *dec("1")}, "b": {Input: *dec("2")}}
	usage := protocol.TokenUsage{InputTokens: 1_000_000}
	for _, tt := range []struct {
		models []string
		want   string
	}{
		{[]string{"a-2024-08-06", "b"}, "1"},
		{[]string{"other", "openai/b"}, "2"},
		{[]string{"", "b"}, "2"},
		{[]string{"other"}, ""},
		{nil, ""},
	} {
		got := ""
		if cost := prices.CostOf(usage, tt.models...); cost != nil {
			got = cost.String()
		}
		if got != tt.want {
			t.Errorf("CostOf(%q) = %q, want %q", tt.models, got, tt.want)
		}
	}
}

func TestPriceBound(t *testing.T) {
	t.Parallel()
	usage := protocol.TokenUsage{InputTokens: 1000, OutputTokens: 100}
	for _, tt := range []struct {
		name  string
		price provider.Price
		want  string
	}{
		{"input", provider.Price{Input: *dec("3"), Output: *dec("15"), Cached: dec("0.3")}, "0.0045"},
		{"cache write", provider.Price{Input: *dec("3"), Output: *dec("15"), CacheWrite: dec("3.75")}, "0.00525"},
		{"cached", provider.Price{Input: *dec("3"), Output: *dec("15"), Cached: dec("4")}, "0.0055"},
		{"free", provider.Price{}, "0"},
	} {
		bound := tt.price.Bound(usage.InputTokens, usage.OutputTokens)
		if bound.String() != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, bound, tt.want)
		}
		for read := uint64(0); read <= 1000; read += 250 {
			for write := uint64(0); read+write <= 1000; write += 250 {
				u := usage
				u.CacheReadTokens, u.CacheCreationTokens = &read, &write
				if cost := tt.price.Cost(u); cost.GreaterThan(bound.Decimal) {
					t.Errorf("%s: %s with %d read and %d written is beyond %s", tt.name, cost, read, write, bound)
				}
			}
		}
	}
	if got := (provider.Price{Input: *dec("3")}).Bound(math.MaxUint64, 0).String(); got != "55340232221128.654845" {
		t.Errorf("huge: %s", got)
	}
}

// List prices are those of their maker's servers; what another asks for the same name nobody knows.
func TestListed(t *testing.T) {
	t.Parallel()
	own := provider.Prices{"m": {}}
	for url, maker := range map[string]bool{
		"https://api.openai.com/v1": true, "https://eu.api.openai.com/v1": true, "https://openai.com": true, "http://127.0.0.1:4010/v1": false,
		"https://api.openai.com.evil.example": false, "https://notopenai.com": false, "https://acme.openai.azure.com": false, ":": false,
	} {
		if got := provider.Listed(nil, url, "openai.com"); (got == nil) != maker {
			t.Errorf("%s: got %v", url, got)
		}
		if got := provider.Listed(own, url, "openai.com"); len(got) != 1 {
			t.Errorf("%s: own prices are %v", url, got)
		}
	}
}
