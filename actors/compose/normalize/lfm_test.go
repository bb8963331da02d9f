package normalize_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compose/normalize"
)

func TestTextWithCalls(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, calls, outside string }{
		{"one call", block("[get_weather(city='Berlin')]"), `get_weather({"city":"Berlin"})`, ""},
		{"a string and a number", block("[search(query='rust async', limit=10)]"), `search({"query":"rust async","limit":10})`, ""},
		{"no arguments", block("[list_tools()]"), `list_tools({})`, ""},
		{"two calls in a block", block("[a(x=1), b(y=2)]"), `a({"x":1}) b({"y":2})`, ""},
		{"two blocks with text between", block("[a()]") + " and " + block("[b()]"), `a({}) b({})`, " and "},
		{"text around", "Let me look.\n" + block("[a()]") + "\nDone.", `a({})`, "Let me look.\n\nDone."},
		{"without brackets", block("ping(target='8.8.8.8')"), `ping({"target":"8.8.8.8"})`, ""},
		{"a list of strings and an object", block("[f(items=['a,b','c'], meta={'city':'Berlin','coords':[52.52,13.405],'active':True})]"), `f({"items":["a,b","c"],"meta":{"city":"Berlin","coords":[52.52,13.405],"active":true}})`, ""},
		{"a comma in a string", block("[say(text='hello, world')]"), `say({"text":"hello, world"})`, ""},
		{"commas in strings, lists and objects", block(`f(a='x,y', b=2), g(a=[1, 2], b={'x': 'y,z'}, c=3)`), `f({"a":"x,y","b":2}) g({"a":[1,2],"b":{"x":"y,z"},"c":3})`, ""},
		{"commas too many", block("[,a(,x=1,,y=2,),,b(),]"), `a({"x":1,"y":2}) b({})`, ""},
		{"an empty list of calls", block("[]"), ``, ""},
		{"an empty block", block(""), ``, ""},
		{"white space in a block", block(" \n\u00a0[ a ( x = 1 ) , b ( ) ]\t "), `a({"x":1}) b({})`, ""},
		{"names with dots and lines", block("[math.add-2_x(a.b-c_d=1)]"), `math.add-2_x({"a.b-c_d":1})`, ""},
		{"no block", "It is <b>noon</b>.", ``, "It is <b>noon</b>."},
		{"an end marker alone", "a" + end + "b", ``, "a" + end + "b"},
		{"an end marker behind a block", block("a()") + end, `a({})`, end},
		{"half a marker", "a <|tool_call_st", ``, "a <|tool_call_st"},
		{"no text", "", ``, ""},
		{"bytes that are no text outside of blocks", "\xff\x00" + block("a()") + "\xfe", `a({})`, "\xff\x00\xfe"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			calls, outside, err := normalize.LFM{}.Parse(tt.text)
			if err != nil || list(calls) != tt.calls || outside != tt.outside {
				t.Errorf("calls %s, outside %q, error %v", list(calls), outside, err)
			}
			if again, err := (normalize.LFM{}).Normalize(tt.text); err != nil || list(again) != tt.calls {
				t.Errorf("normalized %s, error %v", list(again), err)
			}
		})
	}
}

