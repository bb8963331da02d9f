package anthropic

import (
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/skelegent/skelegent-go/protocol"
)

// What is said where a conversation is not as the protocol wants it, mostly since a compaction took a part away.
const (
	noBegin  = "(The begin of this conversation is left out.)"
	noCall   = "(The result of a tool call that is left out.)"
	noResult = "There is no result of this call."
)

// conversation collects messages: turns of the user and the assistant that alternate, with the results of tools first in
// the turn behind their calls. What it makes of a message does not change when others follow, so that the provider finds
// the begin of a conversation in its cache and takes back its thinking.
type conversation struct {
	system   []sdk.TextBlockParam
	messages []sdk.MessageParam

	role    sdk.MessageParamRole // of the turn that is being collected
	results []sdk.ContentBlockParamUnion
	blocks  []sdk.ContentBlockParamUnion
	open    []string // calls of the assistant's last turn that have no result yet
}

// converse returns the conversation of a request. Its error is an *Error of the kind invalid request.
func converse(req protocol.InferRequest) (*conversation, error) {
	c := &conversation{}
	if !blank(req.System) {
		c.system = append(c.system, sdk.TextBlockParam{Text: req.System})
	}
	for _, m := range req.Messages {
		if err := c.append(m); err != nil {
			return nil, err
		}
	}
	c.flush()
	if len(c.messages) == 0 {
		return nil, protocol.ErrInvalidRequest("no message says anything", 0)
	}
	if c.messages[0].Role != sdk.MessageParamRoleUser {
		c.messages = slices.Insert(c.messages, 0, sdk.NewUserMessage(sdk.NewTextBlock(noBegin)))
	}
	trimEnd(c.messages)
	return c, nil
}

func (c *conversation) append(m protocol.Message) error {
	blocks := m.Content.Blocks()
	if text, ok := m.Content.AsText(); ok && blocks == nil {
		blocks = []protocol.ContentBlock{protocol.TextBlock{Text: text}}
	}
	if m.Role == protocol.RoleSystem {
		return c.instruct(blocks)
	}
	if _, callID, ok := m.Role.Tool(); ok {
		return c.answer(callID, blocks)
	}
	for _, b := range blocks {
		if r, ok := b.(protocol.ToolResultBlock); ok {
			c.turn(sdk.MessageParamRoleUser)
			c.result(newResult(r.ToolUseID, r.Content, r.IsError))
			continue
		}
		if err := c.block(m.Role, b); err != nil {
			return err
		}
	}
	return nil
}

// block adds a block of the user or the assistant.
func (c *conversation) block(role protocol.Role, b protocol.ContentBlock) error {
	encoded, err := encodeBlock(b, role == protocol.RoleAssistant)
	if err != nil || encoded == nil {
		return err
	}
	if role == protocol.RoleAssistant {
		c.turn(sdk.MessageParamRoleAssistant)
	} else {
		c.turn(sdk.MessageParamRoleUser)
	}
	if call := encoded.OfToolUse; call != nil {
		c.open = append(c.open, call.ID)
	}
	c.blocks = append(c.blocks, *encoded)
	return nil
}

// instruct adds a system message: to the system text before the conversation begins, later as a text of the user's in its
// place.
func (c *conversation) instruct(blocks []protocol.ContentBlock) error {
	for _, b := range blocks {
		encoded, err := encodeBlock(b, false)
		switch {
		case err != nil:
			return err
		case encoded == nil:
		case encoded.OfText == nil:
			return protocol.ErrInvalidRequest("a system message cannot have images or files", 0)
		case c.role == "":
			c.system = append(c.system, *encoded.OfText)
		default:
			c.turn(sdk.MessageParamRoleUser)
			c.blocks = append(c.blocks, sdk.NewTextBlock("<system>\n"+encoded.OfText.Text+"\n</system>"))
		}
	}
	return nil
}

