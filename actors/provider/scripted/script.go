package scripted

import (
	"strings"
	"time"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/protocol"
)

// DefaultModel is the name in answers where neither the request nor the script names a model.
const DefaultModel = "scripted"

// Mode says how a call finds its step.
type Mode string

// The modes. An empty one is ModeMatch if any step has a match, else ModeOrder.
const (
	ModeOrder Mode = "order"
	ModeMatch Mode = "match"
)

// Script is all that a Provider says.
type Script struct {
	Mode   Mode
	Model  string // DefaultModel if empty
	Prices provider.Prices
	Steps  []Step
}

// Step is one answer, or one error.
type Step struct {
	Match     *Match
	Text      string
	ToolCalls []protocol.ToolCall // without an ID one is made up, without an Input it is {}
	Usage     protocol.TokenUsage
	Cost      *protocol.Decimal // by the script's prices if nil
	// StopReason is tool_use where there are calls and end_turn elsewhere if empty.
	StopReason protocol.StopReason
	Delay      time.Duration
	Err        error // in place of the answer if not nil
	// Repeat is how many calls take the step. In order: 1 if 0, all if negative. Matching: all unless positive.
	Repeat int
}

// Match says which calls a step is for. The zero Match fits all.
type Match struct {
	LastUserContains string // in the text of the last message of the user
	HasToolResult    *bool  // since that message
	Turn             int    // of the model since that message, from 1; any if 0
	// Func, if not nil, says of any request whether it fits. It is called one at a time, and must not change the request or
	// call the provider.
	Func func(req protocol.InferRequest) bool
}

func (m *Match) fits(s situation, req protocol.InferRequest) bool {
	return m == nil ||
		strings.Contains(s.lastUser, m.LastUserContains) &&
			(m.HasToolResult == nil || *m.HasToolResult == s.toolResult) &&
			(m.Turn == 0 || m.Turn == s.turn) &&
			(m.Func == nil || m.Func(req))
}

// situation is what matches look at.
type situation struct {
	lastUser   string
	toolResult bool
	turn       int
}

func situationOf(messages []protocol.Message) situation {
	s := situation{turn: 1}
	for _, m := range messages {
		_, _, isTool := m.Role.Tool()
		switch {
		case isTool || hasResult(m):
			s.toolResult = true
		case m.Role == protocol.RoleUser:
			s = situation{lastUser: m.Text(), turn: 1}
		case m.Role == protocol.RoleAssistant:
			s.turn++
		}
	}
	return s
}

func hasResult(m protocol.Message) bool {
	for _, b := range m.Content.Blocks() {
		if _, ok := b.(protocol.ToolResultBlock); ok {
			return true
		}
	}
	return false
}
