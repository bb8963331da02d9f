package normalize

import (
	"encoding/json"

	"github.com/skelegent/skelegent-go/protocol"
)

// OpenAIResponses returns the calls in JSON of OpenAI's Responses: a response, of which only the output is read, a list of its
// items, or one item of type function_call. Items of other types are skipped, and other JSON has no calls. The id of a call is its
// call_id, by which its result is given back, and empty if it has none.
func OpenAIResponses(raw json.RawMessage) ([]protocol.ToolCall, error) {
	return read(raw, (*reader).responses)
}

func isResponses(v value) bool {
	_, ok := v.get("output")
	return ok || v.typ() == "function_call" || v.some(func(item value) bool { return item.typ() == "function_call" })
}

func (r *reader) responses(v value) error {
	if output, ok := v.get("output"); ok {
		v = output
	}
	if v.kind() == '[' {
		return v.each(r.output)
	}
	return r.output(v)
}

func (r *reader) output(item value) error {
	if item.typ() != "function_call" {
		return nil
	}
	return r.call(item, "call_id", item)
}

// ChatCompletions returns the calls in JSON of OpenAI's Chat Completions: a completion, all of whose choices are read, a message
// with tool_calls, a list of calls, or one call. Other JSON has no calls, nor have the pieces of a stream, and function_call, which
// came before tool_calls, is not read. The id of a call is empty if it has none.
func ChatCompletions(raw json.RawMessage) ([]protocol.ToolCall, error) {
	return read(raw, (*reader).chat)
}

func isChat(v value) bool {
	has := func(v value) bool {
		_, ok := v.get("function")
		return ok
	}
	_, choices := v.get("choices")
	_, calls := v.get("tool_calls")
	return choices || calls || has(v) || v.some(has)
}

func (r *reader) chat(v value) error {
	choices, ok := v.get("choices")
	switch {
	case v.kind() == '[':
		return v.each(r.toolCall)
	case !ok:
		return r.message(v)
	case choices.kind() != '[':
		return v.fail("choices must be an array")
	}
	return choices.each(func(choice value) error {
		if choice.kind() != '{' {
			return choice.fail("must be an object")
		}
		message, ok := choice.get("message")
		switch {
		case !ok || message.kind() == 'n':
			return nil
		case message.kind() != '{':
			return message.fail("must be an object")
		}
		return r.message(message)
	})
}

// message reads a message, or one call.
func (r *reader) message(v value) error {
	if calls, ok := v.get("tool_calls"); ok {
		switch calls.kind() {
		case '[':
			return calls.each(r.toolCall)
		case '{':
			return r.toolCall(calls)
		}
		return nil
	}
	if _, ok := v.get("function"); ok {
		return r.toolCall(v)
	}
	return nil
}

func (r *reader) toolCall(v value) error {
	if v.kind() != '{' {
		return v.fail("must be an object")
	}
	function, ok := v.get("function")
	if !ok {
		return v.fail("missing function payload")
	}
	return r.function(v, function)
}

func (r *reader) function(v, function value) error {
	if function.kind() != '{' {
		return function.fail("must be an object")
	}
	return r.call(v, "id", function)
}

// call reads the name and the arguments of a call from a value, and its id from the one around it.
func (r *reader) call(around value, id string, v value) error {
	call, err := identity(around, id, v)
	if err != nil {
		return err
	}
	arguments, ok := v.get("arguments")
	if ok && arguments.kind() == '"' {
		if arguments, err = arguments.embedded(); err != nil {
			return err
		}
		ok = len(arguments.raw) > 0
	}
	if ok && arguments.kind() != 'n' {
		call.Input = json.RawMessage(arguments.raw)
	}
	return r.add(v, call)
}
