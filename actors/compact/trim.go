package compact

import (
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
)

// PolicyTrim drops messages until no more than target are left, the oldest first: those marked discard_when_done, then those marked
// compress_first, then the others, never the pinned ones. The last one stays unless target is 0. It may go below target where calls
// go with their results, and stay above.
func PolicyTrim(target int) engine.Strategy {
	return &chooser{"policy_trim", func(_ *engine.Context, all []protocol.Message, list []unit, keep []bool) {
		if target > 0 {
			keepEnd(keep)
		}
		dropUntil(list, keep, len(all)-max(target, 0), unit.size)
	}}
}

// TokenBudget drops messages in the order of PolicyTrim until the model is shown no more than that many tokens, its tools and the
// system prompt included. The last one stays.
func TokenBudget(tokens int) engine.Strategy {
	return &chooser{"token_budget", func(c *engine.Context, _ []protocol.Message, list []unit, keep []bool) {
		keepEnd(keep)
		dropUntil(list, keep, c.Tokens()-tokens, func(u unit) int { return u.tokens })
	}}
}

// dropUntil drops units that are not to be kept, until what they weigh together is at least excess, and sets keep of all others.
func dropUntil(list []unit, keep []bool, excess int, weight func(unit) int) {
	goes := make([]bool, len(list))
	for _, policy := range []protocol.CompactionPolicy{
		protocol.PolicyDiscardWhenDone, protocol.PolicyCompressFirst, protocol.PolicyNormal,
	} {
		for i, u := range list {
			if excess > 0 && !keep[i] && u.policy == policy {
				goes[i] = true
				excess -= weight(u)
			}
		}
	}
	for i := range keep {
		keep[i] = !goes[i]
	}
}
