package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
	"github.com/skelegent/skelegent-go/protocol"
)

// chunk is an event of the stream: a piece of the answer, or an error.
type chunk struct {
	goopenai.ChatCompletionStreamResponse
	Error       json.RawMessage `json:"error"`
	ServiceTier string          `json:"service_tier"`
}

// collector puts the pieces of a stream together and passes them on.
type collector struct {
	answer
	sink   func(protocol.StreamEvent)
	chunks int
	choice bool // a choice was seen
	// byIndex finds the call that a piece belongs to; last is for servers that number none.
	byIndex map[int]int
	last    int
}

// collect reads the stream to its end. Its error is an *Error.
func collect(
	ctx context.Context, stream *goopenai.ChatCompletionStream, ex *exchange.Exchange, sink func(protocol.StreamEvent),
) (*answer, error) {
	c := &collector{sink: sink, byIndex: map[int]int{}, last: -1}
	for {
		raw, err := stream.RecvRaw()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			// Behind the finish reason come only the counts: the answer is whole, and asking again would pay twice.
			if c.finish != "" && ctx.Err() == nil && ex.Broken() {
				break
			}
			return nil, ex.Failure(ctx, err)
		}
		if err := c.add(raw, ex); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil && c.finish == "" {
		return nil, exchange.Ended(ctx)
	}
	switch {
	case c.chunks == 0:
		return nil, protocol.ErrInvalidResponse("an empty stream")
	case !c.choice:
		return nil, errNoChoices()
	case c.finish == "":
		return nil, protocol.ErrProviderTransient("the stream ended without a finish reason", 0)
	}
	ex.Drain()
	for i := range c.calls { // those without arguments and those without a name
		c.start(i, "")
	}
	return &c.answer, c.check()
}

// add takes one event.
func (c *collector) add(raw []byte, ex *exchange.Exchange) error {
	var e chunk
	if len(raw) == 0 { // how the library tells of an error event that it cannot read
		return protocol.ErrProviderTransient("the server reported an error that it did not explain", 0)
	}
	if err := exchange.Unmarshal(raw, &e); err != nil {
		return protocol.ErrInvalidResponse("an event of the stream is not a piece of a chat completion").Because(err)
	}
	if len(e.Error) > 0 && string(e.Error) != "null" {
		return ex.Reported(exchange.ReadReport(raw))
	}
	c.chunks++
	if e.Model != "" {
		c.model = e.Model
	}
	if e.ServiceTier != "" {
		c.tier = e.ServiceTier
	}
	c.count(e.Usage)
	for _, choice := range e.Choices {
		if choice.Index != 0 { // only one was asked for
			continue
		}
		c.choice = true
		if err := c.delta(choice.Delta); err != nil {
			return err
		}
		if choice.FinishReason != "" && choice.FinishReason != goopenai.FinishReasonNull {
			c.finish = choice.FinishReason
		}
	}
	return nil
}

func (c *collector) delta(d goopenai.ChatCompletionStreamChoiceDelta) error {
	if d.ReasoningContent != "" {
		c.thinking.WriteString(d.ReasoningContent)
		c.sink(protocol.ThinkingDelta{Thinking: d.ReasoningContent})
	}
	if text := d.Content + d.Refusal; text != "" {
		c.text.WriteString(text)
		c.sink(protocol.TextDelta{Text: text})
	}
	c.refused = c.refused || d.Refusal != ""
	for _, t := range d.ToolCalls {
		i := c.call(t)
		if len(c.calls) > exchange.MaxParts {
			return exchange.TooManyParts()
		}
		if c.calls[i].name == "" {
			c.calls[i].name = t.Function.Name
		}
		c.start(i, t.ID)
		if t.Function.Arguments == "" {
			continue
		}
		c.calls[i].arguments.WriteString(t.Function.Arguments)
		if c.calls[i].started {
			c.sink(protocol.ToolCallDelta{Index: i, JSONDelta: t.Function.Arguments})
		}
	}
	return nil
}

// call returns the place of the call that the piece belongs to.
func (c *collector) call(t goopenai.ToolCall) int {
	if t.Index != nil {
		if i, ok := c.byIndex[*t.Index]; ok {
			c.last = i
			return i
		}
		c.byIndex[*t.Index] = len(c.calls)
	} else if c.last >= 0 && t.Function.Name == "" {
		return c.last
	}
	c.last = len(c.calls)
	c.calls = append(c.calls, &toolCall{})
	return c.last
}

// start streams the begin of a call once its name is known, and the arguments that came before.
func (c *collector) start(i int, id string) {
	call := c.calls[i]
	if call.started {
		return
	}
	if call.id == "" && id != "" {
		call.id = c.ids.Take(id)
	}
	if call.name == "" {
		return
	}
	if call.id == "" {
		call.id = c.ids.Take("")
	}
	call.started = true
	c.sink(protocol.ToolCallStart{Index: i, ID: call.id, Name: call.name})
	if early := call.arguments.String(); early != "" {
		c.sink(protocol.ToolCallDelta{Index: i, JSONDelta: early})
	}
}
