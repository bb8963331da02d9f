package tool_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/tool"
)

func TestRedaction(t *testing.T) {
	t.Parallel()
	const in = `{"a":{"b":"one","c":"two"},"ab":"three","d":[{"e":1,"f":2},"x"],"g/h~i":"four"}`
	for name, c := range map[string]struct {
		how  tool.Redaction
		want string
		n    int
	}{
		"nothing":    {tool.Redaction{}, in, 0},
		"one denied": {tool.Redaction{Deny: []tool.Deny{{Pointer: "/a/b"}}}, strings.Replace(in, `"one"`, `"[redacted]"`, 1), 1},
		"exactly one": {
			tool.Redaction{Deny: []tool.Deny{{Pointer: "/a"}}},
			strings.Replace(in, `{"b":"one","c":"two"}`, `"[redacted]"`, 1), 1,
		},
		"each its own": {
			tool.Redaction{Deny: []tool.Deny{{"/a/b", "X"}, {"/a/c", ""}, {"/d/0/e", "Y"}}, Replacement: "Z"},
			`{"a":{"b":"X","c":"Z"},"ab":"three","d":[{"e":"Y","f":2},"x"],"g/h~i":"four"}`, 3,
		},
		"escaped": {tool.Redaction{Deny: []tool.Deny{{Pointer: "/g~1h~0i"}}}, strings.Replace(in, `"four"`, `"[redacted]"`, 1), 1},
		"all":     {tool.Redaction{Deny: []tool.Deny{{Pointer: ""}}}, `"[redacted]"`, 1},
		"only what is allowed": {
			tool.Redaction{Allow: []string{"/a/b", "/d/0"}},
			`{"a":{"b":"one","c":"[redacted]"},"ab":"[redacted]","d":[{"e":1,"f":2},"[redacted]"],"g/h~i":"[redacted]"}`, 4,
		},
		"what is in it": {
			tool.Redaction{Allow: []string{"/a"}},
			`{"a":{"b":"one","c":"two"},"ab":"[redacted]","d":"[redacted]","g/h~i":"[redacted]"}`, 3,
		},
		"all is allowed":     {tool.Redaction{Allow: []string{""}}, in, 0},
		"nothing is allowed": {tool.Redaction{Allow: []string{}, Replacement: "no"}, `"no"`, 1},
		"a name is no part of another": {
			tool.Redaction{Allow: []string{"/ab"}, Replacement: "no"},
			`{"a":"no","ab":"three","d":"no","g/h~i":"no"}`, 3,
		},
		"denied though allowed": {
			tool.Redaction{Allow: []string{"/a"}, Deny: []tool.Deny{{"/a/c", "out"}}},
			`{"a":{"b":"one","c":"out"},"ab":"[redacted]","d":"[redacted]","g/h~i":"[redacted]"}`, 4,
		},
		"a string holds nothing that is allowed": {
			tool.Redaction{Allow: []string{"/ab/x", "/a/b"}},
			`{"a":{"b":"one","c":"[redacted]"},"ab":"[redacted]","d":"[redacted]","g/h~i":"[redacted]"}`, 4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := tool.Bound(json.RawMessage(in), tool.Bounds{Redact: c.how.Func()})
			if string(e.Payload) != c.want || e.RedactedValues != c.n || e.Truncated || e.PageToken != "" {
				t.Errorf("got %s, %+v", e.Payload, e)
			}
		})
	}
}

// What is redacted is so before anything is cut, and its replacement stays whole.
func TestRedactionComesBeforeTheBounds(t *testing.T) {
	t.Parallel()
	how := tool.Redaction{Deny: []tool.Deny{{Pointer: "/credentials/token", Replacement: "[safe to show]"}}}
	e := tool.Bound(json.RawMessage(`{"credentials":{"token":"very-sensitive"},"body":"abcdefghi"}`),
		tool.Bounds{MaxChars: 4, Redact: how.Func()})
	if string(e.Payload) != `{"body":"abcd","credentials":{"token":"[safe to show]"}}` || e.RedactedValues != 1 ||
		len(e.Omissions) != 1 || e.Omissions[0].Pointer != "/body" {
		t.Errorf("got %s, %+v", e.Payload, e)
	}
	e = tool.Bound(json.RawMessage(`{"secret":"abcdefgh"}`), tool.Bounds{
		MaxChars: 4, Redact: tool.Redaction{Deny: []tool.Deny{{Pointer: "/secret"}}, Replacement: "safe"}.Func(),
	})
	if string(e.Payload) != `{"secret":"safe"}` || e.Truncated {
		t.Errorf("got %s, %+v", e.Payload, e)
	}
}

func TestRedactPointersOfNothing(t *testing.T) {
	t.Parallel()
	if _, replace := tool.RedactPointers()("", "x"); replace {
		t.Error("it replaces")
	}
}

// A result that is nested as deep as JSON may be does not take long.
func TestRedactionOfADeepResult(t *testing.T) {
	t.Parallel()
	const depth = 5_000
	in := strings.Repeat("[", depth) + strings.Repeat("]", depth)
	start := time.Now()
	e := tool.Bound(json.RawMessage(in), tool.Bounds{Redact: tool.Redaction{Allow: []string{"/0", "/1"}}.Func()})
	if string(e.Payload) != in || time.Since(start) > time.Minute {
		t.Errorf("%d bytes after %s", len(e.Payload), time.Since(start))
	}
}

// What nests so deep that its pointer grows without end is replaced, and not looked at: each level would copy those above it.
func TestAValueWithAnEndlessPointerIsRedacted(t *testing.T) {
	t.Parallel()
	const depth = 9_000
	deep := strings.Repeat(`{"`+strings.Repeat("a", 90)+`":`, depth) + `"secret"` + strings.Repeat("}", depth)
	longest := 0
	e := tool.Bound(json.RawMessage(deep), tool.Bounds{Redact: func(pointer string, _ any) (any, bool) {
		longest = max(longest, len(pointer))
		return nil, false
	}})
	if longest > 16<<10 || e.RedactedValues != 1 || strings.Contains(string(e.Payload), "secret") ||
		!strings.Contains(string(e.Payload), tool.DefaultReplacement) {
		t.Errorf("asked about %d bytes, %d redacted, %d bytes of payload", longest, e.RedactedValues, len(e.Payload))
	}
}
