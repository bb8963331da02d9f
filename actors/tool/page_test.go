package tool_test

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestPageTokenIsVersionedHex(t *testing.T) {
	t.Parallel()
	p := tool.PageToken{Pointer: "/a~1b/<0>", Reason: tool.CutItems, Limit: 64}
	want := "v1:" + hex.EncodeToString([]byte(`{"pointer":"/a~1b/<0>","reason":"array_items","limit":64}`))
	if got := p.String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if back, ok := tool.DecodePageToken(want); !ok || back != p {
		t.Errorf("got %+v, %v", back, ok)
	}
}

func TestPageTokenOfSomebodyElseIsRefused(t *testing.T) {
	t.Parallel()
	of := func(text string) string { return "v1:" + hex.EncodeToString([]byte(text)) }
	good := `{"pointer":"/a","reason":"total_bytes","limit":32}`
	if _, ok := tool.DecodePageToken(of(good)); !ok {
		t.Fatal("the good one is refused")
	}
	for name, token := range map[string]string{
		"empty": "", "no prefix": of(good)[3:], "another version": "v2:" + of(good)[3:], "of the whole": "chars:4000",
		"no hex": "v1:xyz", "half a byte": of(good) + "0", "no JSON": of("{"), "more than one": of(good + good), "nothing": "v1:",
		"null": of("null"), "no object": of("[]"), "unknown reason": of(`{"pointer":"/a","reason":"x","limit":32}`),
		"no limit": of(`{"pointer":"/a","reason":"total_bytes"}`), "negative": of(`{"pointer":"/a","reason":"total_bytes","limit":-1}`),
		"no pointer":    of(`{"pointer":"a","reason":"total_bytes","limit":32}`),
		"a fraction":    of(`{"pointer":"","reason":"total_bytes","limit":1.5}`),
		"a member more": of(`{"pointer":"/a","reason":"total_bytes","limit":32,"x":1}`),
		"too long":      of(`{"pointer":"/` + strings.Repeat("a", 3000) + `","reason":"total_bytes","limit":32}`),
	} {
		if p, ok := tool.DecodePageToken(token); ok {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestTwoCutsHaveTwoTokens(t *testing.T) {
	t.Parallel()
	e := tool.Bound(json.RawMessage(`{"left":"abcdef","right":"ghijkl"}`), tool.Bounds{MaxChars: 3})
	if len(e.Omissions) != 2 || e.Omissions[0].PageToken == e.Omissions[1].PageToken {
		t.Fatalf("got %+v", e.Omissions)
	}
	for i, want := range []string{"/left", "/right"} {
		p, ok := tool.DecodePageToken(e.Omissions[i].PageToken)
		if !ok || p != (tool.PageToken{Pointer: want, Reason: tool.CutChars, Limit: 3}) {
			t.Errorf("%d: %+v, %v", i, p, ok)
		}
	}
}

// At 24 and at 32 bytes later members are left out, and their tokens say why.
func TestTotalBytesLeaveOutLaterMembers(t *testing.T) {
	t.Parallel()
	for limit, c := range map[int]struct{ payload, missing string }{
		24: {`{"first":"kept"}`, "/second /third"},
		32: {`{"first":"kept"}`, "/second /third"},
		40: {`{"first":"kept","second":"kept-too"}`, "/third"},
	} {
		in := json.RawMessage(`{"first":"kept","second":"kept-too","third":"omitted"}`)
		e := tool.Bound(in, tool.Bounds{MaxChars: 100, MaxBytes: limit})
		var missing []string
		for _, o := range e.Omissions {
			p, ok := tool.DecodePageToken(o.PageToken)
			if !ok || p.Reason != tool.CutBytes || p.Limit != limit || p.Pointer != o.Pointer {
				t.Errorf("%d: %+v, %v", limit, p, ok)
			}
			missing = append(missing, p.Pointer)
		}
		if string(e.Payload) != c.payload || strings.Join(missing, " ") != c.missing || !e.Truncated || e.OmittedValues != len(missing) {
			t.Errorf("%d: %s without %v, %d", limit, e.Payload, missing, e.OmittedValues)
		}
	}
}

// A pointer that is not there as a whole would lead elsewhere, so it has no token.
func TestALongPointerHasNoToken(t *testing.T) {
	t.Parallel()
	in, err := json.Marshal(map[string]string{strings.Repeat("n", 300): "abcd", strings.Repeat("\x01", 100): "abcd"})
	if err != nil {
		t.Fatal(err)
	}
	e := tool.Bound(in, tool.Bounds{MaxChars: 3})
	if len(e.Omissions) != 2 || e.Omissions[1].PageToken != "" || len(e.Omissions[1].Pointer) != 200 {
		t.Fatalf("got %+v", e.Omissions)
	}
	if _, ok := tool.DecodePageToken(e.Omissions[0].PageToken); !ok {
		t.Error("one with escapes is not read back")
	}
}

// A model is shown tokens where it has a tool for them.
func TestBoundedShowsTokensIfAsked(t *testing.T) {
	t.Parallel()
	long := bare{func() (tool.Result, error) { return tool.Result{Output: json.RawMessage(`"abcd"`)}, nil }}
	token := tool.PageToken{Reason: tool.CutChars, Limit: 3}.String()
	for _, asked := range []bool{false, true} {
		res, err := tool.Call(t.Context(), tool.Bounded(long, tool.Bounds{MaxChars: 3, PageTokens: asked}), nil)
		if err != nil || strings.Contains(res.Text(), token) != asked {
			t.Errorf("%v: got %s, %v", asked, res.Text(), err)
		}
	}
}

func TestEnvelopeReadsBack(t *testing.T) {
	t.Parallel()
	e := tool.Bound(json.RawMessage(`{"a":"abcdef","b":[1,2,3],"c":{"d":"secret"},"e":"a value that does not fit"}`), tool.Bounds{
		MaxChars: 5, MaxItems: 2, MaxBytes: 45, Redact: tool.RedactPointers("/c/d"),
	})
	raw, err := protocol.Marshal(e)
	if err != nil || e.OmittedChars == 0 || e.OmittedItems == 0 || e.RedactedValues == 0 || e.OmittedValues == 0 {
		t.Fatalf("%v, %+v", err, e)
	}
	var back tool.Envelope
	if err := json.Unmarshal(raw, &back); err != nil || cmp.Diff(e, back) != "" {
		t.Errorf("%v %s", err, cmp.Diff(e, back))
	}
	if raw, err = protocol.Marshal(tool.Bound(json.RawMessage(`{"sum":42}`), tool.Bounds{})); err != nil ||
		string(raw) != `{"payload":{"sum":42},"truncated":false,"omitted_chars":0,"omitted_items":0}` {
		t.Errorf("a small one: %s, %v", raw, err)
	}
}

func FuzzDecodePageToken(f *testing.F) {
	f.Add(tool.PageToken{Pointer: "/a", Reason: tool.CutBytes, Limit: 3}.String())
	f.Add("v1:7b7d")
	f.Add("chars:4000")
	f.Fuzz(func(t *testing.T, token string) {
		p, ok := tool.DecodePageToken(token)
		if !ok && p != (tool.PageToken{}) || ok && !strings.EqualFold(p.String(), token) {
			t.Errorf("%q is %+v, %v", token, p, ok)
		}
	})
}
