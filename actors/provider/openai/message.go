package openai

import (
	"encoding/json"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/skelegent/skelegent-go/protocol"
)

// message is goopenai.ChatCompletionMessage with a content that is sent although it is empty, as a tool's result may be.
type message struct {
	Role       string              `json:"role"`
	Content    any                 `json:"content"` // string, []part, or nil of an assistant that only calls
	ToolCalls  []goopenai.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string              `json:"tool_call_id,omitempty"`
}

// part is goopenai.ChatMessagePart with files.
type part struct {
	Type     string                        `json:"type"`
	Text     *string                       `json:"text,omitempty"`
	ImageURL *goopenai.ChatMessageImageURL `json:"image_url,omitempty"`
	File     *filePart                     `json:"file,omitempty"`
}

type filePart struct {
	Filename string `json:"filename,omitempty"`
	FileData string `json:"file_data"`
}

// conversation collects messages. What comes with the results of tools but is none itself waits until all results
// are there, since they must follow the calls without anything between.
type conversation struct {
	messages []message
	waiting  []part
}

func encodeMessages(req protocol.InferRequest) ([]message, error) {
	var c conversation
	if req.System != "" {
		c.add(message{Role: goopenai.ChatMessageRoleSystem, Content: req.System})
	}
	for _, m := range req.Messages {
		if err := c.append(m); err != nil {
			return nil, err
		}
	}
	c.flush()
	if c.messages == nil {
		c.messages = []message{}
	}
	return c.messages, nil
}

func (c *conversation) append(m protocol.Message) error {
	_, callID, isTool := m.Role.Tool()
	var parts []part
	var calls []goopenai.ToolCall
	results := 0
	for _, b := range m.Content.Blocks() {
		switch b := b.(type) {
		case protocol.ToolResultBlock:
			id := b.ToolUseID
			if id == "" {
				id = callID
			}
			c.add(message{Role: goopenai.ChatMessageRoleTool, Content: b.Content, ToolCallID: id})
			results++
		case protocol.ToolUseBlock:
			calls = append(calls, encodeCall(b))
		case protocol.ThinkingBlock: // not taken back
		default:
			if _, custom := b.(protocol.CustomBlock); custom && m.Role == protocol.RoleAssistant {
				continue // what another provider wants back
			}
			p, err := encodePart(b)
			if err != nil {
				return err
			}
			parts = append(parts, p)
		}
	}
	if text, ok := m.Content.AsText(); ok && m.Content.Blocks() == nil {
		parts = []part{textPart(text)}
	}
	switch {
	case m.Role == protocol.RoleAssistant:
		return c.assistant(parts, calls)
	case len(calls) > 0:
		return protocol.ErrInvalidRequest("only the assistant calls tools", 0)
	case isTool && results == 0: // its text, wherever that is
		c.add(message{Role: goopenai.ChatMessageRoleTool, Content: m.Text(), ToolCallID: callID})
		c.waiting = append(c.waiting, withoutText(parts)...)
	case results > 0:
		c.waiting = append(c.waiting, parts...)
	default:
		c.flush()
		c.add(message{Role: m.Role.String(), Content: content(parts)})
	}
	return nil
}

func (c *conversation) assistant(parts []part, calls []goopenai.ToolCall) error {
	var text strings.Builder
	for _, p := range parts {
		if p.Text == nil {
			return protocol.ErrInvalidRequest("an assistant's message cannot have images or files", 0)
		}
		text.WriteString(*p.Text)
	}
	c.flush()
	m := message{Role: goopenai.ChatMessageRoleAssistant, ToolCalls: calls}
	if text.Len() > 0 || len(calls) == 0 {
		m.Content = text.String()
	}
	c.add(m)
	return nil
}

func (c *conversation) add(m message) { c.messages = append(c.messages, m) }

func (c *conversation) flush() {
	if len(c.waiting) > 0 {
		c.add(message{Role: goopenai.ChatMessageRoleUser, Content: content(c.waiting)})
	}
	c.waiting = nil
}

// content is a string where one is enough: not every server takes parts.
func content(parts []part) any {
	switch {
	case len(parts) == 0:
		return ""
	case len(parts) == 1 && parts[0].Text != nil:
		return *parts[0].Text
	}
	return parts
}

func textPart(text string) part { return part{Type: "text", Text: &text} }

func withoutText(parts []part) []part {
	var rest []part
	for _, p := range parts {
		if p.Text == nil {
			rest = append(rest, p)
		}
	}
	return rest
}

func encodePart(b protocol.ContentBlock) (part, error) {
	switch b := b.(type) {
	case protocol.TextBlock:
		return textPart(b.Text), nil
	case protocol.DataBlock:
		return textPart(string(b.Data)), nil
	case protocol.ImageBlock:
		link, ok := b.Source.URL()
		if !ok {
			link = dataURL(b.MediaType, b.Source)
		}
		return part{Type: "image_url", ImageURL: &goopenai.ChatMessageImageURL{URL: link}}, nil
	case protocol.FileBlock:
		if _, ok := b.Source.URL(); ok {
			return part{}, protocol.ErrInvalidRequest("a file has to be sent itself, not by its address", 0)
		}
		return part{Type: "file", File: &filePart{Filename: b.Filename, FileData: dataURL(b.MediaType, b.Source)}}, nil
	case protocol.CustomBlock:
		return part{}, protocol.ErrInvalidRequest("content of a custom type cannot be sent", 0)
	}
	return part{}, protocol.ErrInvalidRequest("content of an unknown type cannot be sent", 0)
}

func dataURL(mediaType string, s protocol.ContentSource) string {
	data, _ := s.Base64()
	return "data:" + mediaType + ";base64," + data
}

// encodeCall is the inverse of input: what the model wrote goes back as it wrote it.
func encodeCall(b protocol.ToolUseBlock) goopenai.ToolCall {
	arguments := string(b.Input)
	var broken string
	if json.Unmarshal(b.Input, &broken) == nil && !json.Valid([]byte(broken)) {
		arguments = broken
	}
	return goopenai.ToolCall{
		ID: b.ID, Type: goopenai.ToolTypeFunction,
		Function: goopenai.FunctionCall{Name: b.Name, Arguments: arguments},
	}
}
