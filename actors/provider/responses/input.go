package responses

import (
	"cmp"
	"encoding/json"
	"slices"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/skelegent/skelegent-go/protocol"
)

// The types of items that are sent and read.
const (
	itemMessage   = "message"
	itemReasoning = "reasoning"
	itemCall      = "function_call"
	itemResult    = "function_call_output"
)

// input collects items: messages, calls, results and reasoning.
type input struct{ items []any }

func encodeInput(messages []protocol.Message) ([]any, error) {
	in := input{items: []any{}}
	for _, m := range messages {
		add := in.other
		if m.Role == protocol.RoleAssistant {
			add = in.assistant
		}
		if err := add(m); err != nil {
			return nil, err
		}
	}
	return in.items, nil
}

func (in *input) add(item any) { in.items = append(in.items, item) }

func (in *input) message(role string, content any) {
	in.add(goopenai.ResponseInputMessage{Role: role, Content: content})
}

// assistant adds the items of an answer as they were. Reasoning waits for what it led to: alone it is refused.
func (in *input) assistant(m protocol.Message) error {
	if m.Content.Blocks() == nil {
		in.message(m.Role.String(), m.Text())
		return nil
	}
	var waiting []any
	before := map[string][]any{} // by the id of a call
	for _, b := range m.Content.Blocks() {
		text := ""
		switch b := b.(type) {
		case protocol.TextBlock:
			text = b.Text
		case protocol.DataBlock:
			text = string(b.Data)
		case protocol.ThinkingBlock:
			switch s, ok := readSignature(b.Signature); {
			case ok && s.Call != "":
				before[s.Call] = append(before[s.Call], s.Reasoning)
			case ok:
				waiting = append(waiting, s.Reasoning)
			}
		case protocol.ToolUseBlock:
			in.items = append(append(in.items, waiting...), before[b.ID]...)
			in.add(encodeCall(b))
			waiting, before[b.ID] = nil, nil
		case protocol.CustomBlock: // what another provider wants back
		default:
			return protocol.ErrInvalidRequest("an assistant's message has only texts, thinking and calls", 0)
		}
		if text != "" {
			in.items = append(in.items, waiting...)
			in.message(m.Role.String(), text)
			waiting = nil
		}
	}
	return nil
}

// other adds what a user, a tool or the system says: the results of tools that are in it, then the rest. The text of a
// tool without a result is its result.
func (in *input) other(m protocol.Message) error {
	role, blocks := m.Role, m.Content.Blocks()
	_, callID, isTool := m.Role.Tool()
	switch {
	case isTool:
		role = protocol.RoleUser // of what comes with a result
		if !slices.ContainsFunc(blocks, is[protocol.ToolResultBlock]) {
			in.result(callID, m.Text())
			blocks = slices.DeleteFunc(slices.Clone(blocks), is[protocol.TextBlock])
		}
	case blocks == nil:
		in.message(role.String(), m.Text())
	}
	var parts []any
	for _, b := range blocks {
		if r, ok := b.(protocol.ToolResultBlock); ok {
			in.result(cmp.Or(r.ToolUseID, callID), r.Content)
			continue
		}
		part, err := encodePart(b)
		if err != nil {
			return err
		}
		if part != nil {
			parts = append(parts, part)
		}
	}
	if len(parts) > 0 {
		in.message(role.String(), content(parts))
	}
	return nil
}

func is[B protocol.ContentBlock](b protocol.ContentBlock) bool {
	_, ok := b.(B)
	return ok
}

// content is a string where one is enough: not every server takes parts.
func content(parts []any) any {
	if text, ok := parts[0].(goopenai.ResponseInputText); ok && len(parts) == 1 {
		return text.Text
	}
	return parts
}

func (in *input) result(callID, content string) {
	in.add(goopenai.ResponseFunctionCallOutput{Type: itemResult, CallID: callID, Output: content})
}

// encodePart returns nothing for thinking.
func encodePart(b protocol.ContentBlock) (any, error) {
	switch b := b.(type) {
	case protocol.TextBlock:
		return goopenai.ResponseInputText{Type: "input_text", Text: b.Text}, nil
	case protocol.DataBlock:
		return goopenai.ResponseInputText{Type: "input_text", Text: string(b.Data)}, nil
	case protocol.ImageBlock:
		link, ok := b.Source.URL()
		if !ok {
			link = dataURL(b.MediaType, b.Source)
		}
		return goopenai.ResponseInputImage{Type: "input_image", ImageURL: link}, nil
	case protocol.FileBlock:
		if link, ok := b.Source.URL(); ok {
			return goopenai.ResponseInputFile{Type: "input_file", FileURL: link}, nil
		}
		name := b.Filename
		if name == "" {
			name = "file" // has to have one
		}
		return goopenai.ResponseInputFile{Type: "input_file", Filename: name, FileData: dataURL(b.MediaType, b.Source)}, nil
	case protocol.ThinkingBlock:
		return nil, nil
	case protocol.ToolUseBlock:
		return nil, protocol.ErrInvalidRequest("only the assistant calls tools", 0)
	}
	return nil, protocol.ErrInvalidRequest("content of a custom type cannot be sent", 0)
}

func dataURL(mediaType string, s protocol.ContentSource) string {
	data, _ := s.Base64()
	return "data:" + mediaType + ";base64," + data
}

// encodeCall is the inverse of exchange.Input: what the model wrote goes back as it wrote it.
func encodeCall(b protocol.ToolUseBlock) goopenai.ResponseOutputItem {
	arguments := string(b.Input)
	var broken string
	switch {
	case len(b.Input) == 0:
		arguments = "{}"
	case json.Unmarshal(b.Input, &broken) == nil && !json.Valid([]byte(broken)):
		arguments = broken
	}
	return goopenai.ResponseOutputItem{Type: itemCall, CallID: b.ID, Name: b.Name, Arguments: arguments}
}
