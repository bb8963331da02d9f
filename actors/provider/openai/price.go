package openai

import (
	"encoding/json"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/protocol"
)

// builtin are the list prices of the standard tier, in USD per million tokens: input, cached input, output. Only models
// are here whose price is the same for prompts of every length; for others give Config.Prices, as for a contract
// of your own.
var builtin = map[string][3]string{
	"gpt-4o":            {"2.50", "1.25", "10.00"},
	"gpt-4o-2024-05-13": {"5.00", "5.00", "15.00"}, // never became cheaper, and has no cache
	"gpt-4o-mini":       {"0.15", "0.075", "0.60"},
	"gpt-4.1":           {"2.00", "0.50", "8.00"},
	"gpt-4.1-mini":      {"0.40", "0.10", "1.60"},
	"gpt-4.1-nano":      {"0.10", "0.025", "0.40"},
	"gpt-5":             {"1.25", "0.125", "10.00"},
	"gpt-5-mini":        {"0.25", "0.025", "2.00"},
	"gpt-5-nano":        {"0.05", "0.005", "0.40"},
	"gpt-5.1":           {"1.25", "0.125", "10.00"},
	"gpt-5.2":           {"1.75", "0.175", "14.00"},
	"o1":                {"15.00", "7.50", "60.00"},
	"o3":                {"2.00", "0.50", "8.00"},
	"o3-mini":           {"1.10", "0.55", "4.40"},
	"o4-mini":           {"1.10", "0.275", "4.40"},
}

// priceList is the prices of a provider.
type priceList struct {
	provider.Prices
	builtin bool
}

func newPriceList(own provider.Prices) priceList {
	if own != nil {
		return priceList{Prices: own}
	}
	return priceList{Prices: ListPrices(), builtin: true}
}

// ListPrices returns the built-in table: the list prices of the standard tier. The map is the caller's.
func ListPrices() provider.Prices {
	prices := provider.Prices{}
	for model, p := range builtin {
		cached := protocol.MustDecimal(p[1])
		prices[model] = provider.Price{
			Input: protocol.MustDecimal(p[0]), Cached: &cached, Output: protocol.MustDecimal(p[2]),
		}
	}
	return prices
}

// cost prices a call by the model that answered; where the prices are the user's, who may have named what is asked for, else
// by that. The tier is what the server says
// that it used, empty if it does not; then the one that was asked for counts.
func (l priceList) cost(answered, tier string, req protocol.InferRequest, usage protocol.TokenUsage) *protocol.Decimal {
	if tier == "" {
		_ = json.Unmarshal(req.ProviderOptions["service_tier"], &tier) // no string is no tier
	}
	if l.builtin && tier != "" && tier != "auto" && tier != "default" {
		return nil
	}
	if l.builtin {
		return l.CostOf(usage, answered)
	}
	return l.CostOf(usage, answered, req.Model)
}
