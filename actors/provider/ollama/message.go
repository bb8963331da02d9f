package ollama

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

type message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	Thinking   string     `json:"thinking,omitempty"`
	Images     []string   `json:"images,omitempty"` // base64
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolName   string     `json:"tool_name,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"` // older servers go by the name alone
}

// toolCall is a call, in requests and in answers.
type toolCall struct {
	ID       string `json:"id,omitempty"` // older servers give none
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// conversation collects messages.
type conversation struct {
	messages []message
	tools    map[string]string // by the id of a call
}

func encodeMessages(req protocol.InferRequest) ([]message, error) {
	c := conversation{messages: []message{}, tools: map[string]string{}}
	if req.System != "" {
		c.add(message{Role: "system", Content: req.System})
	}
	for _, m := range req.Messages {
		if err := c.append(m); err != nil {
			return nil, err
		}
	}
	return c.messages, nil
}

func (c *conversation) add(m message) { c.messages = append(c.messages, m) }

// append adds m: the results of tools that are in it as messages of their own, then the rest.
func (c *conversation) append(m protocol.Message) error {
	out := message{Role: m.Role.String()}
	var texts []string
	results := 0
	if text, ok := m.Content.AsText(); ok && m.Content.Blocks() == nil {
		texts = []string{text}
	}
	for _, b := range m.Content.Blocks() {
		switch b := b.(type) {
		case protocol.TextBlock:
			texts = append(texts, b.Text)
		case protocol.DataBlock:
			texts = append(texts, string(b.Data))
		case protocol.ThinkingBlock:
			out.Thinking += b.Thinking
		case protocol.ToolUseBlock:
			if m.Role != protocol.RoleAssistant {
				return protocol.ErrInvalidRequest("only the assistant calls tools", 0)
			}
			out.ToolCalls = append(out.ToolCalls, c.call(b))
		case protocol.ToolResultBlock:
			c.result(m.Role, b.ToolUseID, b.Content)
			results++
		case protocol.ImageBlock:
			data, ok := b.Source.Base64()
			if !ok {
				return protocol.ErrInvalidRequest("an image has to be sent itself, not by its address", 0)
			}
			out.Images = append(out.Images, data)
		default:
			if _, custom := b.(protocol.CustomBlock); custom && m.Role == protocol.RoleAssistant {
				continue // what another provider wants back
			}
			return protocol.ErrInvalidRequest("only texts and images can be sent", 0)
		}
	}
	out.Content = strings.Join(texts, "\n")
	_, _, isTool := m.Role.Tool()
	switch {
	case m.Role == protocol.RoleAssistant:
		out.Content = strings.Join(texts, "") // pieces of one answer
		c.add(out)
	case isTool && results == 0:
		c.result(m.Role, "", out.Content)
		c.last().Images = out.Images
	case results > 0 && len(texts) == 0: // what a tool shows goes with its last result
		c.last().Images = out.Images
	case isTool:
		c.add(message{Role: protocol.RoleUser.String(), Content: out.Content, Images: out.Images})
	default:
		c.add(out)
	}
	return nil
}

func (c *conversation) last() *message { return &c.messages[len(c.messages)-1] }

// result adds what a tool gave; id is that of the block, which may be empty, as may what the role says.
func (c *conversation) result(role protocol.Role, id, content string) {
	name, callID, _ := role.Tool()
	if id == "" {
		id = callID
	}
	if name == "" {
		name = c.tools[id]
	}
	c.add(message{Role: "tool", Content: content, ToolName: name, ToolCallID: id})
}

// call adds what is no object as a member of one: the server takes nothing else.
func (c *conversation) call(b protocol.ToolUseBlock) toolCall {
	c.tools[b.ID] = b.Name
	out := toolCall{ID: b.ID}
	out.Function.Name, out.Function.Arguments = b.Name, b.Input
	if !bytes.HasPrefix(bytes.TrimSpace(b.Input), []byte("{")) {
		input := b.Input
		if len(input) == 0 {
			input = json.RawMessage("null")
		}
		out.Function.Arguments = append(append(json.RawMessage(`{"input":`), input...), '}')
	}
	return out
}
