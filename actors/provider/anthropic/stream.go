package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
	"github.com/skelegent/skelegent-go/protocol"
)

// event is an event of the stream. What a field holds depends on the type.
type event struct {
	Type         string          `json:"type"`
	Index        int             `json:"index"`
	Message      *message        `json:"message"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        json.RawMessage `json:"delta"`
	Usage        *usage          `json:"usage"`
}

// delta is a piece of a block, or what ends the message.
type delta struct {
	Type       string `json:"type"`
	Text       string `json:"text"`
	Thinking   string `json:"thinking"`
	Signature  string `json:"signature"`
	JSON       string `json:"partial_json"`
	StopReason string `json:"stop_reason"`
}

// collector puts the pieces of a stream together and passes them on.
type collector struct {
	answer
	ex      *exchange.Exchange
	sink    func(protocol.StreamEvent)
	byIndex map[int]*block
	events  int
	begun   bool // message_start was seen
	over    bool // message_stop was seen
}

// collect reads the stream to its end. Its error is an *Error.
func collect(
	ctx context.Context, body io.Reader, ex *exchange.Exchange, sink func(protocol.StreamEvent),
) (*answer, error) {
	c := &collector{ex: ex, sink: sink, byIndex: map[int]*block{}}
	events := exchange.NewEvents(body, 0)
	for !c.over {
		ev, err := events.Next()
		if errors.Is(err, io.EOF) {
			return nil, c.cut()
		}
		if err != nil {
			return nil, ex.Failure(ctx, err)
		}
		if err := c.add(ev); err != nil {
			return nil, err
		}
	}
	if c.stop == "" {
		return nil, protocol.ErrInvalidResponse("it has no stop reason")
	}
	ex.Drain()
	return &c.answer, nil
}

// cut says what is wrong with a stream that is over without a message_stop.
func (c *collector) cut() error {
	switch {
	case c.events > 0:
		return protocol.ErrProviderTransient("the stream ended before the message did", 0)
	case !c.ex.Report().Empty(): // no stream at all
		return c.ex.Reported(c.ex.Report())
	}
	return protocol.ErrInvalidResponse("an empty stream")
}

// add takes one event. Those that we do not know are left out, as is ping.
func (c *collector) add(ev exchange.Event) error {
	c.events++
	var e event
	err := exchange.Unmarshal(ev.Data, &e)
	if ev.Name == "error" || e.Type == "error" {
		return c.ex.Reported(readReport(ev.Data))
	}
	var mistyped *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &mistyped) {
		return errEvent()
	}
	switch e.Type {
	case "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop":
	case "":
		return errEvent()
	default:
		return nil
	}
	if err != nil {
		return errEvent()
	}
	return c.take(e)
}

func errEvent() *protocol.Error {
	return protocol.ErrInvalidResponse("an event of the stream is not a piece of a message")
}

// take applies an event that we know.
func (c *collector) take(e event) error {
	if !c.begun && e.Type != "message_start" {
		return protocol.ErrInvalidResponse("a stream that does not begin with the message")
	}
	switch e.Type {
	case "message_start":
		return c.start(e.Message)
	case "content_block_start":
		return c.startBlock(e)
	case "content_block_delta":
		return c.grow(e)
	case "content_block_stop":
		c.stopCall(c.byIndex[e.Index])
		delete(c.byIndex, e.Index)
	case "message_delta":
		return c.end(e)
	case "message_stop":
		for _, b := range c.blocks { // those that were not stopped
			c.stopCall(b)
		}
		c.over = true
	}
	return nil
}

func (c *collector) start(m *message) error {
	if m == nil || c.begun {
		return errEvent()
	}
	c.begun, c.model = true, m.Model
	if m.Usage != nil {
		c.usage = *m.Usage
	}
	return nil
}

func (c *collector) startBlock(e event) error {
	if c.byIndex[e.Index] != nil {
		return protocol.ErrInvalidResponse("a block that begins twice")
	}
	b, err := c.begin(e.ContentBlock)
	if err != nil {
		return err
	}
	// Pieces of two texts in turn could not be put together in the order in which they are passed on.
	maps.DeleteFunc(c.byIndex, func(_ int, o *block) bool { return o.kind == b.kind && b.kind != kindToolUse })
	c.byIndex[e.Index] = b
	switch text := b.text.String(); {
	case b.kind == kindToolUse:
		c.sink(protocol.ToolCallStart{Index: b.call, ID: b.id, Name: b.name})
	case text == "":
	case b.kind == kindText:
		c.sink(protocol.TextDelta{Text: text})
	default:
		c.sink(protocol.ThinkingDelta{Thinking: text})
	}
	return nil
}

// grow adds a piece to its block. Pieces of an unknown type are left out.
func (c *collector) grow(e event) error {
	b := c.byIndex[e.Index]
	if b == nil {
		return protocol.ErrInvalidResponse("a piece of a block that has not begun or is over")
	}
	var d delta
	err := json.Unmarshal(e.Delta, &d)
	switch d.Type {
	case "text_delta":
		d = delta{Type: kindText, Text: d.Text}
	case "thinking_delta":
		d = delta{Type: kindThinking, Thinking: d.Thinking}
	case "signature_delta":
		d = delta{Type: kindThinking, Signature: d.Signature}
	case "input_json_delta":
		d = delta{Type: b.kind, JSON: d.JSON} // tools that the server runs have an input too
	case "":
		return errEvent()
	default:
		return nil
	}
	if err != nil || d.Type != b.kind || d.JSON != "" && (b.kind == kindText || b.kind == kindThinking) {
		return errEvent()
	}
	b.text.WriteString(d.Text + d.Thinking)
	b.signature += d.Signature
	b.pieces.WriteString(d.JSON)
	switch {
	case d.Text != "":
		c.sink(protocol.TextDelta{Text: d.Text})
	case d.Thinking != "":
		c.sink(protocol.ThinkingDelta{Thinking: d.Thinking})
	case d.JSON != "" && b.kind == kindToolUse:
		c.sink(protocol.ToolCallDelta{Index: b.call, JSONDelta: d.JSON})
	}
	return nil
}

// stopCall streams an input that came with the begin of its call.
func (c *collector) stopCall(b *block) {
	if b == nil || b.kind != kindToolUse {
		return
	}
	if whole := b.begunWith(); whole != "" {
		b.pieces.WriteString(whole)
		c.sink(protocol.ToolCallDelta{Index: b.call, JSONDelta: whole})
	}
}

// end takes the stop reason and the last counts, which the message itself follows with its stop.
func (c *collector) end(e event) error {
	var d delta
	if err := json.Unmarshal(e.Delta, &d); err != nil {
		return errEvent()
	}
	if d.StopReason != "" {
		c.stop = sdk.StopReason(d.StopReason)
	}
	if e.Usage != nil {
		c.usage.update(*e.Usage)
		c.counted = !c.usage.isZero()
	}
	return nil
}
