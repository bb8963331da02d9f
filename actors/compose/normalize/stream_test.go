package normalize_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/compose/normalize"
	"github.com/skelegent/skelegent-go/protocol"
)

// result is all that a stream gives.
type result struct{ text, calls, err, held string }

// stream feeds text in pieces that cut returns the lengths of, and checks that nothing comes behind an error.
func stream(t *testing.T, text string, cut func(left int) int) result {
	t.Helper()
	var s normalize.Stream
	var r result
	var all []protocol.ToolCall
	var failed error
	for len(text) > 0 {
		n := min(len(text), max(1, cut(len(text))))
		out, calls, err := s.Feed(text[:n])
		if failed != nil && (out != "" || calls != nil || !errors.Is(err, failed)) {
			t.Fatalf("behind the error came %q, %s, %v", out, list(calls), err)
		}
		text, failed = text[n:], err
		r.text += out
		all = append(all, calls...)
	}
	out, err := s.Close()
	if err != nil {
		r.err, r.held = err.Error(), s.Held()
		if failed != nil {
			r.held = "" // what came behind the error is not held
		}
		isOurs(t, err)
	} else if failed != nil || s.Held() != "" {
		t.Fatalf("closed after %v with %q", failed, s.Held())
	}
	r.text += out
	r.calls = list(all)
	return r
}

// same checks that the result is the same however text is cut.
func sameInPieces(t *testing.T, text string, rnd *rand.Rand) {
	t.Helper()
	want := stream(t, text, func(left int) int { return left })
	if got := stream(t, text, func(int) int { return 1 }); got != want {
		t.Fatalf("byte by byte %+v, at once %+v, of %q", got, want, text)
	}
	for range 5 {
		if got := stream(t, text, func(int) int { return 1 + rnd.IntN(25) }); got != want {
			t.Fatalf("in pieces %+v, at once %+v, of %q", got, want, text)
		}
	}
	calls, outside, err := normalize.LFM{}.Parse(text)
	switch {
	case (err != nil) != (want.err != "") || err != nil && err.Error() != want.err:
		t.Fatalf("parsed with %v, streamed with %s", err, want.err)
	case err == nil && (list(calls) != want.calls || outside != want.text):
		t.Fatalf("parsed as %s and %q, streamed as %+v", list(calls), outside, want)
	}
}

