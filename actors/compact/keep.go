package compact

import (
	"context"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
)

// unit is messages that can only stay or go together; see engine.Units.
type unit struct {
	start, end int // in the conversation
	policy     protocol.CompactionPolicy
	tokens     int
}

func (u unit) size() int { return u.end - u.start }

// ranks says what goes first.
var ranks = map[protocol.CompactionPolicy]int{
	protocol.PolicyDiscardWhenDone: 0, protocol.PolicyCompressFirst: 1, protocol.PolicyNormal: 2, protocol.PolicyPinned: 3,
}

// units returns the units of a conversation. One is treated as that of its messages that is to stay longest.
func units(c *engine.Context, all []protocol.Message) []unit {
	bounds := engine.Units(all)
	list := make([]unit, 0, len(bounds)-1)
	for n, start := range bounds[:len(bounds)-1] {
		u := unit{start: start, end: bounds[n+1], policy: protocol.PolicyDiscardWhenDone}
		for _, m := range all[u.start:u.end] {
			policy := m.Meta.Policy
			if policy == "" {
				policy = protocol.PolicyNormal
			}
			if ranks[policy] > ranks[u.policy] {
				u.policy = policy
			}
		}
		u.tokens = c.Count(all[u.start:u.end]...)
		list = append(list, u)
	}
	return list
}

// chooser is a strategy that chooses among units by what can be seen of them.
type chooser struct {
	name string
	// choose sets keep of the units that stay. Those that are set have to: the pinned ones, and what the conversation begins with.
	choose func(c *engine.Context, all []protocol.Message, list []unit, keep []bool)
}

// Name implements engine.Strategy.
func (s *chooser) Name() string { return s.name }

// Cut implements engine.Strategy.
func (s *chooser) Cut(_ context.Context, c *engine.Context, all []protocol.Message) (engine.Cut, error) {
	list := units(c, all)
	must := make([]bool, len(list))
	for i, u := range list {
		must[i] = u.policy == protocol.PolicyPinned
	}
	for {
		keep := append([]bool{}, must...)
		s.choose(c, all, list, keep)
		kept := spread(list, keep)
		first := opening(all, kept)
		if first < 0 {
			return cut(kept), nil
		}
		must[unitOf(list, first)] = true // one more each time, so this ends
	}
}

// spread says of each message whether it stays.
func spread(list []unit, keep []bool) []bool {
	var kept []bool
	for i, u := range list {
		for range u.size() {
			kept = append(kept, keep[i])
		}
	}
	return kept
}

// cut is one without effect where all stays.
func cut(kept []bool) engine.Cut {
	for _, k := range kept {
		if !k {
			return engine.Cut{Keep: kept}
		}
	}
	return engine.Cut{}
}

func unitOf(list []unit, message int) int {
	for i, u := range list {
		if message < u.end {
			return i
		}
	}
	return len(list) - 1
}

// opening returns the message that has to stay, too, so that the conversation does not begin with the model or is empty: the last
// one of the user before. It returns -1 if none has to, or there is none.
func opening(all []protocol.Message, kept []bool) int {
	last := -1
	for i, m := range all {
		switch {
		case kept[i] && m.Role == protocol.RoleSystem:
		case kept[i] && speaks(m):
			return -1
		case kept[i]:
			return last
		case speaks(m):
			last = i
		}
	}
	return last
}

// speaks reports whether a message is the user's own words.
func speaks(m protocol.Message) bool {
	if m.Role != protocol.RoleUser {
		return false
	}
	for _, b := range m.Content.Blocks() {
		if _, result := b.(protocol.ToolResultBlock); result {
			return false
		}
	}
	return true
}
