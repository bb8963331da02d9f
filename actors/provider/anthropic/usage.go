package anthropic

import (
	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
	"github.com/skelegent/skelegent-go/protocol"
)

// usage is how the server counts. Its numbers do not overlap: input tokens are those that the cache has nothing to do with.
type usage struct {
	Input         *int64 `json:"input_tokens"`
	CacheRead     *int64 `json:"cache_read_input_tokens"`
	CacheCreation *int64 `json:"cache_creation_input_tokens"`
	Output        *int64 `json:"output_tokens"`
	// Creation is a part of CacheCreation.
	Creation struct {
		OneHour *int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	// Details is a part of Output.
	Details struct {
		Thinking *int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	ServiceTier  string `json:"service_tier"`
	InferenceGeo string `json:"inference_geo"`
}

// update takes later counts, which are cumulative but may leave out, or send as 0, what was told before.
func (u *usage) update(later usage) {
	for _, n := range []struct{ old, later **int64 }{
		{&u.Input, &later.Input},
		{&u.CacheRead, &later.CacheRead},
		{&u.CacheCreation, &later.CacheCreation},
		{&u.Output, &later.Output},
		{&u.Creation.OneHour, &later.Creation.OneHour},
		{&u.Details.Thinking, &later.Details.Thinking},
	} {
		if natural(*n.later) > natural(*n.old) || *n.old == nil {
			*n.old = *n.later
		}
	}
	if later.ServiceTier != "" {
		u.ServiceTier = later.ServiceTier
	}
	if later.InferenceGeo != "" {
		u.InferenceGeo = later.InferenceGeo
	}
}

// isZero reports whether nothing was counted, as servers tell that do not count.
func (u *usage) isZero() bool {
	t := u.tokens()
	return t.InputTokens == 0 && t.OutputTokens == 0
}

// tokens is the usage in our terms, where tokens of the cache are input tokens too.
func (u *usage) tokens() protocol.TokenUsage {
	return protocol.TokenUsage{
		InputTokens:         natural(u.Input) + natural(u.CacheRead) + natural(u.CacheCreation),
		OutputTokens:        natural(u.Output),
		CacheReadTokens:     told(u.CacheRead),
		CacheCreationTokens: told(u.CacheCreation),
		ReasoningTokens:     told(u.Details.Thinking),
	}
}

func natural(n *int64) uint64 {
	if n == nil {
		return 0
	}
	return exchange.Count(*n)
}

func told(n *int64) *uint64 {
	if n == nil {
		return nil
	}
	count := natural(n)
	return &count
}

// otherTerms reports whether the call is billed other than by the list prices.
func (u *usage) otherTerms() bool {
	standard := u.ServiceTier == "" || u.ServiceTier == "standard"
	everywhere := u.InferenceGeo == "" || u.InferenceGeo == "global" || u.InferenceGeo == "not_available"
	return !standard || !everywhere || natural(u.Creation.OneHour) > 0
}
