package normalize_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/compose/normalize"
	"github.com/skelegent/skelegent-go/protocol"
)

// sound checks calls that were accepted.
func sound(t *testing.T, calls []protocol.ToolCall) {
	t.Helper()
	if len(calls) > normalize.MaxCalls {
		t.Fatalf("%d calls", len(calls))
	}
	for _, c := range calls {
		if !compose.IsIdentifier(c.Name) || !json.Valid(c.Input) || !utf8.Valid(c.Input) {
			t.Fatalf("call %+v", c)
		}
	}
	if _, err := protocol.Marshal(calls); err != nil {
		t.Fatal(err)
	}
}

func texts(f *testing.F) {
	for _, tt := range malformed {
		f.Add("ä\n" + block(tt.inside) + "x")
	}
	for _, s := range []string{
		"", "a " + block("[f(city='Berlin', n=5), g(a=[1,{'b':None},], c=x(1,2), d='"+end+"')]") + " b " + block("h()"), start, end, "<|tool_call_<|tool_call_start|>",
		block(`f(a='\u00e9\ud83d\ude00\n\q\'', b=true, c=-1.5e3, d=007, e=.5)`), block("f(a=b c=d)"), start + "[f(a='x)]" + end,
	} {
		f.Add(s)
	}
}

func FuzzLFM(f *testing.F) {
	texts(f)
	f.Fuzz(func(t *testing.T, text string) {
		calls, outside, err := normalize.LFM{}.Parse(text)
		if err == nil {
			sound(t, calls)
			for _, c := range calls {
				var in map[string]any
				dec := json.NewDecoder(strings.NewReader(string(c.Input)))
				dec.UseNumber()
				if err := dec.Decode(&in); err != nil || len(in) > normalize.MaxArguments {
					t.Fatalf("input %s: %v", c.Input, err)
				}
			}
			if len(outside) > len(text) || !strings.Contains(text, start) && (outside != text || calls != nil) {
				t.Fatalf("outside %q of %q", outside, text)
			}
			return
		}
		isOurs(t, err)
		var at *normalize.SyntaxError
		if !errors.As(err, &at) || at.Offset < 0 || at.Offset > len(text) || calls != nil || outside != "" || !strings.Contains(text, start) {
			t.Fatalf("%v", err)
		}
		before := text[:at.Offset]
		line := strings.Count(before, "\n") + 1
		column := 1
		for _, c := range []byte(before[strings.LastIndex(before, "\n")+1:]) {
			if c < 0x80 || c > 0xBF {
				column++
			}
		}
		if at.Line != line || at.Column != column {
			t.Fatalf("%v, but byte %d is at line %d, column %d", at, at.Offset, line, column)
		}
	})
}

func FuzzStream(f *testing.F) {
	texts(f)
	f.Fuzz(func(t *testing.T, text string) {
		sameInPieces(t, text, rand.New(rand.NewPCG(uint64(len(text)), 1)))
	})
}

func fuzzJSON(f *testing.F, read form, name string, seeds ...string) {
	f.Helper()
	for _, s := range append(seeds, "", "{", "[]", `{"a":{"a":[1,{"b":"\u0062"}]}}`, `{"a":1,"\u0061":2}`, "\"\xff\"", " null ") {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		all, anyErr := normalize.Any(raw)
		if anyErr != nil {
			isOurs(t, anyErr)
		}
		sound(t, all)
		calls, err := read(raw)
		for _, n := range normalize.All() {
			applicable := n.Applicable(string(raw))
			again, failed := n.Normalize(string(raw))
			if n.Name() == name && ((failed == nil) != (err == nil) || list(again) != list(calls) || len(calls) > 0 && !applicable) {
				t.Fatalf("as a normalizer %s, %v, applicable %t; as a function %s, %v", list(again), failed, applicable, list(calls), err)
			}
		}
		if err != nil {
			isOurs(t, err)
			if calls != nil {
				t.Fatalf("calls %s with %v", list(calls), err)
			}
			var at *normalize.SyntaxError
			if errors.As(err, &at) && (at.Offset < 0 || at.Offset > len(raw) || json.Valid(raw) && utf8.Valid(raw)) {
				t.Fatalf("%v", at)
			}
			return
		}
		sound(t, calls)
		if !json.Valid(raw) {
			t.Fatal("read from what is no JSON")
		}
		if anyErr == nil && raw[0] == '{' && len(calls) > len(all) {
			t.Fatalf("%s, but any %s", list(calls), list(all))
		}
	})
}

func FuzzResponses(f *testing.F) {
	fuzzJSON(f, responses, "openai_responses",
		`{"output":[{"type":"message"},{"type":"function_call","id":"a","call_id":"b","name":"f","arguments":"{\"a\":1}"}]}`,
		`[{"type":"function_call","name":"f","arguments":{"a":[]}},1]`, `{"type":"function_call","name":"","call_id":1}`,
		`{"output":{"type":"function_call","name":"f","arguments":"{"}}`)
}

func FuzzChat(f *testing.F) {
	fuzzJSON(f, chat, "openai_chat_completions",
		`{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}},{"delta":1}]}`,
		`{"tool_calls":{"function":{"name":"f","arguments":" "}}}`, `[{"function":{"name":"f","arguments":[1]}},{"function":1}]`,
		`{"choices":1}`, `{"function":{"name":"a b","arguments":"{\"a\":1,\"a\":2}"}}`)
}

func FuzzAnthropic(f *testing.F) {
	fuzzJSON(f, messages, "anthropic",
		`{"type":"message","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"a","name":"f","input":{"a":1}}]}`,
		`[{"type":"tool_use","name":"f","input":null},"x"]`, `{"type":"tool_use","id":"a","name":"f","input":"x"}`)
}
