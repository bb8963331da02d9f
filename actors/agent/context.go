package agent

import (
	"slices"

	"github.com/skelegent/skelegent-go/protocol"
)

// Context is what one run knows: the conversation, what was spent, and the effects that were declared. It is not safe for
// concurrent use.
type Context struct {
	system   string // not among the messages
	messages []protocol.Message
	effects  protocol.Effects
	metrics  Metrics
	lastText string
}

// Metrics say what a run took so far.
type Metrics struct {
	TokensIn, TokensOut uint64
	Cost                protocol.Decimal // USD, of model calls and of what tools spent
	Turns               uint32           // model calls that were answered
	ToolCalls           uint32           // calls that were begun
	UnpricedCalls       uint32           // model calls, here and below, that are not in Cost
	SubDispatches       []protocol.SubDispatchRecord
}

// SharedMessages returns the conversation in order. It must not be changed; later messages do not appear in it.
func (c *Context) SharedMessages() []protocol.Message { return slices.Clip(c.messages) }

// SharedEffects returns what was declared, in order, under the same rules.
func (c *Context) SharedEffects() protocol.Effects { return slices.Clip(c.effects) }

// Append adds messages.
func (c *Context) Append(messages ...protocol.Message) { c.messages = append(c.messages, messages...) }

// AppendResponse adds a model's answer and counts it as a turn.
func (c *Context) AppendResponse(resp protocol.InferResponse) {
	msg := resp.ToMessage()
	if text, ok := msg.Content.AsText(); ok && text != "" {
		c.lastText = msg.Text()
	}
	c.Append(msg)
	c.metrics.Turns++
	c.metrics.TokensIn += resp.Usage.InputTokens
	c.metrics.TokensOut += resp.Usage.OutputTokens
	if resp.Cost == nil {
		c.metrics.UnpricedCalls++
	}
	c.spend(resp.Cost)
}

// AppendToolResult adds the answer to a call and records the call.
func (c *Context) AppendToolResult(call protocol.ToolCall, text string, record protocol.SubDispatchRecord) {
	c.Append(protocol.ToolResultMessage(call.ID, call.Name, text, !record.Success))
	c.metrics.ToolCalls++
	c.metrics.SubDispatches = append(c.metrics.SubDispatches, record)
}

// Declare adds effects.
func (c *Context) Declare(effects ...protocol.Effect) { c.effects = append(c.effects, effects...) }

func (c *Context) spend(cost *protocol.Decimal) {
	if cost != nil {
		c.metrics.Cost = protocol.Decimal{Decimal: c.metrics.Cost.Add(cost.Decimal)}
	}
}
