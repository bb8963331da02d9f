package normalize

import (
	"encoding/json"

	"github.com/skelegent/skelegent-go/protocol"
)

// Anthropic returns the calls in JSON of Anthropic's Messages: a message, the list of its content blocks, or one block of type
// tool_use. Blocks of other types are skipped, those of tools that the provider runs itself included, and other JSON has no calls.
// The input has to be an object; without one it is {}. The id of a call is empty if it has none.
func Anthropic(raw json.RawMessage) ([]protocol.ToolCall, error) {
	return read(raw, (*reader).anthropic)
}

func isAnthropic(v value) bool {
	content, _ := v.get("content")
	return v.typ() == "tool_use" || content.some(isToolUse) || v.some(isToolUse)
}

func isToolUse(v value) bool { return v.typ() == "tool_use" }

func (r *reader) anthropic(v value) error {
	content, ok := v.get("content")
	switch {
	case v.kind() == '[':
		return v.each(r.contentBlock)
	case ok && content.kind() == '[' && !isToolUse(v):
		return content.each(r.contentBlock)
	}
	return r.contentBlock(v)
}

func (r *reader) contentBlock(v value) error {
	if !isToolUse(v) {
		return nil
	}
	call, err := identity(v, "id", v)
	if err != nil {
		return err
	}
	input, ok := v.get("input")
	if ok && input.kind() != 'n' {
		if input.kind() != '{' {
			return input.fail("must be an object")
		}
		call.Input = json.RawMessage(input.raw)
	}
	return r.add(v, call)
}
