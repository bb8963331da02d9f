package normalize_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compose/normalize"
	"github.com/skelegent/skelegent-go/protocol"
)

type form func(json.RawMessage) ([]protocol.ToolCall, error)

var (
	responses form = normalize.OpenAIResponses
	chat      form = normalize.ChatCompletions
	messages  form = normalize.Anthropic
	anyForm   form = normalize.Any
)

func TestCallsInJSON(t *testing.T) {
	t.Parallel()
	const (
		item  = `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"get_weather","arguments":"{\"city\":\"Berlin\"}"}`
		call  = `{"id":"call_1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Berlin\"}"}}`
		use   = `{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{"city":"Berlin"}}`
		given = `get_weather#call_1({"city":"Berlin"})`
		used  = `get_weather#toolu_1({"city":"Berlin"})`
	)
	tests := []struct {
		name  string
		form  form
		raw   string
		calls string
	}{
		{"an item", responses, item, given},
		{"a response", responses, `{"id":"resp_1","output":[{"type":"message","content":[]},{"type":"function_call","call_id":"c","name":"search.docs","arguments":{"q":"a"}}]}`, `search.docs#c({"q":"a"})`},
		{"a list of items", responses, ` [ {"type":"reasoning"} , ` + item + `, 5, null ] `, given},
		{"an output that is one item", responses, `{"output":` + item + `}`, given},
		{"an output without calls", responses, `{"output":[{"type":"message"}]}`, ""},
		{"an output that is none", responses, `{"output":"x","type":"function_call"}`, ""},
		{"an output of nothing", responses, `{"output":null}`, ""},
		{"another object", responses, `{"type":"message"}`, ""},
		{"other JSON", responses, `"function_call"`, ""},
		{"no id", responses, `{"type":"function_call","id":"fc_1","name":"f"}`, `f({})`},
		{"an id of null", responses, `{"type":"function_call","call_id":null,"name":"f"}`, `f({})`},
		{"arguments of null", responses, `{"type":"function_call","name":"f","arguments":null}`, `f({})`},
		{"empty arguments", responses, `{"type":"function_call","name":"f","arguments":""}`, `f({})`},
		{"blank arguments", responses, `{"type":"function_call","name":"f","arguments":" \n"}`, `f({})`},
		{"arguments that are a list", responses, `{"type":"function_call","name":"f","arguments":[1, 2]}`, `f([1, 2])`},
		{"arguments that are a number", responses, `{"type":"function_call","name":"f","arguments":1e999}`, `f(1e999)`},
		{"a string with a string", responses, `{"type":"function_call","name":"f","arguments":"\"a\""}`, `f("a")`},
		{"escapes in names of members", responses, `{"\u0074ype":"function\u005fcall","name":"f"}`, `f({})`},

		{"a completion", chat, `{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[` + call + `]}}]}`, given},
		{"arguments that are an object", chat, `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"c","function":{"name":"f","arguments":{"a":1}}}]}}]}`, `f#c({"a":1})`},
		{"two choices", chat, `{"choices":[{"message":{"tool_calls":[` + call + `]}},{"message":{"function":{"name":"g"}}}]}`, given + ` g({})`},
		{"a choice without a message", chat, `{"choices":[{"delta":{"tool_calls":[` + call + `]}},{"message":null}]}`, ""},
		{"a message", chat, `{"role":"assistant","tool_calls":[` + call + `,{"function":{"name":"g"}}]}`, given + ` g({})`},
		{"calls that are one", chat, `{"tool_calls":` + call + `}`, given},
		{"calls of null", chat, `{"tool_calls":null,"function":{"name":"f"}}`, ""},
		{"calls that are none", chat, `{"tool_calls":"x"}`, ""},
		{"one call", chat, call, given},
		{"a list of calls", chat, `[` + call + `]`, given},
		{"the old form is not read", chat, `{"choices":[{"message":{"function_call":{"name":"f","arguments":"{}"}}}]}`, ""},
		{"another object for chat", chat, `{"a":1}`, ""},
		{"other JSON for chat", chat, `7`, ""},

		{"a message of Anthropic", messages, `{"type":"message","role":"assistant","content":[{"type":"text","text":"a"},` + use + `,{"type":"server_tool_use","id":"s","name":"web","input":{}}],"stop_reason":"tool_use"}`, used},
		{"a text of Anthropic", messages, `{"type":"message","content":"a"}`, ""},
		{"a list of blocks", messages, `[` + use + `,{"type":"tool_use","name":"g"},"x"]`, used + ` g({})`},
		{"a block", messages, use, used},
		{"a block with an input of null", messages, `{"type":"tool_use","id":null,"name":"f","input":null,"content":[]}`, `f({})`},
		{"other JSON for Anthropic", messages, `true`, ""},

		{"any: an item", anyForm, item, given},
		{"any: a list of items", anyForm, `[{"type":"reasoning"},` + item + `]`, given},
		{"any: a completion", anyForm, `{"choices":[{"message":{"tool_calls":[` + call + `]}}]}`, given},
		{"any: a list of calls", anyForm, `[` + call + `]`, given},
		{"any: a message of Anthropic", anyForm, `{"content":[` + use + `]}`, used},
		{"any: a list of blocks", anyForm, `[{"type":"text","text":"a"},` + use + `]`, used},
		{"any: a list of all", anyForm, `[` + use + `,` + call + `,` + item + `]`, used + " " + given + " " + given},
		{"any: output and choices", anyForm, `{"output":[{"type":"function_call","call_id":"a","name":"f"}],"choices":[{"message":{"function":{"name":"g"}}}]}`, `f#a({}) g({})`},
		{"any: the same call in two forms is one", anyForm, `{"content":[{"type":"tool_use","id":"x","name":"f","input":{"a": 1}}],"tool_calls":[{"id":"x","function":{"name":"f","arguments":"{\"a\":1}"}}]}`, `f#x({"a":1})`},
		{"any: two like calls of one form are two", anyForm, `{"tool_calls":[` + call + `,` + call + `]}`, given + " " + given},
		{"any: like calls without ids are two", anyForm, `{"output":[{"type":"function_call","name":"f"}],"tool_calls":[{"function":{"name":"f"}}]}`, `f({}) f({})`},
		{"any: an answer without calls", anyForm, `{"output":[{"type":"message"}]}`, ""},
		{"any: other JSON", anyForm, `[]`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			raw := json.RawMessage(tt.raw)
			calls, err := tt.form(raw)
			clear(raw) // calls share nothing with it
			if err != nil || list(calls) != tt.calls {
				t.Errorf("got %s, want %s, error %v", list(calls), tt.calls, err)
			}
		})
	}
}

