package tool_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestBound(t *testing.T) {
	t.Parallel()
	secret := tool.RedactPointers("/secret", "/rows/0/a~1b~0c")
	for name, c := range map[string]struct {
		in     string
		bounds tool.Bounds
		want   tool.Envelope
		as     string // the payload
	}{
		"fits":     {`{"b": 1.50, "a": "x"}`, tool.Bounds{}, tool.Envelope{}, `{"b": 1.50, "a": "x"}`},
		"nothing":  {``, tool.Bounds{}, tool.Envelope{}, `null`},
		"scalar":   {`1e400`, tool.Bounds{MaxBytes: 2}, tool.Envelope{}, `1e400`},
		"no JSON":  {"a \xff", tool.Bounds{}, tool.Envelope{}, `"a ` + "\uFFFD" + `"`},
		"no UTF-8": {"\"a\xff\"", tool.Bounds{}, tool.Envelope{}, `"a` + "\uFFFD" + `"`},
		"chars": {`{"body":"abcdef"}`, tool.Bounds{MaxChars: 3}, tool.Envelope{
			Truncated: true, OmittedChars: 3, PageToken: "chars:3", Omissions: []tool.Omission{{Pointer: "/body", Reason: tool.CutChars, Omitted: 3}},
		}, `{"body":"abc"}`},
		"whole characters": {`"äöü"`, tool.Bounds{MaxChars: 2}, tool.Envelope{
			Truncated: true, OmittedChars: 1, PageToken: "chars:2", Omissions: []tool.Omission{{Reason: tool.CutChars, Omitted: 1}},
		}, `"äö"`},
		"characters, not bytes": {`"äö"`, tool.Bounds{MaxChars: 2}, tool.Envelope{}, `"äö"`},
		"items": {`{"rows":[1,2,3,4]}`, tool.Bounds{MaxItems: 2}, tool.Envelope{
			Truncated: true, OmittedItems: 2, PageToken: "items:2", Omissions: []tool.Omission{{Pointer: "/rows", Reason: tool.CutItems, Omitted: 2}},
		}, `{"rows":[1,2]}`},
		"what is left out is not counted, the array comes first": {`["abc","abc","abc"]`, tool.Bounds{MaxItems: 1, MaxChars: 2}, tool.Envelope{
			Truncated: true, OmittedItems: 2, OmittedChars: 1, PageToken: "items:1", Omissions: []tool.Omission{
				{Reason: tool.CutItems, Omitted: 2}, {Pointer: "/0", Reason: tool.CutChars, Omitted: 1},
			},
		}, `["ab"]`},
		"bytes": {`{"a":"12345678","b":"123456789","c":1}`, tool.Bounds{MaxBytes: 24}, tool.Envelope{
			Truncated: true, OmittedValues: 1, PageToken: "bytes:24", Omissions: []tool.Omission{{Pointer: "/b", Reason: tool.CutBytes, Omitted: 1}},
		}, `{"a":"12345678","c":1}`},
		"bytes of a text": {`"a\"bcdef"`, tool.Bounds{MaxBytes: 7}, tool.Envelope{
			Truncated: true, OmittedChars: 3, PageToken: "bytes:7", Omissions: []tool.Omission{{Reason: tool.CutBytes, Omitted: 3}},
		}, `"a\"bc"`},
		"bytes of a list in an object": {`{"rows":["aaaa","bbbb","cccc"],"z":[["dddddddd"]]}`, tool.Bounds{MaxBytes: 30}, tool.Envelope{
			Truncated: true, OmittedValues: 2, PageToken: "bytes:30", Omissions: []tool.Omission{
				{Pointer: "/rows/2", Reason: tool.CutBytes, Omitted: 1}, {Pointer: "/z", Reason: tool.CutBytes, Omitted: 1},
			},
		}, `{"rows":["aaaa","bbbb"]}`},
		"redacted": {`{"secret":{"a":"abcdefgh"},"rows":[{"a/b~c":1},2]}`, tool.Bounds{Redact: secret, MaxChars: 4}, tool.Envelope{
			RedactedValues: 2,
		}, `{"rows":[{"a/b~c":"[redacted]"},2],"secret":"[redacted]"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.want.Payload = json.RawMessage(c.as)
			for i, o := range c.want.Omissions {
				limit, err := strconv.Atoi(c.want.PageToken[strings.LastIndex(c.want.PageToken, ":")+1:])
				if o.Reason == tool.CutChars && c.bounds.MaxChars > 0 {
					limit = c.bounds.MaxChars
				}
				if err != nil {
					t.Fatal(err)
				}
				c.want.Omissions[i].PageToken = tool.PageToken{Pointer: o.Pointer, Reason: o.Reason, Limit: limit}.String()
			}
			if d := cmp.Diff(c.want, tool.Bound(json.RawMessage(c.in), c.bounds)); d != "" {
				t.Error(d)
			}
		})
	}
}

// The defaults, and others, of case A9.
func TestBoundDefaults(t *testing.T) {
	t.Parallel()
	in, err := json.Marshal(map[string]any{"blob": strings.Repeat("x", 10_000), "items": make([]int, 200)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		bounds       tool.Bounds
		chars, items int
	}{{tool.Bounds{}, 4000, 64}, {tool.Bounds{MaxChars: 128, MaxItems: 8}, 128, 8}} {
		e := tool.Bound(in, c.bounds)
		var got struct {
			Blob  string
			Items []int
		}
		if err := json.Unmarshal(e.Payload, &got); err != nil || len(got.Blob) != c.chars || len(got.Items) != c.items ||
			e.OmittedChars != 10_000-c.chars || e.OmittedItems != 200-c.items {
			t.Errorf("%d, %d, %+v, %v", len(got.Blob), len(got.Items), e, err)
		}
		raw, err := protocol.Marshal(e)
		var back tool.Envelope
		if err != nil || json.Unmarshal(raw, &back) != nil || cmp.Diff(e, back) != "" {
			t.Errorf("does not read back: %v %s", err, raw)
		}
	}
}

func TestOmissionsAreBounded(t *testing.T) {
	t.Parallel()
	in, err := json.Marshal(map[string][]string{strings.Repeat("ä", 10_000): strings.Split(strings.Repeat("long ", 60), " ")})
	if err != nil {
		t.Fatal(err)
	}
	e := tool.Bound(in, tool.Bounds{MaxChars: 1})
	if len(e.Omissions) != 8 || len(e.Omissions[0].Pointer) > 200 || !utf8.ValidString(e.Omissions[0].Pointer) || e.OmittedChars != 180 {
		t.Errorf("got %d, %+v", len(e.Omissions), e.OmittedChars)
	}
}

func TestBounded(t *testing.T) {
	t.Parallel()
	cost := protocol.MustDecimal("0.5")
	of := func(output string, err error) tool.Tool {
		return tool.Bounded(bare{func() (tool.Result, error) {
			return tool.Result{Output: json.RawMessage(output), Effects: protocol.Effects{protocol.Log{}}, Cost: &cost}, err
		}}, tool.Bounds{MaxChars: 3, Redact: tool.RedactPointers("/p")})
	}
	for in, want := range map[string]string{
		`"abc"`:             `abc`,
		`{"p":"abcdefghi"}`: `{"p":"[redacted]"}`,
		`"abcd"`: `{"payload":"abc","truncated":true,"omitted_chars":1,"omitted_items":0,"page_token":"chars:3",` +
			`"omitted_segments":[{"pointer":"","reason":"string_chars","omitted":1}]}`,
		``: `null`,
	} {
		res, err := tool.Call(t.Context(), of(in, nil), nil)
		if err != nil || res.Text() != want || len(res.Effects) != 1 || res.Cost != &cost {
			t.Errorf("%s: got %s, %v", in, res.Text(), err)
		}
	}
	if res, err := tool.Call(t.Context(), of(`1`, protocol.ErrToolFailed("x")), nil); err == nil || res.Cost != &cost {
		t.Errorf("got %v with %v", err, res.Cost)
	}
	if _, needed := tool.NeedsApproval(tool.Bounded(echo(tool.RequiresApproval()), tool.Bounds{}), nil); !needed {
		t.Error("the approval is lost")
	}
}

func FuzzBound(f *testing.F) {
	for _, s := range []string{``, `null`, `{"a":["b",{"c":"ä"}]}`, `"\ud800"`, "\xff", `[[[["x"]]]]`, `{"":""}`, `1e999`} {
		f.Add([]byte(s), uint8(3), uint8(2), uint8(20))
	}
	f.Fuzz(func(t *testing.T, in []byte, chars, items, bytes uint8) {
		b := tool.Bounds{MaxChars: int(chars), MaxItems: int(items), MaxBytes: int(bytes)}
		e := tool.Bound(in, b)
		if !json.Valid(e.Payload) || !utf8.Valid(e.Payload) {
			t.Fatalf("%q became %q", in, e.Payload)
		}
		structured := e.Payload[0] == '{' || e.Payload[0] == '[' || e.Payload[0] == '"'
		if limit := max(2, int(bytes)); bytes > 0 && structured && len(strings.TrimSpace(string(e.Payload))) > limit {
			t.Errorf("%q at %d became %q", in, limit, e.Payload)
		}
	})
}
