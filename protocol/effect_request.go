package protocol

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"
)

// maxEffects bounds the effects of one message, so that the ledger's records, which tell of each, stay small.
const maxEffects = 64

// EffectRequests groups the effects of one commit into messages: one a family, or as many as it takes with at most 64
// effects each, in the order in which the families first appear but memory before all others. head says whose they are;
// next gives the number of the next message of a family. A custom effect with the name of a built-in kind is invalid.
func EffectRequests(head EffectRequest, effects Effects, next func(family string) uint64) ([]EffectRequest, error) {
	var requests []EffectRequest
	index := map[string]int{}
	for i, e := range effects {
		family := FamilyOf(e)
		if c, ok := e.(CustomEffect); ok && (ReservedFamily(c.EffectType) || !utf8.ValidString(family)) {
			return nil, NewError(CodeInvalidInput,
				fmt.Sprintf("effects[%d]: effect_type %q is the name of a built-in kind, or not UTF-8", i, c.EffectType))
		}
		n, ok := index[family]
		if !ok || len(requests[n].Effects) == maxEffects {
			n = len(requests)
			index[family] = n
			r := head
			r.Kind, r.M = family, next(family)
			requests = append(requests, r)
		}
		r := &requests[n]
		r.Effects = append(r.Effects, RequestedEffect{
			EffectID: EffectID(r.Operator, r.Instance, family, r.M, len(r.Effects)+1),
			Effect:   AnyEffect{Effect: e},
		})
	}
	slices.SortStableFunc(requests, func(a, b EffectRequest) int {
		return cmp.Compare(rank(a.Kind), rank(b.Kind))
	})
	return requests, nil
}

func rank(family string) int {
	if family == FamilyMemory {
		return 0
	}
	return 1
}