func TestWrongJSONIsNamedByItsPath(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := []struct {
		name         string
		form         form
		raw          string
		path, reason string
	}{
		{"choices that are no array", chat, `{"choices":{}}`, "", "choices must be an array"},
		{"a choice that is no object", chat, `{"choices":[1]}`, "choices[0]", "must be an object"},
		{"a message that is no object", chat, `{"choices":[{"message":[]}]}`, "choices[0].message", "must be an object"},
		{"a call without a function", chat, `{"choices":[{"message":{"tool_calls":[{"function":{"name":"f"}},{"id":"a"}]}}]}`, "choices[0].message.tool_calls[1]", "missing function payload"},
		{"a call that is no object", chat, `{"tool_calls":["f"]}`, "tool_calls[0]", "must be an object"},
		{"a list with no object", chat, `[1]`, "[0]", "must be an object"},
		{"a function that is no object", chat, `{"function":"f"}`, "function", "must be an object"},
		{"a function of null", chat, `[{"function":null}]`, "[0].function", "must be an object"},
		{"no name", chat, `{"function":{"arguments":{}}}`, "function", "missing name"},
		{"a name that is no string", chat, `{"function":{"name":1}}`, "function.name", "must be a string"},
		{"an invalid name", chat, `{"function":{"name":"a b"}}`, "function.name", `invalid tool name "a b"`},
		{"an empty name", chat, `{"function":{"name":""}}`, "function.name", `invalid tool name ""`},
		{"an id that is no string", chat, `{"id":1,"function":{"name":"f"}}`, "id", "must be a string"},
		{"arguments that are no JSON", chat, `{"choices":[{"message":{"tool_calls":[{"function":{"name":"f"}},{"function":{"name":"f","arguments":"{not json}"}}]}}]}`, "choices[0].message.tool_calls[1].function.arguments", "arguments JSON: malformed JSON at byte 1"},
		{"arguments that stop", chat, `{"function":{"name":"f","arguments":" {\"a\":"}}`, "function.arguments", "arguments JSON: malformed JSON at byte 6"},
		{"two values as arguments", chat, `{"function":{"name":"f","arguments":"{}{}"}}`, "function.arguments", "arguments JSON: malformed JSON at byte 2"},
		{"a key twice in arguments", chat, `{"function":{"name":"f","arguments":"{\"a\":[{\"b\":1,\"b\":2}]}"}}`, "function.arguments.a[0]", `duplicate object key "b" (byte 13)`},
		{"a key twice behind white space", chat, `{"function":{"name":"f","arguments":"\n {\"a\":1,\"a\":2}"}}`, "function.arguments", `duplicate object key "a" (byte 9)`},
		{"arguments too deep", chat, `{"function":{"name":"f","arguments":"` + deep(65) + `"}}`, "function.arguments" + strings.Repeat("[0]", 64), "nested deeper than 64 (byte 64)"},
		{"an item without a name", responses, `{"output":[{"type":"function_call"}]}`, "output[0]", "missing name"},
		{"an item with a wrong id", responses, `[{"type":"function_call","call_id":{},"name":"f"}]`, "[0].call_id", "must be a string"},
		{"an item with broken arguments", responses, `{"output":[{"type":"function_call","name":"f","arguments":"{"}]}`, "output[0].arguments", "arguments JSON: malformed JSON at byte 1"},
		{"a block without a name", messages, `{"content":[{"type":"tool_use"}]}`, "content[0]", "missing name"},
		{"an input that is no object", messages, `{"content":[{"type":"tool_use","name":"f","input":"{}"}]}`, "content[0].input", "must be an object"},
		{"a key twice", anyForm, `{"output":[{"type":"function_call","name":"f","na\u006de":"g"}]}`, "output[0]", `duplicate object key "name" (byte 46)`},
		{"a strange key on the way", anyForm, "\n " + `{"a.b":{"":[{"x":1,"x":1}]}}`, `["a.b"][""][0]`, `duplicate object key "x" (byte 21)`},
		{"a key twice in a later item", anyForm, `{"output":[0,[1,2,{"x":1,"x":1}]]}`, "output[1][2]", `duplicate object key "x" (byte 25)`},
		{"a list of any with no call", anyForm, `[{"a":1}]`, "[0]", "missing function payload"},
		{"a list of any with no object", anyForm, `[null]`, "[0]", "must be an object"},
		{"too many calls", anyForm, `[` + strings.TrimSuffix(strings.Repeat(`{"function":{"name":"f"}},`, 129), ",") + `]`, "[128].function", "more than 128 tool calls"},
		{"too many items", responses, `{"output":[` + strings.Repeat("1,", normalize.MaxItems) + `1]}`, "output", "more than 4096 items"},
		{"too deep", responses, `{"a":` + deep(64) + `}`, "a" + strings.Repeat("[0]", 63), "nested deeper than 64 (byte 68)"},
		{"too long", responses, `"` + strings.Repeat("x", normalize.MaxJSON) + `"`, "", "longer than 4194304 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			calls, err := tt.form(json.RawMessage(tt.raw))
			var at *normalize.PathError
			if !errors.As(err, &at) || at.Path != tt.path || at.Reason != tt.reason || calls != nil {
				t.Errorf("calls %s, error %v, want %s at %s", list(calls), err, tt.reason, tt.path)
			}
			isOurs(t, err)
		})
	}
}

