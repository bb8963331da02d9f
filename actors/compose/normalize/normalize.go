package normalize

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

// Normalizer reads calls from one form of what models answer. All of this package are safe for concurrent use.
type Normalizer interface {
	// Name is lower-case and stays the same.
	Name() string
	// Applicable reports whether raw looks like the form. If it does, Normalize may still find no calls, or an error.
	Applicable(raw string) bool
	// Normalize returns the calls in raw. The error is of kind compose.KindNormalizerFailed.
	Normalize(raw string) ([]protocol.ToolCall, error)
}

// All returns the normalizers of this package: lfm, openai_responses, openai_chat_completions and anthropic.
func All() []Normalizer {
	return []Normalizer{
		LFM{},
		structured{"openai_responses", isResponses, (*reader).responses},
		structured{"openai_chat_completions", isChat, (*reader).chat},
		structured{"anthropic", isAnthropic, (*reader).anthropic},
	}
}

// structured is a Normalizer of JSON.
type structured struct {
	name  string
	looks func(value) bool
	read  func(*reader, value) error
}

func (s structured) Name() string { return s.name }

func (s structured) Applicable(raw string) bool {
	v, err := open([]byte(raw))
	return err == nil && s.looks(v)
}

func (s structured) Normalize(raw string) ([]protocol.ToolCall, error) {
	return read([]byte(raw), s.read)
}

// Normalize returns the calls in what a model answered: those of Any if it is a JSON object or array, else those of LFM. Other
// text has none, and is never an error.
func Normalize(text string) ([]protocol.ToolCall, error) {
	if s := strings.TrimSpace(text); strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") {
		if raw := json.RawMessage(text); json.Valid(raw) {
			return Any(raw)
		}
	}
	return LFM{}.Normalize(text)
}

// Any returns the calls in JSON that is one of the forms of OpenAIResponses, ChatCompletions and Anthropic, whichever. In a list
// each item is read after its own form, and one of another type than those of calls is skipped. An object that is of more than one
// form gives the calls of each, in this order; the same call in two of them, with the same id, name and input, is one.
func Any(raw json.RawMessage) ([]protocol.ToolCall, error) { return read(raw, (*reader).any) }

func (r *reader) any(v value) error {
	if v.kind() == '[' {
		return v.each(r.item)
	}
	seen := map[string]bool{}
	for _, form := range []func(*reader, value) error{(*reader).responses, (*reader).chat, (*reader).anthropic} {
		var found reader
		if err := form(&found, v); err != nil {
			return err
		}
		for _, c := range found.calls {
			if c.ID != "" && seen[identityOf(c)] {
				continue
			}
			if err := r.add(v, c); err != nil {
				return err
			}
		}
		for _, c := range found.calls { // only now: a form may have one twice
			seen[identityOf(c)] = true
		}
	}
	return nil
}

// item reads a part of a list that may be of any form.
func (r *reader) item(v value) error {
	function, ok := v.get("function")
	switch typ := v.typ(); {
	case v.kind() != '{':
		return v.fail("must be an object")
	case typ == "function_call":
		return r.responses(v)
	case typ == "tool_use":
		return r.anthropic(v)
	case !ok && typ != "" && typ != "function":
		return nil // a message, a thought
	case !ok:
		return v.fail("missing function payload")
	default:
		return r.function(v, function)
	}
}

// identityOf tells calls apart, however their input is spaced.
func identityOf(c protocol.ToolCall) string {
	var input bytes.Buffer
	if json.Compact(&input, c.Input) != nil {
		return ""
	}
	return c.ID + "\x00" + c.Name + "\x00" + input.String()
}
