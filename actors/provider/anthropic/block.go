package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
	"github.com/skelegent/skelegent-go/protocol"
)

// The kinds of blocks that we know. Others, such as redacted thinking, are kept as they are.
const (
	kindText     = "text"
	kindThinking = "thinking"
	kindToolUse  = "tool_use"
)

// CustomPrefix begins the content type of a protocol.CustomBlock whose data is a block of the Messages API, as in
// anthropic/redacted_thinking: answers have such, and they are sent back unchanged.
const CustomPrefix = "anthropic/"

// block is a part of an answer.
type block struct {
	kind      string
	raw       json.RawMessage // as it began
	text      strings.Builder // or thinking
	signature string
	id, name  string
	call      int             // its number among the calls
	input     json.RawMessage // as it began
	pieces    strings.Builder // of the input
}

// begin adds a block: all of one in an answer that came at once, the begin of one in a stream.
func (a *answer) begin(raw json.RawMessage) (*block, error) {
	if len(a.blocks) >= exchange.MaxParts {
		return nil, exchange.TooManyParts()
	}
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &head); err != nil || head.Type == "" {
		return nil, errBlock()
	}
	b := &block{kind: head.Type, raw: raw}
	a.blocks = append(a.blocks, b)
	var body struct {
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
	}
	switch head.Type {
	case kindText, kindThinking, kindToolUse:
		if err := json.Unmarshal(raw, &body); err != nil {
			return nil, errBlock()
		}
	}
	switch head.Type {
	case kindText:
		b.text.WriteString(body.Text)
	case kindThinking:
		b.text.WriteString(body.Thinking)
		b.signature = body.Signature
	case kindToolUse:
		if body.Name == "" {
			return nil, protocol.ErrInvalidResponse("a tool call without a name")
		}
		b.id, b.name = a.ids.Take(body.ID), body.Name
		if string(body.Input) != "null" {
			b.input = body.Input
		}
		b.call = a.calls
		a.calls++
	}
	return b, nil
}

func errBlock() *protocol.Error { return protocol.ErrInvalidResponse("a block of it is none") }

// arguments is the input of a call.
func (b *block) arguments() json.RawMessage {
	if b.pieces.Len() > 0 {
		return exchange.Input(b.pieces.String())
	}
	return exchange.Input(string(b.input))
}

// begunWith is the input that a call of a stream began with, empty for none. Most begin with {} and send it in pieces.
func (b *block) begunWith() string {
	if s := string(b.arguments()); b.kind == kindToolUse && b.pieces.Len() == 0 && s != `{}` {
		return s
	}
	return ""
}

// content is a block that is no call in our terms, nil where it says nothing.
func (b *block) content() protocol.ContentBlock {
	text := b.text.String()
	switch {
	case b.kind == kindText && text == "", b.kind == kindThinking && text == "" && b.signature == "":
		return nil
	case b.kind == kindText:
		return protocol.TextBlock{Text: text}
	case b.kind == kindThinking:
		return protocol.ThinkingBlock{Thinking: text, Signature: b.signature}
	}
	return protocol.CustomBlock{ContentType: CustomPrefix + b.kind, Data: b.whole()}
}

// whole is a block that we do not know, with the input that came in pieces, as of a tool that the server runs.
func (b *block) whole() json.RawMessage {
	if b.pieces.Len() == 0 {
		return b.raw
	}
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(b.raw, &fields) != nil {
		return b.raw
	}
	fields["input"] = b.arguments()
	raw, err := protocol.Marshal(fields)
	if err != nil {
		return b.raw
	}
	return raw
}