// answer adds the message of a tool. What comes with a result is part of it; a text alone is one.
func (c *conversation) answer(callID string, blocks []protocol.ContentBlock) error {
	c.turn(sdk.MessageParamRoleUser)
	var results []*sdk.ToolResultBlockParam
	var with, rest []sdk.ContentBlockParamUnion
	for _, b := range blocks {
		if r, ok := b.(protocol.ToolResultBlock); ok {
			if r.ToolUseID == "" {
				r.ToolUseID = callID
			}
			results = append(results, newResult(r.ToolUseID, r.Content, r.IsError))
			continue
		}
		encoded, err := encodeBlock(b, false)
		switch {
		case err != nil:
			return err
		case encoded == nil:
		case encoded.OfText != nil || encoded.OfImage != nil || encoded.OfDocument != nil:
			with = append(with, *encoded)
		default:
			rest = append(rest, *encoded)
		}
	}
	if len(results) == 0 {
		results = append(results, newResult(callID, "", false))
	}
	last := results[len(results)-1]
	for _, w := range with {
		last.Content = append(last.Content, sdk.ToolResultBlockParamContentUnion{
			OfText: w.OfText, OfImage: w.OfImage, OfDocument: w.OfDocument,
		})
	}
	for _, r := range results {
		c.result(r)
	}
	c.blocks = append(c.blocks, rest...)
	return nil
}

// result adds a result to its call. The protocol refuses one without a call, so it is told as a text.
func (c *conversation) result(r *sdk.ToolResultBlockParam) {
	if i := slices.Index(c.open, r.ToolUseID); i >= 0 {
		c.open = slices.Delete(c.open, i, i+1)
		c.results = append(c.results, sdk.ContentBlockParamUnion{OfToolResult: r})
		return
	}
	c.blocks = append(c.blocks, sdk.NewTextBlock(noCall))
	for _, b := range r.Content {
		c.blocks = append(c.blocks, sdk.ContentBlockParamUnion{OfText: b.OfText, OfImage: b.OfImage, OfDocument: b.OfDocument})
	}
}

// turn begins a turn of role unless it goes on.
func (c *conversation) turn(role sdk.MessageParamRole) {
	if c.role != role {
		c.flush()
		c.role = role
	}
}

// flush ends the turn that is being collected.
func (c *conversation) flush() {
	blocks := c.blocks
	if c.role == sdk.MessageParamRoleUser {
		for _, id := range c.open {
			c.results = append(c.results, sdk.ContentBlockParamUnion{OfToolResult: newResult(id, noResult, true)})
		}
		blocks, c.open = slices.Concat(c.results, blocks), nil
	}
	for len(blocks) > 0 && isThinking(blocks[len(blocks)-1]) { // it was cut off, and is refused as the end of a message
		blocks = blocks[:len(blocks)-1]
	}
	c.results, c.blocks = nil, nil
	n := len(c.messages)
	switch {
	case len(blocks) == 0:
	case n > 0 && c.messages[n-1].Role == c.role:
		c.messages[n-1].Content = append(c.messages[n-1].Content, blocks...)
	default:
		c.messages = append(c.messages, sdk.MessageParam{Role: c.role, Content: blocks})
	}
}

func isThinking(b sdk.ContentBlockParamUnion) bool {
	return b.OfThinking != nil || b.OfRedactedThinking != nil
}

// trimEnd drops the white space at the end of an assistant's text that the model has to go on with: it is refused.
func trimEnd(messages []sdk.MessageParam) {
	last := messages[len(messages)-1]
	if text := last.Content[len(last.Content)-1].OfText; text != nil && last.Role == sdk.MessageParamRoleAssistant {
		text.Text = strings.TrimRight(text.Text, " \t\r\n")
	}
}

func newResult(callID, text string, isError bool) *sdk.ToolResultBlockParam {
	r := &sdk.ToolResultBlockParam{ToolUseID: callID, IsError: sdk.Bool(isError)}
	if !blank(text) {
		r.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: text}}}
	}
	return r
}

// blank reports whether the protocol refuses text as empty.
func blank(text string) bool { return strings.TrimSpace(text) == "" }
