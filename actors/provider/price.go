package provider

import (
	"net/url"
	"regexp"
	"strings"

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

// Quoter is a provider that can say the price of a model before a call. Implementations are safe for concurrent use and
// do not block.
type Quoter interface {
	// Quote returns the price of model, false if it is unknown. An empty model is the provider's default.
	Quote(model string) (Price, bool)
}

// Cost returns the exact price of usage. Cache tokens are part of the input tokens and are priced at their own rates.
func (p Price) Cost(usage protocol.TokenUsage) protocol.Decimal {
	read, write := tokens(usage.CacheReadTokens), tokens(usage.CacheCreationTokens)
	plain := decimal.Max(decimal.Zero, tokens(&usage.InputTokens).Sub(read).Sub(write))
	sum := plain.Mul(p.Input.Decimal).
		Add(read.Mul(rate(p.Cached, p.Input))).
		Add(write.Mul(rate(p.CacheWrite, p.Input))).
		Add(tokens(&usage.OutputTokens).Mul(p.Output.Decimal))
	return protocol.Decimal{Decimal: trim(sum.Shift(perMillion))}
}

// Bound returns the most that a call with at most so many tokens can cost: all input at the highest of its rates.
func (p Price) Bound(inputTokens, outputTokens uint64) protocol.Decimal {
	highest := decimal.Max(p.Input.Decimal, rate(p.Cached, p.Input), rate(p.CacheWrite, p.Input))
	sum := tokens(&inputTokens).Mul(highest).Add(tokens(&outputTokens).Mul(p.Output.Decimal))
	return protocol.Decimal{Decimal: trim(sum.Shift(perMillion))}
}

// Cost returns the exact price of usage, or nil where p does not have the very name of the model.
func (p Prices) Cost(model string, usage protocol.TokenUsage) *protocol.Decimal {
	price, ok := p[model]
	if !ok {
		return nil
	}
	cost := price.Cost(usage)
	return &cost
}

// CostOf returns the exact price of usage by the first of models that Find knows, or nil. Give the model that answered, then
// the one that was asked for.
func (p Prices) CostOf(usage protocol.TokenUsage, models ...string) *protocol.Decimal {
	for _, model := range models {
		if price, ok := p.Find(model); ok {
			cost := price.Cost(usage)
			return &cost
		}
	}
	return nil
}

// makers are before the names of models where several are behind one address, and cost what the makers say. Before other
// slashes are resellers and owners of fine-tuned models, who have prices of their own.
var makers = []string{"openai/", "anthropic/"}

// version is what providers put behind the name of a model: -2024-08-06, -20250929, @20250929 or -latest.
var version = regexp.MustCompile(`(?:-\d{4}-\d{2}-\d{2}|[-@]\d{8}|-latest)$`)

// Find returns the price of model by its own name, else without a version behind it, else by either without its maker
// before it, as in openai/gpt-4o and anthropic/claude-opus-4-5.
func (p Prices) Find(model string) (Price, bool) {
	bare := model
	for _, maker := range makers {
		if rest, ok := strings.CutPrefix(model, maker); ok {
			bare = rest
		}
	}
	for _, name := range []string{model, version.ReplaceAllString(model, ""), bare, version.ReplaceAllString(bare, "")} {
		if price, ok := p[name]; ok {
			return price, true
		}
	}
	return Price{}, false
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

// Listed returns own, or where that is nil whether the list prices of a maker apply to a server: only to the maker's own, which are
// under domain. For any other nothing has a price, since nobody knows what its owner asks for.
func Listed(own Prices, baseURL, domain string) Prices {
	u, err := url.Parse(baseURL)
	if own != nil || err == nil && (u.Hostname() == domain || strings.HasSuffix(u.Hostname(), "."+domain)) {
		return own
	}
	return Prices{}
}
