package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// output is where a command writes. The first error stays, and what is written after it is dropped.
type output struct {
	w      io.Writer
	tty    bool
	colour bool
	failed error
}

func newOutput(w io.Writer, colour bool) *output {
	tty := isTerminal(w)
	return &output{w: w, tty: tty, colour: tty && colour}
}

// isTerminal reports whether a reader or writer is a terminal.
func isTerminal(v any) bool {
	if o, ok := v.(*output); ok {
		return o.tty
	}
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	if o.failed != nil {
		return 0, o.failed
	}
	n, err := o.w.Write(p)
	o.failed = err
	return n, err
}

func (o *output) print(s string) { _, _ = io.WriteString(o, s) } // the error stays in o

func (o *output) printf(format string, args ...any) { o.print(fmt.Sprintf(format, args...)) }

// json prints a value over several lines.
func (o *output) json(v any) error { return o.encode(v, "  ") }

// jsonLine prints a value on one line.
func (o *output) jsonLine(v any) error { return o.encode(v, "") }

func (o *output) encode(v any, indent string) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	o.print(o.text(b.String())) // what JSON does not escape a terminal need not see either
	return nil
}

// table prints rows under a header, each cell on one line.
func (o *output) table(header []string, rows [][]string) error {
	w := tabwriter.NewWriter(o, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = oneLine(cell)
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(strings.Join(cells, "\t"), "\t ")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// Colours.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	dim    = "\x1b[2m"
	plain  = "\x1b[0m"
)

// in colours a text, on a terminal.
func (o *output) in(colour, s string) string {
	if !o.colour {
		return s
	}
	return colour + s + plain
}

// text is s as it may be printed: a terminal gets no control characters, which others may have put there.
func (o *output) text(s string) string {
	if !o.tty {
		return s
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// oneLine is s without line ends and other control characters, and without bytes that are no text: terminals know some.
func oneLine(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == ' ' }), " ")
}

// clip is the beginning of s, on one line, at most n characters.
func clip(s string, n int) string {
	if len(s) > 4*n+utf8.UTFMax { // so that a large text is not walked through
		s = strings.ToValidUTF8(s[:4*n+utf8.UTFMax], "")
	}
	runes := []rune(oneLine(s))
	if len(runes) <= n {
		return string(runes)
	}
	return string(runes[:n-3]) + "..."
}

// cut returns at most limit of a list, and says on the standard error that there is more.
func cut[T any](a *app, list []T, limit int) []T {
	if len(list) <= limit {
		return list
	}
	a.err.printf("%d of %d shown; see more with --limit\n", limit, len(list))
	return list[:limit]
}

// age is how long ago a time was.
func age(t time.Time) string {
	d := max(0, time.Since(t))
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