func TestWhatIsNoJSONIsNamedByItsPosition(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, raw    string
		offset, line int
		reason       string
	}{
		{"nothing", "", 0, 1, "malformed JSON"},
		{"a comma too many", "{\n\"a\":1,}", 8, 2, "malformed JSON"},
		{"an end too early", "{\n\"a\":[1", 8, 2, "malformed JSON"},
		{"a wrong byte at the end", "{\"a\":1]", 6, 1, "malformed JSON"},
		{"two values", `{}{}`, 2, 1, "malformed JSON"},
		{"NUL in a string", "{\"a\":\"\x00\"}", 6, 1, "malformed JSON"},
		{"invalid UTF-8", "{\n\n\"a\":\"\xff\"}", 8, 3, "invalid UTF-8"},
		{"half a character", "[\"\xe2\x82", 2, 1, "invalid UTF-8"},
		{"too many brackets to be read", strings.Repeat("[", 100_000), 10_000, 1, "nested deeper than 64"},
		{"too many brackets that are not closed", strings.Repeat("[", 100), 100, 1, "nested deeper than 64"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, f := range []form{responses, chat, messages, anyForm} {
				_, err := f(json.RawMessage(tt.raw))
				var at *normalize.SyntaxError
				if !errors.As(err, &at) || at.Offset != tt.offset || at.Line != tt.line || at.Reason != tt.reason {
					t.Errorf("got %v", err)
				}
				isOurs(t, err)
			}
		})
	}
}