func TestTheResultDoesNotDependOnThePieces(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, tt := range malformed {
		sameInPieces(t, "é\n"+block("a(b='"+end+"')")+"ü\n"+block(tt.inside)+"more", rnd)
		sameInPieces(t, start+tt.inside, rnd)
	}
	parts := []string{
		start, end, start, end, start[:5], end[:16], "<", "|", "[", "]", "(", ")", "{", "}", "'", `"`, `\`, ",", "=", ":", "f(", "f(a=1)", "a", "1",
		"True", " ", "\n", "é", "\xff", "\x00", `\u00e9`, block("[f(x='y'), g()]"), "'" + end + "'", "text ",
	}
	for range 1000 {
		var text strings.Builder
		for range 1 + rnd.IntN(12) {
			text.WriteString(parts[rnd.IntN(len(parts))])
		}
		sameInPieces(t, text.String(), rnd)
	}
}

// TestCallsOfRandomValues: what is written by the grammar is read as what was meant.
func TestCallsOfRandomValues(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		text, want := "", ""
		for i := range rnd.IntN(4) {
			said, raw := randomValue(rnd, 3)
			text += fmt.Sprintf("t%d %s", i, block(fmt.Sprintf("[f%d(v=%s),]", i, said)))
			want += fmt.Sprintf(` f%d({"v":%s})`, i, raw)
		}
		calls, _, err := normalize.LFM{}.Parse(text)
		if err != nil || " "+list(calls) != want && list(calls) != want {
			t.Fatalf("%s\ngot %s, want %s, error %v", text, list(calls), want, err)
		}
		sameInPieces(t, text, rnd)
	}
}

func randomValue(rnd *rand.Rand, depth int) (said, raw string) {
	strs := []string{"", "a", "it's", `say "x"`, "a\nb", `C:\dir`, "é😀", start, end, "[(,", "\t", "a=b"}
	switch k := rnd.IntN(7); {
	case k == 0:
		n := fmt.Sprint(rnd.Int64() - 1<<62)
		return n, n
	case k == 1:
		pair := [][2]string{{"True", "true"}, {"none", `"none"`}, {"None", "null"}, {"-1.5e3", "-1.5e3"}, {"foo bar", `"foo bar"`}}[rnd.IntN(5)]
		return pair[0], pair[1]
	case k < 4 || depth == 0:
		s := strs[rnd.IntN(len(strs))]
		quote := []string{"'", `"`}[rnd.IntN(2)]
		written, _ := protocol.Marshal(s)
		return quote + strings.NewReplacer(`\`, `\\`, quote, `\`+quote, "\t", `\t`).Replace(s) + quote, string(written)
	case k == 4:
		var a, b []string
		for range rnd.IntN(4) {
			x, y := randomValue(rnd, depth-1)
			a, b = append(a, x), append(b, y)
		}
		return "[" + strings.Join(a, " , ") + "]", "[" + strings.Join(b, ",") + "]"
	default:
		var a, b []string
		for i := range rnd.IntN(4) {
			x, y := randomValue(rnd, depth-1)
			a, b = append(a, fmt.Sprintf("'k%d': %s", i, x)), append(b, fmt.Sprintf(`"k%d":%s`, i, y))
		}
		return "{" + strings.Join(a, ",") + "}", "{" + strings.Join(b, ",") + "}"
	}
}

func TestAStreamGivesWhatIsCertain(t *testing.T) {
	t.Parallel()
	var s normalize.Stream
	steps := []struct{ piece, text, calls, held string }{
		{"Hello", "Hello", "", ""},
		{" <b> <|to", " <b> ", "", "<|to"},
		{"p", "<|top", "", ""},
		{"<|tool_call_", "", "", "<|tool_call_"},
		{"start|>[f(a='", "", "", start + "[f(a='"},
		{end, "", "", start + "[f(a='" + end},
		{"')]" + end + "x" + start + "g()", "x", `f({"a":"` + end + `"})`, start + "g()"},
		{"<|tool_call_end|", "", "", start + "g()<|tool_call_end|"},
		{"> Bye <", " Bye ", "g({})", "<"},
	}
	for _, step := range steps {
		text, calls, err := s.Feed(step.piece)
		if err != nil || text != step.text || list(calls) != step.calls || s.Held() != step.held {
			t.Fatalf("%q: text %q, calls %s, held %q, error %v", step.piece, text, list(calls), s.Held(), err)
		}
	}
	if text, err := s.Close(); err != nil || text != "<" {
		t.Errorf("at the end %q, %v", text, err)
	}
	if text, err := s.Close(); err != nil || text != "" {
		t.Errorf("closed again: %q, %v", text, err)
	}
	if _, _, err := s.Feed("x"); compose.KindOf(err) != compose.KindInvalidArgument {
		t.Errorf("fed when closed: %v", err)
	}
}

func TestAStreamKeepsWhatItCouldNotRead(t *testing.T) {
	t.Parallel()
	var s normalize.Stream
	text, calls, err := s.Feed("a" + block("f()") + "b" + block("f") + "c")
	if err == nil || text != "ab" || list(calls) != "f({})" || s.Held() != block("f")+"c" {
		t.Errorf("text %q, calls %s, held %q, error %v", text, list(calls), s.Held(), err)
	}
	if _, again := s.Close(); !errors.Is(again, err) || s.Held() != block("f")+"c" {
		t.Errorf("closed with %v, held %q", again, s.Held())
	}
}
