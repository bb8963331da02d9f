package provider

import (
	"github.com/shopspring/decimal"

	"github.com/skelegent/skelegent-go/protocol"
)

// Price is what a model costs, in USD per million tokens.
type Price struct {
	Input  protocol.Decimal `yaml:"input"`
	Output protocol.Decimal `yaml:"output"`
	// Cached is the price of input tokens read from the provider's cache; Input if nil.
	Cached *protocol.Decimal `yaml:"cached,omitempty"`
	// CacheWrite is the price of input tokens written to the provider's cache; Input if nil.
	CacheWrite *protocol.Decimal `yaml:"cache_write,omitempty"`
}

// Prices maps the names of models to their prices. A model that is not in it has no known price.
type Prices map[string]Price

// perMillion shifts a price per million tokens to one token.
const perMillion = -6

// Cost returns the exact price of usage, or nil where the model has none. Cache tokens are part of the input tokens and
// are priced at their own rates.
func (p Prices) Cost(model string, usage protocol.TokenUsage) *protocol.Decimal {
	price, ok := p[model]
	if !ok {
		return nil
	}
	read, write := tokens(usage.CacheReadTokens), tokens(usage.CacheCreationTokens)
	plain := decimal.Max(decimal.Zero, tokens(&usage.InputTokens).Sub(read).Sub(write))
	sum := plain.Mul(price.Input.Decimal).
		Add(read.Mul(rate(price.Cached, price.Input))).
		Add(write.Mul(rate(price.CacheWrite, price.Input))).
		Add(tokens(&usage.OutputTokens).Mul(price.Output.Decimal))
	return &protocol.Decimal{Decimal: trim(sum.Shift(perMillion))}
}

func tokens(n *uint64) decimal.Decimal {
	if n == nil {
		return decimal.Zero
	}
	return decimal.NewFromUint64(*n)
}

func rate(own *protocol.Decimal, input protocol.Decimal) decimal.Decimal {
	if own == nil {
		return input.Decimal
	}
	return own.Decimal
}

// trim drops zeros at the end of the fraction, which sums of prices of different scale leave.
func trim(d decimal.Decimal) decimal.Decimal {
	t, err := decimal.NewFromString(d.String())
	if err != nil { // a decimal's own text is a decimal
		return d
	}
	return t
}
