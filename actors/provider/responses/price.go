package responses

import (
	"encoding/json"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/openai"
	"github.com/skelegent/skelegent-go/protocol"
)

// priceList is the prices of a provider.
type priceList struct {
	provider.Prices
	listed bool // they are those of the standard tier alone
}

func newPriceList(own provider.Prices) priceList {
	if own != nil {
		return priceList{Prices: own}
	}
	return priceList{Prices: openai.ListPrices(), listed: true}
}

// cost prices a call by the model that answered; where the prices are the user's, who may have named what is asked for, else
// by that. The tier is what the server says
// that it used, empty if it does not; then the one that was asked for counts.
func (l priceList) cost(answered, tier string, req protocol.InferRequest, usage protocol.TokenUsage) *protocol.Decimal {
	if tier == "" {
		_ = json.Unmarshal(req.ProviderOptions["service_tier"], &tier) // no string is no tier
	}
	if l.listed && tier != "" && tier != "auto" && tier != "default" {
		return nil
	}
	if l.listed {
		return l.CostOf(usage, answered)
	}
	return l.CostOf(usage, answered, req.Model)
}
