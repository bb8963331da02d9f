package engine

import (
	"context"

	"github.com/skelegent/skelegent-go/protocol"
)

// Ask has a person decide on the call, also where its tool needs no approval. Of several reasons the first is told. It is for
// rules before the call.
func (o *ToolCall) Ask(reason protocol.ApprovalReason) {
	if o.asked == nil {
		o.asked = &reason
	}
}

// Waive has the call made without a person, also where its tool needs approval. Ask counts more. It is for rules before the call,
// and for those alone that may overrule what the agent's tools say.
func (o *ToolCall) Waive() { o.waived = true }

// Approval returns the reason of Ask and whether a rule has asked, and whether one waived the approval that the tool needs.
func (o *ToolCall) Approval() (reason protocol.ApprovalReason, asked, waived bool) {
	if o.asked != nil {
		return *o.asked, true, false
	}
	return reason, false, o.waived
}

// With has the tool called with what change makes of the call's context, by tool.Provide for instance: so a rule gives a tool what
// belongs to the run. What change adds is read while other calls may run.
func (o *ToolCall) With(change func(ctx context.Context) context.Context) {
	inner := o.change
	o.change = func(ctx context.Context) context.Context {
		if inner != nil {
			ctx = inner(ctx)
		}
		return change(ctx)
	}
}

// Context returns the context for the call: ctx as the rules want it.
func (o *ToolCall) Context(ctx context.Context) context.Context {
	if o.change == nil {
		return ctx
	}
	return o.change(ctx)
}

// SetPolicy says what a compaction may do with the messages for which match is true, the system prompt aside. The error is a
// watcher's.
func (c *Context) SetPolicy(policy protocol.CompactionPolicy, match func(protocol.Message) bool) error {
	all := c.Messages()
	front := len(all) - len(c.Conversation())
	for i := front; i < len(all); i++ {
		m := all[i]
		if m.Meta.Policy == policy || !match(m) {
			continue
		}
		m.Meta.Policy = policy
		m.Meta.Version++
		c.edits++
		if err := c.messages.Replace(i, m); err != nil {
			return err
		}
		all = c.Messages()
	}
	return nil
}
