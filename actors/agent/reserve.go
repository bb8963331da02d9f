package agent

import (
	"github.com/shopspring/decimal"

	"github.com/skelegent/skelegent-go/actors/budget"
	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/protocol"
)

// minAnswer is how many tokens an answer must be able to have for it to be worth asking.
const minAnswer = 64

// reserve makes sure that the money for a model call is there. Where the price is known, it is the most that the call can cost; if
// that is more than what is left, the answer is made shorter. Where it is not, the call is made as long as anything is left.
// What a request takes is an estimate, unless Config.Count is exact.
func (r *run) reserve(req *protocol.InferRequest) (*budget.Reservation, *stop) {
	r.squeezed = false
	if r.spent(false, false) { // by what a rule asked since the turn began
		return nil, exit(protocol.ExitBudgetExhausted)
	}
	available := r.left()
	if available != nil && !r.cfg.priced(req.Model) { // a rule's choice
		return nil, r.giveUp(r.log, noPrice(req.Model), protocol.Exit(protocol.ExitBudgetExhausted))
	}
	most := protocol.Decimal{}
	if available != nil {
		var ok bool
		if most, ok = r.bound(req, available.Decimal); !ok {
			return nil, exit(protocol.ExitBudgetExhausted)
		}
	}
	if r.account == nil {
		return nil, nil //nolint:nilnil // of no account
	}
	reserved, err := r.account.Reserve(most)
	if err != nil {
		return nil, exit(protocol.ExitBudgetExhausted)
	}
	return reserved, nil
}

// bound returns the most that a call can cost, 0 if nobody knows, and false if it is more than what is available.
func (r *run) bound(req *protocol.InferRequest, available decimal.Decimal) (protocol.Decimal, bool) {
	quoter, ok := r.cfg.Provider.(provider.Quoter)
	if !ok {
		return protocol.Decimal{}, true
	}
	price, ok := quoter.Quote(req.Model)
	if !ok {
		return protocol.Decimal{}, true
	}
	if req.MaxTokens == nil { // else nobody could say what it costs at most
		req.MaxTokens = &r.cfg.MaxTokens
	}
	in := uint64(r.c.TokensOf(*req))
	most := price.Bound(in, uint64(*req.MaxTokens))
	if most.LessThanOrEqual(available) {
		return most, true
	}
	rest := available.Sub(price.Bound(in, 0).Decimal)
	perToken := price.Bound(0, 1)
	if !perToken.IsPositive() {
		return most, false
	}
	affordable := rest.Div(perToken.Decimal).Floor()
	if affordable.LessThan(decimal.NewFromUint64(uint64(min(minAnswer, *req.MaxTokens)))) {
		return most, false
	}
	tokens := uint32(affordable.IntPart())
	req.MaxTokens, r.squeezed = &tokens, true
	return price.Bound(in, uint64(tokens)), true
}
