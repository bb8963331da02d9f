package anthropic

import (
	"slices"
	"strings"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/protocol"
)

// row is a price in USD per million tokens: input, output, read from the cache, written to it for five minutes.
type row [4]string

// builtin are the list prices of November 2026, standard tier. Not in them are batches, the priority tier, the surcharge for
// a region and what is cached for an hour: where the server tells of those, the cost of a call is not known. For these,
// as for a contract of your own, give Config.Prices.
var builtin = map[string]row{
	"claude-fable-5-1":  {"10", "50", "0.25", "12.50"},
	"claude-fable-5":    {"10", "50", "1.00", "12.50"},
	"claude-opus-5":     {"5", "25", "0.50", "6.25"},
	"claude-opus-4-8":   {"5", "25", "0.50", "6.25"},
	"claude-opus-4-7":   {"5", "25", "0.50", "6.25"},
	"claude-opus-4-6":   {"5", "25", "0.50", "6.25"},
	"claude-opus-4-5":   {"5", "25", "0.50", "6.25"},
	"claude-opus-4-1":   {"15", "75", "1.50", "18.75"},
	"claude-opus-4-0":   {"15", "75", "1.50", "18.75"},
	"claude-opus-4":     {"15", "75", "1.50", "18.75"},
	"claude-sonnet-5":   {"2", "10", "0.20", "2.50"},
	"claude-sonnet-4-6": {"3", "15", "0.30", "3.75"},
	"claude-sonnet-4-5": {"3", "15", "0.30", "3.75"},
	"claude-sonnet-4-0": {"3", "15", "0.30", "3.75"},
	"claude-sonnet-4":   {"3", "15", "0.30", "3.75"},
	"claude-3-7-sonnet": {"3", "15", "0.30", "3.75"},
	"claude-haiku-4-5":  {"1", "5", "0.10", "1.25"},
	"claude-3-5-haiku":  {"0.80", "4", "0.08", "1.00"},
	"claude-3-haiku":    {"0.25", "1.25", "0.03", "0.30"},
}

// builtinLong are the prices of all tokens of a call whose input, with what is cached, is longer than over.
var builtinLong = []struct {
	over uint64
	beta string // begin of the name of the beta that allows such input, empty if it needs none
	rows map[string]row
}{
	{200_000, "context-1m-", map[string]row{
		"claude-sonnet-4-5": {"6", "22.50", "0.60", "7.50"},
		"claude-sonnet-4-0": {"6", "22.50", "0.60", "7.50"},
		"claude-sonnet-4":   {"6", "22.50", "0.60", "7.50"},
	}},
}

func pricesOf(rows map[string]row) provider.Prices {
	prices := provider.Prices{}
	for model, r := range rows {
		cached, written := protocol.MustDecimal(r[2]), protocol.MustDecimal(r[3])
		prices[model] = provider.Price{
			Input: protocol.MustDecimal(r[0]), Output: protocol.MustDecimal(r[1]), Cached: &cached, CacheWrite: &written,
		}
	}
	return prices
}

// priceList is the prices of a provider.
type priceList struct {
	provider.Prices
	long    []longPrices
	builtin bool
}

type longPrices struct {
	provider.Prices
	over    uint64
	allowed bool // by the betas
}

func newPriceList(own provider.Prices, betas []string) priceList {
	if own != nil {
		return priceList{Prices: own}
	}
	l := priceList{Prices: pricesOf(builtin), builtin: true}
	for _, b := range builtinLong {
		allowed := b.beta == "" || slices.ContainsFunc(betas, func(name string) bool { return strings.HasPrefix(name, b.beta) })
		l.long = append(l.long, longPrices{Prices: pricesOf(b.rows), over: b.over, allowed: allowed})
	}
	return l
}

// quote returns the highest price that a call of model can have.
func (l priceList) quote(model string) (provider.Price, bool) {
	price, ok := l.Find(model)
	for _, long := range l.long {
		if p, found := long.Find(model); found && long.allowed {
			price = p
		}
	}
	return price, ok
}

// cost prices a call by the first of models that has a price: give the one that answered, then the one that was asked for, which
// counts where the prices are the user's.
func (l priceList) cost(told usage, used protocol.TokenUsage, models ...string) *protocol.Decimal {
	if l.builtin && told.otherTerms() {
		return nil
	}
	if l.builtin {
		models = models[:1]
	}
	for _, model := range models {
		price, ok := l.Find(model)
		if !ok {
			continue
		}
		for _, long := range l.long {
			if p, found := long.Find(model); found && used.InputTokens > long.over {
				price = p
			}
		}
		cost := price.Cost(used)
		return &cost
	}
	return nil
}
