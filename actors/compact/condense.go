package compact

import (
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
)

// defaultKeepLast is how many messages stay as they are behind what a model makes of the others.
const defaultKeepLast = 4

// condensing is how a conversation is split where one message takes the place of many.
type condensing struct {
	kept []bool
	// gone is what the message stands for from now on, without an earlier one of its kind.
	gone []protocol.Message
	// old is that earlier one, nil if there is none.
	old *protocol.Message
	// leads says that the message comes before all that the user says.
	leads bool
}

// condense keeps the pinned messages, the last ones, and what the user said first unless that is most of it all: it is the task, and
// the conversation has to begin with the user. Earlier messages from source go.
func condense(c *engine.Context, all []protocol.Message, source string, last int) condensing {
	list := units(c, all)
	keep := make([]bool, len(list))
	ours := make([]bool, len(list))
	for i, u := range list {
		m := all[u.start]
		ours[i] = m.Meta.Source != nil && *m.Meta.Source == source
		keep[i] = u.policy == protocol.PolicyPinned || ours[i] // those of ours do not count among the last
	}
	keepLast(list, keep, last)
	keepTask(c, all, list, keep, ours)
	for i := range keep {
		keep[i] = keep[i] && !ours[i]
	}
	s := condensing{kept: spread(list, keep)}
	for i, u := range list {
		switch {
		case ours[i]:
			s.old = &all[u.start]
		case !keep[i]:
			s.gone = append(s.gone, all[u.start:u.end]...)
		}
	}
	s.leads = leads(all, s.kept)
	return s
}

// keepTask keeps what comes up to the first words of the user.
func keepTask(c *engine.Context, all []protocol.Message, list []unit, keep, ours []bool) {
	total, most := 0, c.Count(all...)/2
	for i, u := range list {
		if ours[i] {
			continue
		}
		if total += u.tokens; total > most {
			return
		}
		if m := all[u.start]; speaks(m) {
			for j := range i + 1 {
				keep[j] = true
			}
			return
		} else if m.Role != protocol.RoleSystem {
			return
		}
	}
}

// leads reports whether nothing of the user stays before the first message that goes.
func leads(all []protocol.Message, kept []bool) bool {
	for i, m := range all {
		if !kept[i] {
			return true
		}
		if speaks(m) {
			return false
		}
	}
	return false
}

// message is what takes the place of the others.
func (s condensing) message(text, source string) *protocol.Message {
	m := protocol.PinnedMessage(protocol.RoleAssistant, protocol.TextContent(text))
	if s.leads { // a conversation cannot begin with the model
		m.Role = protocol.RoleUser
	}
	m.Meta.Source = &source
	if s.old != nil {
		m.Meta.Version = s.old.Meta.Version + 1
	}
	return &m
}