func TestOnlyAStartMarkerMakesTextApplicable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": false, "a": false, end: false, start: true, "a" + start: true, start[1:]: false} {
		if got := (normalize.LFM{}).Applicable(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, value, want string }{
		{"an integer", "42", `42`},
		{"a negative one", "-5", `-5`},
		{"one with a plus", "+5", `5`},
		{"zero", "0", `0`},
		{"minus zero", "-0", `-0`},
		{"a float", "0.7", `0.7`},
		{"a float that begins with a point", ".5", `0.5`},
		{"a negative one that does", "-.5", `-0.5`},
		{"a float that ends with a point", "5.", `5.0`},
		{"an exponent", "1e3", `1e3`},
		{"an exponent with a sign", "1.5E-3", `1.5E-3`},
		{"an integer beyond 64 bits keeps its digits", "123456789012345678901234567890", `123456789012345678901234567890`},
		{"a float with many digits keeps them", "3.14159265358979323846264338327950288", `3.14159265358979323846264338327950288`},
		{"a code that begins with a zero", "01234", `"01234"`},
		{"a number with underscores", "1_000", `"1_000"`},
		{"a hexadecimal number", "0x10", `"0x10"`},
		{"half an exponent", "1e", `"1e"`},
		{"signs alone", "+-", `"+-"`},
		{"a point alone", ".", `"."`},

		{"True", "True", `true`},
		{"False", "False", `false`},
		{"None", "None", `null`},
		{"null", "null", `null`},
		{"lower-case true is a boolean", "true", `true`},
		{"lower-case false is a boolean", "false", `false`},
		{"other spellings are strings", "TRUE", `"TRUE"`},

		{"single quotes", "'world'", `"world"`},
		{"double quotes", `"world"`, `"world"`},
		{"an empty string", "''", `""`},
		{"nothing", "", `""`},
		{"quotes of the other kind", `'a"b'`, `"a\"b"`},
		{"escaped quotes of both kinds", `'\'\"'`, `"'\""`},
		{"escaped line ends and tabs", `'a\nb\tc\rd'`, `"a\nb\tc\rd"`},
		{"an escaped backslash", `'a\\'`, `"a\\"`},
		{"an escaped backslash before n", `'a\\n'`, `"a\\n"`},
		{"other backslashes stay", `'\d+\bx\q'`, `"\\d+\\bx\\q"`},
		{"a code point", `'\u00e9\u0041'`, `"éA"`},
		{"a pair of surrogates", `'\ud83d\ude00'`, `"😀"`},
		{"half a pair stays", `'\ud83d\n'`, "\"\\\\ud83d\\n\""},
		{"half a pair before a character stays", `'\ud83d\u0041'`, `"\\ud83dA"`},
		{"half a pair before digits stays", `'\ud83dxxde00'`, `"\\ud83dxxde00"`},
		{"too few digits stay", `'\u12'`, `"\\u12"`},
		{"a line end in a string", "'a\nb'", `"a\nb"`},
		{"an end marker in a string", "'" + end + "'", `"` + end + `"`},
		{"a start marker in a string", "'" + start + "'", `"` + start + `"`},
		{"markers behind an escaped quote", `'\'` + end + "'", `"'` + end + `"`},
		{"brackets in a string", "'[({'", `"[({"`},

		{"words without quotes", "foo bar", `"foo bar"`},
		{"white space around words", "  foo \u00a0 ", `"foo"`},
		{"brackets without quotes", "(1,2)", `"(1,2)"`},
		{"a call without quotes", "g(x, y)[0]", `"g(x, y)[0]"`},
		{"an address with an equals sign", "https://a.example/?b=c&d=e", `"https://a.example/?b=c&d=e"`},
		{"a comparison", "x >= 5", `"x >= 5"`},
		{"another comparison", "x and y == 5", `"x and y == 5"`},
		{"a less-than sign", "a < b <| c", `"a < b <| c"`},
		{"a backslash without quotes", `C:\dir`, `"C:\\dir"`},

		{"an empty list", "[]", `[]`},
		{"a list with a comma at the end", "[1,2,]", `[1,2]`},
		{"lists in lists", "[[1],[],['a']]", `[[1],[],["a"]]`},
		{"words in a list", "[a b, c]", `["a b","c"]`},
		{"an empty object", "{}", `{}`},
		{"an object with a comma at the end", "{'a': 1,}", `{"a":1}`},
		{"keys without quotes", "{a: 1, b c: 2}", `{"a":1,"b c":2}`},
		{"a colon in a value", "{a: b:c}", `{"a":"b:c"}`},
		{"an empty value", "{a:}", `{"a":""}`},
		{"a key that is a number in quotes", "{'1': 2}", `{"1":2}`},
		{"an empty key in quotes", "{'': 2}", `{"":2}`},
		{"an object in a list in an object", "{'a':[{'b':None}]}", `{"a":[{"b":null}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			calls, _, err := normalize.LFM{}.Parse(block("[f(v=" + tt.value + ")]"))
			if got := list(calls); err != nil || got != `f({"v":`+tt.want+`})` {
				t.Errorf("got %s, error %v", got, err)
			}
		})
	}
}

func TestDepthMayBeReached(t *testing.T) {
	t.Parallel()
	n := normalize.MaxDepth
	for _, v := range []string{
		strings.Repeat("[", n) + strings.Repeat("]", n), "x" + strings.Repeat("(", n) + strings.Repeat(")", n),
		strings.Repeat("{a:", n) + strings.Repeat("}", n),
	} {
		if _, _, err := (normalize.LFM{}).Parse(block("f(v=" + v + ")")); err != nil {
			t.Errorf("%.10q: %v", v, err)
		}
	}
}

// malformed are blocks with what is wrong, at which byte behind the start marker.
var malformed = []struct {
	name, inside, reason string
	at                   int
}{
	{"no parenthesis", "[not_a_call]", "expected '('", 11},
	{"no parenthesis before a comma", "a, b()", "expected '('", 1},
	{"an empty name", "[ (a=1)]", "empty tool name", 2},
	{"a slash in a name", "[bad/name(arg=1)]", `invalid tool name "bad/name"`, 1},
	{"a space in a name", "[a b()]", `invalid tool name "a b"`, 1},
	{"a bracket that is not closed", "[a()", `invalid tool name "[a"`, 0},
	{"brackets twice", "[[a()]]", `invalid tool name "[a"`, 1},
	{"quotes in a name", "'a'()", "invalid tool name \"'a'\"", 0},
	{"a name that is too long", strings.Repeat("a", 257) + "()", `invalid tool name "` + strings.Repeat("a", 40) + `..."`, 0},
	{"no closing parenthesis", "[fn(a=1]", "missing closing ')'", 7},
	{"no closing parenthesis behind nothing", "fn(", "missing closing ')'", 3},
	{"no closing parenthesis behind a key", "fn(a", "missing closing ')'", 4},
	{"text behind a call", "[fn(arg=1) extra]", "trailing content", 11},
	{"a bracket behind a call", "fn(arg=1)]", "trailing content", 9},
	{"two calls without a comma", "f(a=1) g(b=2)", "trailing content", 7},
	{"a parenthesis too many", "f(a=1))", "trailing content", 6},

	{"an argument without a name", "[fn(badarg)]", "kwarg without '='", 4},
	{"a string without a name", "[fn('a=b')]", "kwarg without '='", 4},
	{"an empty key", "[fn(=1)]", "empty kwarg name", 4},
	{"a space in a key", "fn(a b=1)", `invalid kwarg name "a b"`, 3},
	{"an argument twice", "[f(city='a', city='b')]", `duplicate kwarg "city"`, 13},
	{"two strings in a row", "f(a='a' 'b')", "trailing content", 8},
	{"a word behind a string", "f(a='a'b)", "trailing content", 7},
	{"a string behind a word", "f(a=b 'a')", "quote inside an unquoted value", 6},
	{"an apostrophe in a word", "f(a=it's, b=x')", "quote inside an unquoted value", 6},
	{"arguments without a comma", "f(a=1 b=2)", `missing ',' before "b"`, 6},
	{"arguments without a comma, with spaces", "f(a=foo b = 2)", `missing ',' before "b"`, 8},
	{"something behind a list", "f(a=[1] 2)", "trailing content", 8},
	{"brackets of two kinds in a word", "f(a=x(1])", "unexpected ']'", 7},
	{"a bracket in a word that is not closed", "f(a=x[1)", "unexpected ')'", 7},
	{"a bracket in a word to the end", "f(a=x(1", "missing closing ')'", 7},
	{"a closing bracket behind a word", "f(a=x])", "trailing content", 5},

	{"a list without end", "[fn(items=['a','b')]", "unterminated list literal", 10},
	{"a list to the end", "fn(items=['a'", "unterminated list literal", 9},
	{"an empty place in a list", "f(a=[1,,2])", "empty list item", 7},
	{"only a comma in a list", "f(a=[,])", "empty list item", 5},
	{"items without a comma", "f(a=['a' 'b'])", "trailing content", 9},
	{"an object without end", "f(a={'a':1)", "unterminated object literal", 4},
	{"an object to the end", "f(a={", "unterminated object literal", 4},
	{"an object to the end of a key", "f(a={'a'", "unterminated object literal", 4},
	{"an entry without a colon", "f(a={1,2})", "object key must be a string", 5},
	{"an entry of a word without a colon", "f(a={a,b})", "object entry without ':'", 5},
	{"an entry of a string without a colon", "f(a={'a'})", "object entry without ':'", 5},
	{"an empty entry", "f(a={,})", "object entry without ':'", 5},
	{"a number as a key", "f(a={1:2})", "object key must be a string", 5},
	{"a boolean as a key", "f(a={True:2})", "object key must be a string", 5},
	{"nothing as a key", "f(a={None:2})", "object key must be a string", 5},
	{"no key", "f(a={:2})", "object key must be a string", 5},
	{"a list as a key", "f(a={[1]:2})", "object key must be a string", 5},
	{"a key twice", "f(a={'b':1,b:2})", `duplicate object key "b"`, 11},

	{"nan", "f(a=nan)", "non-finite float", 4},
	{"NaN", "f(a=NaN)", "non-finite float", 4},
	{"-inf", "f(a=-inf)", "non-finite float", 4},
	{"Infinity", "f(a=[1,Infinity])", "non-finite float", 7},
	{"1e999", "f(a=1e999)", "non-finite float", 4},
	{"more digits than a float has", "f(a=" + strings.Repeat("9", 400) + ")", "non-finite float", 4},

	{"NUL", "f(a='\x00')", "control character U+0000", 5},
	{"an escape character in a name", "\x1b[31mf()", "control character U+001B", 0},
	{"a byte that is no UTF-8", "f(a='\xff')", "invalid UTF-8", 5},
	{"half a character", "f(a='\xe2\x82')", "invalid UTF-8", 5},
	{"a call that begins within", "[a()] " + start + "[b()]", "unclosed tool call block, and another begins in it", -len(start)},
}

func TestMalformedBlocks(t *testing.T) {
	t.Parallel()
	const before = "One line.\nTwö: "
	for _, tt := range malformed {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			calls, outside, err := normalize.LFM{}.Parse(before + block(tt.inside) + block("[fine()]"))
			var at *normalize.SyntaxError
			if !errors.As(err, &at) || calls != nil || outside != "" {
				t.Fatalf("calls %s, outside %q, error %v", list(calls), outside, err)
			}
			isOurs(t, err)
			offset := len(before) + len(start) + tt.at
			if at.Offset != offset || at.Line != 2 || at.Column != len("Two: ")+len(start)+tt.at+1 || !strings.HasPrefix(at.Reason, tt.reason) {
				t.Errorf("got %v, want %s at byte %d", at, tt.reason, offset)
			}
			if want := fmt.Sprintf("tool-call normalizer failed: %s at line 2, column %d (byte %d)", at.Reason, at.Column, offset); err.Error() != want {
				t.Errorf("text %q, want %q", err, want)
			}
		})
	}
}

func TestUnclosedBlocks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text, reason string
		at                 int
	}{
		{"a start marker alone", "a" + start, "unclosed tool call block", 1},
		{"a call without an end marker", "a" + start + "[f()]", "unclosed tool call block", 1},
		{"half an end marker", start + "[f()]<|tool_call_en", "unclosed tool call block", 0},
		{"a quote that is not closed", start + "[f(a='x)]" + end, "unclosed tool call block: unterminated single-quoted string", len(start) + 5},
		{"a double quote that is not closed", start + `[f(a="x)]` + end, "unclosed tool call block: unterminated double-quoted string", len(start) + 5},
		{"an escaped quote", start + `[f(a='x\')]` + end, "unclosed tool call block: unterminated single-quoted string", len(start) + 5},
		{"a backslash at the end", start + `[f(a='x\`, "unclosed tool call block: unterminated single-quoted string", len(start) + 5},
		{"the second block", block("a()") + start, "unclosed tool call block", len(block("a()"))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			calls, _, err := normalize.LFM{}.Parse(tt.text)
			var at *normalize.SyntaxError
			if !errors.As(err, &at) || at.Offset != tt.at || at.Reason != tt.reason || calls != nil {
				t.Errorf("calls %s, error %v, want %s at byte %d", list(calls), err, tt.reason, tt.at)
			}
			isOurs(t, err)
		})
	}
}

func TestOneBadBlockFailsTheWholeMessage(t *testing.T) {
	t.Parallel()
	for _, text := range []string{block("good()") + block("bad"), block("good(), bad")} {
		if calls, _, err := (normalize.LFM{}).Parse(text); err == nil || calls != nil {
			t.Errorf("calls %s, error %v", list(calls), err)
		}
	}
}

func TestLimitsOfText(t *testing.T) {
	t.Parallel()
	many := func(n int, s string) string { return strings.TrimSuffix(strings.Repeat(s+", ", n), ", ") }
	kwargs := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("a%d=%d", i, i))
		}
		return "f(" + strings.Join(all, ",") + ")"
	}
	long := func(n int) string { return "f(a='" + strings.Repeat("x", n-len("f(a='')")) + "')" }
	tests := []struct{ name, text, reason string }{
		{"calls at the limit", block(many(normalize.MaxCalls, "f()")), ""},
		{"a call too many", block(many(normalize.MaxCalls+1, "f()")), "more than 128 tool calls"},
		{"a call too many in another block", block(many(normalize.MaxCalls, "f()")) + block("f()"), "more than 128 tool calls"},
		{"arguments at the limit", block(kwargs(normalize.MaxArguments)), ""},
		{"an argument too many", block(kwargs(normalize.MaxArguments + 1)), "more than 128 kwargs"},
		{"bytes at the limit", block(long(normalize.MaxBytes)), ""},
		{"a byte too many", block(long(normalize.MaxBytes + 1)), "the tool call blocks are longer than 1048576 bytes"},
		{"a byte too many in another block", block(long(normalize.MaxBytes)) + block(" "), "the tool call blocks are longer than 1048576 bytes"},
		{"long text outside", strings.Repeat("x", 2*normalize.MaxBytes) + block("f()"), ""},
		{"lists too deep", block("f(a=" + strings.Repeat("[", 65) + strings.Repeat("]", 65) + ")"), "nested deeper than 64"},
		{"objects too deep", block("f(a=" + strings.Repeat("{a:", 65) + strings.Repeat("}", 65) + ")"), "nested deeper than 64"},
		{"brackets of words too deep", block("f(a=" + strings.Repeat("(", 65) + strings.Repeat(")", 65) + ")"), "nested deeper than 64"},
		{"brackets of words in lists too deep", block("f(a=[x" + strings.Repeat("(", 64) + strings.Repeat(")", 64) + "])"), "nested deeper than 64"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := normalize.LFM{}.Parse(tt.text)
			if tt.reason == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var at *normalize.SyntaxError
			if !errors.As(err, &at) || !strings.HasPrefix(at.Reason, tt.reason) {
				t.Errorf("got %v, want %s", err, tt.reason)
			}
		})
	}
}

func TestBigIntegersAreExactForWhoReadsThemSo(t *testing.T) {
	t.Parallel()
	calls, _, err := normalize.LFM{}.Parse(block("f(n=9223372036854775808)"))
	if err != nil {
		t.Fatal(err)
	}
	var in struct {
		N json.Number `json:"n"`
	}
	if err := json.Unmarshal(calls[0].Input, &in); err != nil || in.N != "9223372036854775808" {
		t.Errorf("got %v, error %v", in.N, err)
	}
}