func TestNormalizePicks(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, calls string }{
		{"JSON", ` [{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]`, `f#c({})`},
		{"text", "a " + block("f()"), `f({})`},
		{"text that begins like JSON", "[1] " + block("f()"), `f({})`},
		{"text without calls", "It is noon.", ""},
		{"text that looks like JSON", "{not json}", ""},
		{"a block in a string", `"` + block("f()") + `"`, `f({})`},
		{"a JSON answer", `{"temperature":21}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if calls, err := normalize.Normalize(tt.text); err != nil || list(calls) != tt.calls {
				t.Errorf("got %s, error %v", list(calls), err)
			}
		})
	}
	for _, wrong := range []string{`{"choices":1}`, start} {
		if _, err := normalize.Normalize(wrong); err == nil {
			t.Errorf("%s: no error", wrong)
		}
	}
}

func TestEachNormalizerKnowsItsForm(t *testing.T) {
	t.Parallel()
	forms := map[string]string{
		"lfm":                     block("f()"),
		"openai_responses":        `{"output":[{"type":"function_call","name":"f"}]}`,
		"openai_chat_completions": `{"choices":[{"message":{"tool_calls":[{"function":{"name":"f"}}]}}]}`,
		"anthropic":               `{"content":[{"type":"tool_use","name":"f"}]}`,
	}
	seen := map[string]bool{}
	for _, n := range normalize.All() {
		seen[n.Name()] = true
		for name, raw := range forms {
			if got := n.Applicable(raw); got != (name == n.Name()) {
				t.Errorf("%s of %s: %t", n.Name(), name, got)
			}
		}
		for _, other := range []string{"", "x", "null", "{}", "[]", "[1]", "{", "\xff"} {
			if n.Applicable(other) {
				t.Errorf("%s takes %q", n.Name(), other)
			}
		}
		if calls, err := n.Normalize(forms[n.Name()]); err != nil || list(calls) != "f({})" {
			t.Errorf("%s: %s, error %v", n.Name(), list(calls), err)
		}
	}
	if len(seen) != len(forms) {
		t.Errorf("normalizers %v", seen)
	}
}
