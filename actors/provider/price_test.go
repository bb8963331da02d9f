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
