package anthropic

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
	"github.com/skelegent/skelegent-go/protocol"
)

// message is an answer that comes at once, and the begin of one that is streamed. It is ours since the library's reads what
// has the wrong type as a guess or as nothing.
type message struct {
	Type       string            `json:"type"`
	Model      string            `json:"model"`
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
	Usage      *usage            `json:"usage"`
}

// answer is what has come so far, at once or in pieces.
type answer struct {
	model   string
	blocks  []*block // in their order
	calls   int
	ids     exchange.IDs
	stop    sdk.StopReason
	usage   usage
	counted bool // the server told the whole usage
}

// read takes an answer that comes at once. Its error is an *Error.
func read(ctx context.Context, body io.Reader, ex *exchange.Exchange) (*answer, error) {
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil, ex.Failure(ctx, err)
	}
	var m message
	if err := exchange.Unmarshal(raw, &m); err != nil { // without it as the cause: it may repeat a number of the answer
		return nil, protocol.ErrInvalidResponse("it is not a message")
	}
	switch {
	case m.Type == "error", m.Content == nil && !ex.Report().Empty(): // some send errors with status 200
		return nil, ex.Reported(ex.Report())
	case m.Content == nil:
		return nil, protocol.ErrInvalidResponse("it has no content")
	case m.StopReason == "":
		return nil, protocol.ErrInvalidResponse("it has no stop reason")
	}
	a := &answer{model: m.Model, stop: sdk.StopReason(m.StopReason)}
	for _, raw := range m.Content {
		if _, err := a.begin(raw); err != nil {
			return nil, err
		}
	}
	if m.Usage != nil {
		a.usage = *m.Usage
		a.counted = !a.usage.isZero()
	}
	return a, nil
}

// response is the answer in our terms, still without a price.
func (a *answer) response(requested string) protocol.InferResponse {
	r := protocol.InferResponse{
		ToolCalls: []protocol.ToolCall{}, StopReason: a.stopReason(), Usage: a.usage.tokens(), Model: a.model,
	}
	if r.Model == "" {
		r.Model = requested
	}
	var blocks []protocol.ContentBlock
	var text strings.Builder // of the texts that follow each other: readers take the first one for the answer
	plain := true
	for _, b := range a.blocks {
		if b.kind == kindToolUse {
			r.ToolCalls = append(r.ToolCalls, protocol.ToolCall{ID: b.id, Name: b.name, Input: b.arguments()})
			continue
		}
		c := b.content()
		if b.kind == kindText || c == nil {
			text.WriteString(b.text.String())
			continue
		}
		plain = false
		blocks = append(withText(blocks, &text), c)
	}
	r.Content = protocol.TextContent(text.String())
	if !plain {
		r.Content = protocol.BlockContent(withText(blocks, &text)...)
	}
	return r
}

// withText adds what was collected of a text, and begins the next.
func withText(blocks []protocol.ContentBlock, text *strings.Builder) []protocol.ContentBlock {
	if text.Len() > 0 {
		blocks = append(blocks, protocol.TextBlock{Text: text.String()})
	}
	text.Reset()
	return blocks
}

func (a *answer) stopReason() protocol.StopReason {
	switch a.stop {
	case sdk.StopReasonRefusal:
		return protocol.StopContentFilter
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return protocol.StopMaxTokens
	default: // end_turn, tool_use, stop_sequence, pause_turn and what may come
	}
	if a.calls > 0 {
		return protocol.StopToolUse
	}
	return protocol.StopEndTurn
}
