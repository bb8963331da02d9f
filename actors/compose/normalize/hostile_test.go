package normalize_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compose/normalize"
)

// fill repeats s to n bytes or a little more.
func fill(s string, n int) string { return strings.Repeat(s, n/len(s)+1) }

// hostile are texts of about n bytes that are made to be hard to read.
func hostile(n int) map[string]string {
	return map[string]string{
		"nesting":              block("f(a=" + fill("[", n) + ")"),
		"nesting of objects":   block("f(a=" + fill("{a:", n) + ")"),
		"parentheses":          block("f(a=" + fill("(", n) + ")"),
		"shallow nesting":      block("f(a=[" + fill("[[1],[2]],", n) + "])"),
		"closers":              block("f(a=1" + fill(")", n)),
		"quotes":               block("f(a=" + fill("'", n) + ")"),
		"quotes of two kinds":  block("f(a=" + fill(`'"`, n) + ")"),
		"an unclosed quote":    start + "f(a='" + fill(end, n),
		"backslashes":          block("f(a='" + fill(`\`, n) + "')"),
		"escapes":              block("f(a='" + fill(`\u00e9\'\ud83d`, n) + "')"),
		"commas":               block(fill(",", n)),
		"commas in a call":     block("f(" + fill(",", n) + ")"),
		"markers":              fill(block(""), n),
		"markers in a string":  block("f(a='" + fill(start+end, n) + "')"),
		"half markers":         fill("<|tool_call_", n),
		"half markers within":  block("f(a=" + fill("<|tool_call_", n) + ")"),
		"less-than signs":      fill("<", n),
		"no end":               start + fill("<|tool_call_end|", n),
		"equals signs":         block("f(a=" + fill("=", n) + ")"),
		"words and equals":     block("f(a=" + fill("b= ", n) + ")"),
		"words":                block("f(a=" + fill("b ", n) + ")"),
		"a long name":          block(fill("a", n) + "()"),
		"a long key":           block("f(" + fill("a", n) + "=1)"),
		"digits":               block("f(a=" + fill("9", n) + ")"),
		"digits of a fraction": block("f(a=0." + fill("9", n) + ")"),
		"an exponent":          block("f(a=1e" + fill("9", n) + ")"),
		"list items":           block("f(a=[" + fill("1,", n) + "])"),
		"strings in a list":    block("f(a=[" + fill("'',", n) + "])"),
		"one key":              block("f(a={" + fill("a:1,", n) + "})"),
		"white space":          block("f(a=" + fill(" \n", n) + ")"),
		"wide white space":     block("f(a=" + fill("\u2003", n) + ")"),
		"line ends outside":    fill("\n", n) + block("f"),
		"NUL":                  block("f(a=" + fill("\x00", n) + ")"),
		"no UTF-8":             block("f(a=" + fill("\xff", n) + ")"),
		"calls":                block(fill("f(),", n)),
		"nothing but text":     fill("It is noon. ", n),
	}
}

// hostileJSON is the like for JSON.
func hostileJSON(n int) map[string]string {
	return map[string]string{
		"nesting":            fill("[", n),
		"closed nesting":     strings.Repeat("[", n/2) + strings.Repeat("]", n/2),
		"nesting of objects": fill(`{"choices":[`, n),
		"messages":           fill(`{"choices":[{"message":`, n),
		"a string":           `{"output":"` + fill(`\"`, n) + `"}`,
		"arguments":          `{"function":{"name":"f","arguments":"` + fill(`[`, n) + `"}}`,
		"escaped arguments":  `{"function":{"name":"f","arguments":"\"` + fill(`\\u0061`, n) + `\""}}`,
		"items":              `{"output":[` + fill("1,", n) + `1]}`,
		"members":            `{"a":{` + numbered(n) + `"z":1}}`,
		"white space":        fill(" \n", n) + "{}" + fill("\t", n),
		"digits":             `{"function":{"name":"f","arguments":` + fill("9", n) + `}}`,
		"a long name":        `{"function":{"name":"` + fill("a", n) + `"}}`,
		"a long key":         `{"` + fill("a", n) + `":{"a":1,"a":2}}`,
		"no UTF-8":           fill("\xff", n),
		"calls":              `{"tool_calls":[` + fill(`{"function":{"name":"f"}},`, n) + `1]}`,
	}
}

func numbered(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, `"%d":0,`, i)
	}
	return b.String()
}

// TestHostileText: there is a result or an error with a position, and the same in pieces.
func TestHostileText(t *testing.T) {
	t.Parallel()
	fine := map[string]bool{
		"shallow nesting": true, "escapes": true, "commas": true, "commas in a call": true, "markers": true, "markers in a string": true,
		"half markers": true, "half markers within": true, "less-than signs": true, "equals signs": true, "words": true,
		"digits of a fraction": true, "list items": true, "strings in a list": true, "white space": true, "wide white space": true, "nothing but text": true,
	}
	for name, text := range hostile(100_000) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls, outside, err := normalize.LFM{}.Parse(text)
			if fine[name] != (err == nil) {
				t.Fatalf("error %v", err)
			}
			var at *normalize.SyntaxError
			if err != nil && (!errors.As(err, &at) || at.Line < 1 || at.Column < 1) {
				t.Fatalf("error %v", err)
			}
			var s normalize.Stream
			var out strings.Builder
			n := 0
			for rest := text; rest != ""; {
				piece := rest[:min(7, len(rest))]
				rest = rest[len(piece):]
				said, more, _ := s.Feed(piece)
				out.WriteString(said)
				n += len(more)
			}
			said, again := s.Close()
			if (again == nil) != (err == nil) || again != nil && again.Error() != err.Error() || err == nil && (out.String()+said != outside || n != len(calls)) {
				t.Errorf("in pieces %v, at once %v", again, err)
			}
		})
	}
}

func TestHostileJSON(t *testing.T) {
	t.Parallel()
	for name, raw := range hostileJSON(100_000) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, f := range []form{responses, chat, messages, anyForm} {
				if _, err := f(json.RawMessage(raw)); err != nil {
					isOurs(t, err)
				}
			}
		})
	}
}

// BenchmarkHostile shows that the time for a byte does not grow with the length, whatever the bytes are.
func BenchmarkHostile(b *testing.B) {
	for _, size := range []int{100_000, 1_000_000} {
		texts := hostile(size)
		texts["(plain)"] = fill("Some text before it. "+block("[]")+" And more.\n", size/2) + block("[f(text='"+fill("Well formed. ", size/2)+"')]")
		for name, text := range texts {
			b.Run(fmt.Sprintf("text/%s/%dk", name, size/1000), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					_, _, _ = normalize.LFM{}.Parse(text)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(text)), "ns/byte")
			})
		}
		raws := hostileJSON(size)
		raws["(plain)"] = `{"choices":[{"message":{"content":"` + fill("Well formed. ", size) + `","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}`
		for name, text := range raws {
			raw := json.RawMessage(text)
			b.Run(fmt.Sprintf("json/%s/%dk", name, size/1000), func(b *testing.B) {
				b.SetBytes(int64(len(raw)))
				for b.Loop() {
					_, _ = normalize.Any(raw)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(raw)), "ns/byte")
			})
		}
	}
}
