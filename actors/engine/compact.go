package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/skelegent/skelegent-go/protocol"
)

// Cut is what a compaction strategy decides.
type Cut struct {
	// Keep says of each message of the conversation whether it stays. Pinned ones stay whatever it says, but for those with the
	// source of the summary: it may take the place of earlier ones. Of calls and their results all stay if one does.
	Keep []bool
	// Summary takes the place of the first message that goes; nil for none.
	Summary *protocol.Message
}

// Strategy decides what goes when a conversation grows too long.
type Strategy interface {
	// Name is for records and events.
	Name() string
	// Cut looks at the conversation, without the system prompt. It may ask a model by Context.Ask. On an error the
	// conversation stays as it is. No cut, the zero value, means that there is nothing to do.
	Cut(ctx context.Context, c *Context, conversation []protocol.Message) (Cut, error)
}

// Compaction is the op that makes room. Between calls and their results it does nothing.
type Compaction struct {
	Strategy Strategy
	// Why is for the record.
	Why string
	// Flush saves what must survive, before; if it fails, nothing is compacted and the op fails.
	Flush Op
}

// Name implements Op.
func (*Compaction) Name() string { return OpCompact }

// CompactionRecord is what Snapshot tells of a compaction.
type CompactionRecord struct {
	Strategy       string `json:"strategy"`
	Why            string `json:"why,omitempty"`
	Turn           uint32 `json:"turn"` // model calls that were answered before
	MessagesBefore int    `json:"messages_before"`
	MessagesAfter  int    `json:"messages_after"`
	TokensBefore   int    `json:"tokens_before"`
	TokensAfter    int    `json:"tokens_after"`
	Summarized     bool   `json:"summarized,omitempty"`
}

// Run implements Op. The error is the strategy's or the flush's. A watcher's objection is no error: then nothing is done.
func (o *Compaction) Run(ctx context.Context, c *Context) error {
	skip := func(reason string) {
		c.emitCompaction(protocol.CompactionSkipped{Operator: c.Operator(), Reason: reason})
	}
	fail := func(err error) error {
		c.emitCompaction(protocol.CompactionFailed{Operator: c.Operator(), Strategy: o.Strategy.Name(), Error: protocol.AsError(err).Message})
		return err
	}
	if c.open {
		skip("results of calls are to come")
		return nil
	}
	all, edits := c.Conversation(), c.edits
	front := len(c.Messages()) - len(all)
	cut, err := o.Strategy.Cut(ctx, c, all)
	if err != nil {
		return fail(err)
	}
	kept, lost := cut.apply(all)
	if lost == 0 && cut.Summary == nil {
		return nil
	}
	if o.Flush != nil {
		if err := c.Run(ctx, o.Flush); err != nil {
			return fail(err)
		}
	}
	if c.edits != edits {
		return fail(protocol.NewError(protocol.CodeInternal, "the conversation was changed while it was compacted"))
	}
	r := CompactionRecord{
		Strategy: o.Strategy.Name(), Why: o.Why, Turn: c.metrics.Turns, Summarized: cut.Summary != nil,
		MessagesBefore: len(all), TokensBefore: c.count(all), MessagesAfter: len(kept), TokensAfter: c.count(kept),
	}
	c.edits++
	if _, err := c.messages.CompactWith(func(now []protocol.Message) []protocol.Message {
		added := now[front+len(all):] // meanwhile
		return slices.Concat(now[:front], kept, added)
	}); err != nil {
		var rejected *protocol.RejectedError
		if errors.As(err, &rejected) {
			skip(rejected.Reason)
			return nil
		}
		return fail(err)
	}
	c.history = append(c.history, r)
	c.emitCompaction(protocol.CompactionComplete{
		Operator: c.Operator(), Strategy: r.Strategy, TokensFreed: uint64(max(0, r.TokensBefore-r.TokensAfter)),
	})
	c.emitCompaction(protocol.CompactionQuality{
		Operator: c.Operator(), TokensBefore: uint64(r.TokensBefore), TokensAfter: uint64(r.TokensAfter),
		ItemsPreserved: uint32(len(all) - lost), ItemsLost: uint32(lost),
	})
	return nil
}

// apply returns what stays, with the summary in its place, and how many messages go.
func (k Cut) apply(all []protocol.Message) (kept []protocol.Message, lost int) {
	if k.Keep == nil {
		return all, 0
	}
	keep := make([]bool, len(all))
	copy(keep, k.Keep)
	units := Units(all)
	for n, start := range units[:len(units)-1] {
		stays := false
		for i := start; i < units[n+1]; i++ {
			stays = stays || keep[i] || all[i].Pinned() && !k.supersedes(all[i])
		}
		for i := start; i < units[n+1]; i++ {
			keep[i] = stays
		}
	}
	summary := k.Summary
	for i, m := range all {
		if keep[i] {
			kept = append(kept, m)
			continue
		}
		lost++
		if summary != nil {
			kept, summary = append(kept, *summary), nil
		}
	}
	if lost == 0 {
		return all, 0
	}
	return kept, lost
}

// supersedes reports whether m is an earlier summary from where this one is.
func (k Cut) supersedes(m protocol.Message) bool {
	return k.Summary != nil && k.Summary.Meta.Source != nil && m.Meta.Source != nil && *m.Meta.Source == *k.Summary.Meta.Source
}

// CompactIf compacts where holds is true, and reports whether it did not fail and held.
func (c *Context) CompactIf(ctx context.Context, holds func(*Context) bool, s Strategy) (bool, error) {
	if !holds(c) {
		return false, nil
	}
	err := c.Run(ctx, &Compaction{Strategy: s, Why: "on condition"})
	return err == nil, err
}

// Tokens is how many tokens the conversation takes, the system prompt and the tools included.
func (c *Context) Tokens() int { return c.count(c.Messages()) + allToolTokens(c.Params.Tools) }

// TokensOf is how many tokens a request takes, without its answer.
func (c *Context) TokensOf(req protocol.InferRequest) int {
	n := c.count(req.Messages) + allToolTokens(req.Tools)
	if req.System != "" {
		n += c.count([]protocol.Message{protocol.NewMessage(protocol.RoleSystem, protocol.TextContent(req.System))})
	}
	return n
}

// Count is how many tokens messages take, without what stands around a request.
func (c *Context) Count(messages ...protocol.Message) int { return c.count(messages) }

func (c *Context) count(messages []protocol.Message) int {
	if c.cfg.Count != nil {
		return c.cfg.Count(messages)
	}
	n := 0
	for _, m := range messages {
		n += m.EstimatedTokens()
	}
	return n
}

// bytesPerToken is what estimates count with where there is no tokenizer.
const bytesPerToken = 4

func allToolTokens(tools []protocol.ToolSchema) (n int) {
	for _, t := range tools {
		n += toolTokens(t)
	}
	return n
}

func toolTokens(t protocol.ToolSchema) int {
	return (len(t.Name) + len(t.Description) + len(t.InputSchema)) / bytesPerToken
}
