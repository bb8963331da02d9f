package engine

import (
	"slices"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

// The sections of a Snapshot.
const (
	SectionSystem  = "system"
	SectionTools   = "tools" // what the model is told of them
	SectionMemory  = "memory"
	SectionSummary = "summary"
	SectionUser    = "user"
	SectionModel   = "assistant"
	SectionResults = "tool_results"
)

// What the sources of messages begin with.
const (
	SourceMemory  = "memory:"  // loaded from a store, with the key
	SourceSummary = "summary:" // made by a compaction, with the strategy
)

// MessageInfo says what a message is, but not what it says.
type MessageInfo struct {
	Role    string               `json:"role"`
	Section string               `json:"section"`
	Tokens  int                  `json:"tokens"`
	Meta    protocol.MessageMeta `json:"meta"`
}

// Omission is something that was left out of the conversation.
type Omission struct {
	Source string `json:"source"`
	Tokens int    `json:"tokens,omitempty"`
	Why    string `json:"why"`
}

// Snapshot is what the model sees now, seen from outside: no contents.
type Snapshot struct {
	protocol.ContextSnapshot

	Messages []MessageInfo `json:"messages"`
	// Sections are tokens by section.
	Sections    map[string]int     `json:"sections"`
	Compactions []CompactionRecord `json:"compactions"`
	Omitted     []Omission         `json:"omitted"`
	Turns       uint32             `json:"turns"`
	ToolCalls   uint32             `json:"tool_calls"`
	Cost        protocol.Decimal   `json:"cost"`
}

// MarshalJSON writes it as one object.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	return protocol.Marshal(struct {
		MessageCount    uint64              `json:"message_count"`
		HasSystem       bool                `json:"has_system"`
		OperatorID      protocol.OperatorID `json:"operator_id"`
		EstimatedTokens uint64              `json:"estimated_tokens"`
		Messages        []MessageInfo       `json:"messages"`
		Sections        map[string]int      `json:"sections"`
		Compactions     []CompactionRecord  `json:"compactions"`
		Omitted         []Omission          `json:"omitted"`
		Turns           uint32              `json:"turns"`
		ToolCalls       uint32              `json:"tool_calls"`
		Cost            protocol.Decimal    `json:"cost"`
	}{
		s.MessageCount, s.HasSystem, s.OperatorID, s.EstimatedTokens, s.Messages, s.Sections, s.Compactions, s.Omitted, s.Turns,
		s.ToolCalls, s.Cost,
	})
}

// Omit records that something was left out.
func (c *Context) Omit(o Omission) { c.left = append(c.left, o) }

// Snapshot describes the context as it is now.
func (c *Context) Snapshot() Snapshot {
	s := Snapshot{
		ContextSnapshot: c.messages.Snapshot(), Sections: map[string]int{}, Compactions: append([]CompactionRecord{}, c.history...),
		Omitted: append([]Omission{}, c.left...), Turns: c.metrics.Turns, ToolCalls: c.metrics.ToolCalls, Cost: c.metrics.Cost,
		Messages: []MessageInfo{},
	}
	for i, m := range c.Messages() {
		info := MessageInfo{Role: m.Role.String(), Section: sectionOf(m, i), Tokens: c.count([]protocol.Message{m}), Meta: m.Meta}
		s.Messages = append(s.Messages, info)
		s.Sections[info.Section] += info.Tokens
	}
	for _, t := range c.Params.Tools {
		s.Sections[SectionTools] += toolTokens(t)
	}
	s.HasSystem = len(c.Messages()) > len(c.Conversation())
	s.EstimatedTokens = uint64(c.Tokens())
	s.MessageMetas = slices.Clip(s.MessageMetas)
	return s
}

func sectionOf(m protocol.Message, index int) string {
	if source := m.Meta.Source; source != nil {
		switch {
		case strings.HasPrefix(*source, SourceMemory):
			return SectionMemory
		case strings.HasPrefix(*source, SourceSummary):
			return SectionSummary
		}
	}
	switch {
	case m.Role == protocol.RoleSystem && index == 0:
		return SectionSystem
	case isResult(m):
		return SectionResults
	case m.Role == protocol.RoleAssistant:
		return SectionModel
	}
	return SectionUser
}
