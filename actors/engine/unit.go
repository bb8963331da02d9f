package engine

import (
	"github.com/skelegent/skelegent-go/protocol"
)

// Units splits a conversation into what can only stay or go together: an answer with calls and the results of these, else each
// message by itself. A unit is the indices from its first message up to the next unit's; the last element is len(messages).
func Units(messages []protocol.Message) []int {
	starts := make([]int, 0, len(messages)+1)
	waiting := map[string]bool{} // calls of the open unit
	for i, m := range messages {
		if !answers(m, waiting) {
			starts = append(starts, i)
			waiting = callsOf(m)
		}
	}
	return append(starts, len(messages))
}

// answers reports whether m is the result of one of the calls.
func answers(m protocol.Message, calls map[string]bool) bool {
	if len(calls) == 0 {
		return false
	}
	for _, b := range m.Content.Blocks() {
		if r, ok := b.(protocol.ToolResultBlock); ok && calls[r.ToolUseID] {
			return true
		}
	}
	return false
}

func callsOf(m protocol.Message) map[string]bool {
	var ids map[string]bool
	for _, b := range m.Content.Blocks() {
		if u, ok := b.(protocol.ToolUseBlock); ok {
			if ids == nil {
				ids = map[string]bool{}
			}
			ids[u.ID] = true
		}
	}
	return ids
}

// isResult reports whether m holds results of calls.
func isResult(m protocol.Message) bool {
	if _, _, tool := m.Role.Tool(); tool {
		return true
	}
	for _, b := range m.Content.Blocks() {
		if _, ok := b.(protocol.ToolResultBlock); ok {
			return true
		}
	}
	return false
}
