package state_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state"
)

func search(t *testing.T, query string, limit int, values map[string]string) []protocol.SearchResult {
	t.Helper()
	s, err := state.NewSearch(query, limit, state.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range values {
		if err := s.Add(key, json.RawMessage(value)); err != nil {
			t.Fatal(err)
		}
	}
	return s.Results()
}

func TestSearchRanks(t *testing.T) {
	t.Parallel()
	values := map[string]string{
		"often":   `"Go go GO"`,
		"once":    `"go, and a good many other words"`,
		"never":   `"rust"`,
		"also":    `"go go go"`,
		"escaped": `"caf\u00e9 \u003cgo\u003e"`,
	}
	tests := []struct {
		name  string
		query string
		limit int
		want  string
	}{
		{"best first, then by key", "go", 10, "also often escaped once"},
		{"limit", "GO", 2, "also often"},
		{"no match", "python", 10, ""},
		{"empty query", "", 10, ""},
		{"limit zero", "go", 0, ""},
		{"limit negative", "go", -1, ""},
		{"escaped characters", "CAFÉ <", 10, "escaped"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			results := search(t, test.query, test.limit, values)
			for _, r := range results {
				got = append(got, r.Key)
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if results == nil {
				t.Error("results are nil")
			}
		})
	}
}

func TestSearchScoreIsCountOverLength(t *testing.T) {
	t.Parallel()
	got := search(t, "b", 1, map[string]string{"k": `"abcb"`})
	if len(got) != 1 || got[0].Score != 2.0/6.0 {
		t.Errorf("got %v, want one result with score 2/6", got)
	}
}

func TestSnippetIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for pad := range 4 {
		value := `"` + strings.Repeat("x", pad) + strings.Repeat("日本", 100) + `"`
		got := *search(t, "本", 1, map[string]string{"k": value})[0].Snippet
		body, cut := strings.CutSuffix(got, "...")
		if !cut || !utf8.ValidString(got) || !strings.HasPrefix(value, body) || len(body) > 200 || len(body) < 197 {
			t.Errorf("pad %d: snippet %q of %d bytes", pad, got, len(got))
		}
	}
	if got := *search(t, "a", 1, map[string]string{"k": `"a"`})[0].Snippet; got != `"a"` {
		t.Errorf("short value: snippet %q", got)
	}
}

func TestSearchLimits(t *testing.T) {
	t.Parallel()
	if _, err := state.NewSearch(strings.Repeat("q", 1025), 1, state.Limits{}); protocol.CodeOf(err) != protocol.CodeQuotaExceeded {
		t.Errorf("long query: got %v, want quota_exceeded", err)
	}
	s, err := state.NewSearch("q", 1, state.Limits{Entries: 2, Bytes: 10})
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []protocol.Code{"", "", protocol.CodeQuotaExceeded} {
		if err := s.Add("k", json.RawMessage(`"q"`)); protocol.CodeOf(err) != want {
			t.Errorf("entry %d: got %v, want %q", n, err, want)
		}
	}
	if err := s.Check(2); err != nil {
		t.Error(err)
	}
	if err := s.Check(3); protocol.CodeOf(err) != protocol.CodeQuotaExceeded {
		t.Errorf("check: got %v, want quota_exceeded", err)
	}
	s, err = state.NewSearch("q", 1, state.Limits{Bytes: 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Add("k", json.RawMessage(`"qqqqqqqqqqqq"`)); protocol.CodeOf(err) != protocol.CodeQuotaExceeded {
		t.Errorf("bytes: got %v, want quota_exceeded", err)
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in, want string
		code           protocol.Code
	}{
		{"null", `null`, `null`, ""},
		{"white space goes", " { \"b\" : 1.0 ,\n\"a\" : [ ] } ", `{"b":1.0,"a":[]}`, ""},
		{"numbers stay", `12345678901234567890.10e+2`, `12345678901234567890.10e+2`, ""},
		{"HTML stays", `"<a&b>\u2028` + "\u2028" + `"`, `"<a&b>\u2028` + "\u2028" + `"`, ""},
		{"nothing", ``, "", protocol.CodeInvalidInput},
		{"blank", ` `, "", protocol.CodeInvalidInput},
		{"two values", `1 2`, "", protocol.CodeInvalidInput},
		{"cut off", `{"a":`, "", protocol.CodeInvalidInput},
		{"not UTF-8", "\"\xff\"", "", protocol.CodeInvalidInput},
		{"too long", `"` + strings.Repeat("x", 99) + `"`, "", protocol.CodeQuotaExceeded},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := state.Canonical(json.RawMessage(test.in), 100)
			if string(got) != test.want || protocol.CodeOf(err) != test.code {
				t.Errorf("got %q, %v, want %q, code %q", got, err, test.want, test.code)
			}
		})
	}
}

func FuzzSearch(f *testing.F) {
	f.Add("q", `"q\u00e9"`)
	f.Add("\xff", `{"a":[1e400]}`)
	f.Fuzz(func(t *testing.T, query, value string) {
		s, err := state.NewSearch(query, 1, state.Limits{})
		if err != nil {
			return
		}
		if err := s.Add("k", json.RawMessage(value)); err != nil {
			t.Skip()
		}
		for _, r := range s.Results() {
			if r.Score <= 0 || r.Snippet == nil || len(*r.Snippet) > 203 {
				t.Errorf("got %+v", r)
			}
		}
	})
}
