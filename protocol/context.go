package protocol

import (
	"errors"
	"fmt"
	"slices"
)

// Position says where a message is inserted: Back, Front or At. It is comparable; the zero value is Back.
type Position struct {
	kind  positionKind
	index int
}

type positionKind uint8

const (
	positionBack positionKind = iota
	positionFront
	positionAt
)

// Back is behind the last message.
func Back() Position { return Position{} }

// Front is before the first message.
func Front() Position { return Position{kind: positionFront} }

// At is before the message with that index, counted from 0; the number of messages is the same as Back.
func At(index int) Position { return Position{kind: positionAt, index: index} }

// Index returns the index of a position made by At, and whether it is one.
func (p Position) Index() (int, bool) { return p.index, p.kind == positionAt }

// in returns the index of the position in a list of n messages.
func (p Position) in(n int) (int, error) {
	switch {
	case p.kind == positionBack:
		return n, nil
	case p.kind == positionFront:
		return 0, nil
	case p.index < 0 || p.index > n:
		return 0, &OutOfBoundsError{Index: p.index, Len: n}
	}
	return p.index, nil
}

// RejectedError says that a watcher did not let a change of a context happen.
type RejectedError struct {
	Reason string
	cause  error
}

// Error returns "rejected by watcher: " and the reason.
func (e *RejectedError) Error() string { return "rejected by watcher: " + e.Reason }

// Unwrap returns the error of the watcher.
func (e *RejectedError) Unwrap() error { return e.cause }

// OutOfBoundsError says that a position or a count is beyond the end of a context.
type OutOfBoundsError struct{ Index, Len int }

// Error names the index and the length.
func (e *OutOfBoundsError) Error() string {
	return fmt.Sprintf("index %d is out of bounds (len = %d)", e.Index, e.Len)
}

// ContextWatcher sees every change of an OperatorContext before it happens, and may reject it with an error whose text
// is the reason. Watchers are asked in the order in which they were added; the first one that rejects
// wins and the context stays as it was. They must be quick and must not change the context.
// Embed NopWatcher to write only the methods that matter.
type ContextWatcher interface {
	// OnInject is asked before a message is inserted.
	OnInject(msg Message, pos Position) error
	// OnRemove is asked before count messages, at least one, are removed one by one, outside a compaction.
	OnRemove(count int) error
	// OnPreCompact is asked before a context of count messages is compacted.
	OnPreCompact(count int) error
	// OnPostCompact is told what a compaction did.
	OnPostCompact(removed, remaining int)
}

// NopWatcher is a ContextWatcher that lets everything happen.
type NopWatcher struct{}

// OnInject implements ContextWatcher.
func (NopWatcher) OnInject(Message, Position) error { return nil }

// OnRemove implements ContextWatcher.
func (NopWatcher) OnRemove(int) error { return nil }

// OnPreCompact implements ContextWatcher.
func (NopWatcher) OnPreCompact(int) error { return nil }

// OnPostCompact implements ContextWatcher.
func (NopWatcher) OnPostCompact(int, int) {}

// OperatorContext holds the messages that an operator shows its model. Changes go through its watchers. It is not safe
// for concurrent use.
type OperatorContext struct {
	operator OperatorID
	messages []Message
	watchers []ContextWatcher
}

// NewOperatorContext returns an empty context.
func NewOperatorContext(operator OperatorID, watchers ...ContextWatcher) *OperatorContext {
	return &OperatorContext{operator: operator, watchers: slices.Clone(watchers)}
}

// Watch adds a watcher behind those that are there.
func (c *OperatorContext) Watch(w ContextWatcher) { c.watchers = append(c.watchers, w) }

// Operator returns whose context it is.
func (c *OperatorContext) Operator() OperatorID { return c.operator }

// Len returns the number of messages.
func (c *OperatorContext) Len() int { return len(c.messages) }

// Messages returns the messages in order, in a slice of the caller's own.
func (c *OperatorContext) Messages() []Message { return slices.Clone(c.messages) }

// Shared returns the messages in order. They must not be changed, and are good only until the context is.
func (c *OperatorContext) Shared() []Message { return slices.Clip(c.messages) }

// Replace puts a message in the place of another. Watchers are asked as for an insertion at its index.
func (c *OperatorContext) Replace(index int, msg Message) error {
	if index < 0 || index >= len(c.messages) {
		return &OutOfBoundsError{Index: index, Len: len(c.messages)}
	}
	if err := c.ask(func(w ContextWatcher) error { return w.OnInject(msg, At(index)) }); err != nil {
		return err
	}
	c.messages[index] = msg
	return nil
}

// EstimatedTokens returns the sum over the messages.
func (c *OperatorContext) EstimatedTokens() int {
	n := 0
	for _, m := range c.messages {
		n += m.EstimatedTokens()
	}
	return n
}

// Push adds a message at the back. The error is a *RejectedError.
func (c *OperatorContext) Push(msg Message) error { return c.Insert(msg, Back()) }

// Insert adds a message. The error is an *OutOfBoundsError, before any watcher is asked, or a *RejectedError.
func (c *OperatorContext) Insert(msg Message, pos Position) error {
	i, err := pos.in(len(c.messages))
	if err != nil {
		return err
	}
	if err := c.ask(func(w ContextWatcher) error { return w.OnInject(msg, pos) }); err != nil {
		return err
	}
	c.messages = slices.Insert(c.messages, i, msg)
	return nil
}

// Transform lets f change every message in place and counts up its version. Watchers are not asked.
func (c *OperatorContext) Transform(f func(msg *Message)) {
	for i := range c.messages {
		m := &c.messages[i]
		version := m.Meta.Version
		f(m)
		m.Meta.Version = version + 1
	}
}

// ask returns the first rejection.
func (c *OperatorContext) ask(question func(ContextWatcher) error) error {
	for _, w := range c.watchers {
		if err := question(w); err != nil {
			var already *RejectedError
			if errors.As(err, &already) {
				return already
			}
			return &RejectedError{Reason: err.Error(), cause: err}
		}
	}
	return nil
}

// ContextSnapshot describes a context without its contents.
type ContextSnapshot struct {
	MessageCount    uint64        `json:"message_count" wire:"required"`
	MessageMetas    []MessageMeta `json:"message_metas" wire:"required"`
	HasSystem       bool          `json:"has_system" wire:"required"`
	OperatorID      OperatorID    `json:"operator_id" wire:"required"`
	EstimatedTokens uint64        `json:"estimated_tokens" wire:"required"`
}

// MarshalJSON writes an empty list as [].
func (s ContextSnapshot) MarshalJSON() ([]byte, error) {
	type plain ContextSnapshot
	s.MessageMetas = orEmpty(s.MessageMetas)
	return Marshal(plain(s))
}

// Snapshot describes the context as it is now.
func (c *OperatorContext) Snapshot() ContextSnapshot {
	s := ContextSnapshot{
		MessageCount:    uint64(len(c.messages)),
		MessageMetas:    make([]MessageMeta, 0, len(c.messages)),
		OperatorID:      c.operator,
		EstimatedTokens: uint64(c.EstimatedTokens()),
	}
	for _, m := range c.messages {
		s.MessageMetas = append(s.MessageMetas, m.Meta)
		s.HasSystem = s.HasSystem || m.Role == RoleSystem
	}
	return s
}
