package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
	"github.com/skelegent/skelegent-go/protocol"
)

// chat is one call and what has come of its answer.
type chat struct {
	ex    *exchange.Exchange
	sink  func(protocol.StreamEvent) // nil for an answer at once
	model string                     // that was asked, then that answered

	begun          bool // a line came that is of a chat
	text, thinking strings.Builder
	calls          []protocol.ToolCall
	ids            exchange.IDs
	end            chunk // the last one
}

// chunk is a line of a stream, an answer at once, or an error.
type chunk struct {
	Model   string `json:"model"`
	Message struct {
		Content   string     `json:"content"`
		Thinking  string     `json:"thinking"`
		ToolCalls []toolCall `json:"tool_calls"`
	} `json:"message"`
	Done            bool            `json:"done"`
	DoneReason      string          `json:"done_reason"`
	PromptEvalCount int64           `json:"prompt_eval_count"`
	EvalCount       int64           `json:"eval_count"`
	Error           json.RawMessage `json:"error"`
}

// missing is what servers say of a model that they do not have.
var missing = regexp.MustCompile(`^model\b.*\bnot found`)

// readError is exchange.ReadReport with the way to get a model that is missing.
func (c *chat) readError(body []byte) exchange.Report {
	r := exchange.ReadReport(body)
	if missing.MatchString(r.Message) {
		r.Class, r.Message = exchange.Invalid, "the server does not have this model; get it with: ollama pull "+c.model
	}
	return r
}

// read reads the answer to its end. Its error is an *Error.
func (c *chat) read(ctx context.Context, body io.Reader) (protocol.InferResponse, error) {
	collect := c.stream
	if c.sink == nil {
		collect = c.whole
	}
	if err := collect(ctx, body); err != nil {
		return protocol.InferResponse{}, err
	}
	c.ex.Drain()
	resp := c.response()
	c.emit(protocol.UsageEvent{Usage: resp.Usage})
	c.emit(protocol.Done{Response: resp})
	return resp, nil
}

func (c *chat) whole(ctx context.Context, body io.Reader) error {
	raw, err := io.ReadAll(body)
	if err != nil {
		return c.ex.Failure(ctx, err)
	}
	if err := c.add(ctx, raw); err != nil {
		return err
	}
	if !c.end.Done {
		return protocol.ErrInvalidResponse("the server does not say that it is done")
	}
	return nil
}

func (c *chat) stream(ctx context.Context, body io.Reader) error {
	for lines := exchange.NewLines(body, 0); !c.end.Done; {
		line, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF) && ctx.Err() != nil:
			return exchange.Ended(ctx)
		case errors.Is(err, io.EOF) && !c.begun:
			return protocol.ErrInvalidResponse("it is not an answer of a chat")
		case errors.Is(err, io.EOF):
			return protocol.ErrProviderTransient("the stream ended before it was done", 0)
		case err != nil:
			return c.ex.Failure(ctx, err)
		}
		if err := c.add(ctx, line); err != nil {
			return err
		}
	}
	return nil
}

// add takes one chunk.
func (c *chat) add(ctx context.Context, raw []byte) error {
	var ch chunk
	if err := exchange.Unmarshal(raw, &ch); err != nil {
		return c.ex.Failure(ctx, err)
	}
	if len(ch.Error) > 0 && string(ch.Error) != "null" {
		return c.ex.Reported(c.readError(raw))
	}
	if ch.Model != "" {
		c.begun, c.model = true, ch.Model
	}
	if t := ch.Message.Thinking; t != "" {
		c.thinking.WriteString(t)
		c.emit(protocol.ThinkingDelta{Thinking: t})
	}
	if t := ch.Message.Content; t != "" {
		c.text.WriteString(t)
		c.emit(protocol.TextDelta{Text: t})
	}
	for _, t := range ch.Message.ToolCalls {
		if t.Function.Name == "" {
			return protocol.ErrInvalidResponse("a tool call without a name")
		}
		if len(c.calls) >= exchange.MaxParts {
			return exchange.TooManyParts()
		}
		c.tool(t)
	}
	if ch.Done {
		c.end = ch
	}
	return nil
}

// tool takes a call, which comes as a whole.
func (c *chat) tool(t toolCall) {
	arguments := string(t.Function.Arguments)
	if arguments == "null" {
		arguments = ""
	}
	call := protocol.ToolCall{ID: c.ids.Take(t.ID), Name: t.Function.Name, Input: exchange.Input(arguments)}
	c.emit(protocol.ToolCallStart{Index: len(c.calls), ID: call.ID, Name: call.Name})
	c.emit(protocol.ToolCallDelta{Index: len(c.calls), JSONDelta: string(call.Input)})
	c.calls = append(c.calls, call)
}

func (c *chat) emit(ev protocol.StreamEvent) {
	if c.sink != nil {
		c.sink(ev)
	}
}

// response is the answer in our terms.
func (c *chat) response() protocol.InferResponse {
	resp := protocol.InferResponse{
		Content:    protocol.TextContent(c.text.String()),
		ToolCalls:  c.calls,
		StopReason: protocol.StopEndTurn,
		Usage: protocol.TokenUsage{
			InputTokens: exchange.Count(c.end.PromptEvalCount), OutputTokens: exchange.Count(c.end.EvalCount),
		},
		Model: c.model,
		Cost:  &protocol.Decimal{},
	}
	if c.thinking.Len() > 0 {
		resp.Content = protocol.BlockContent(
			protocol.ThinkingBlock{Thinking: c.thinking.String()}, protocol.TextBlock{Text: c.text.String()})
	}
	switch {
	case len(c.calls) > 0: // whole ones, even if the answer was cut behind them
		resp.StopReason = protocol.StopToolUse
	case c.end.DoneReason == "length":
		resp.StopReason = protocol.StopMaxTokens
	}
	if resp.ToolCalls == nil {
		resp.ToolCalls = []protocol.ToolCall{}
	}
	return resp
}
