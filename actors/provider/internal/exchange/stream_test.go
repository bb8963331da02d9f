package exchange_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
)

type event struct{ Name, Data string }

// events reads all that r has.
func events(r io.Reader, limit int) ([]event, error) {
	var all []event
	reader := exchange.NewEvents(r, limit)
	for {
		ev, err := reader.Next()
		if err != nil {
			_, again := reader.Next()
			return all, errors.Join(notEOF(err), notEOF(again))
		}
		all = append(all, event{ev.Name, string(ev.Data)})
	}
}

func lines(r io.Reader, limit int) ([]string, error) {
	var all []string
	reader := exchange.NewLines(r, limit)
	for {
		line, err := reader.Next()
		if err != nil {
			_, again := reader.Next()
			return all, errors.Join(notEOF(err), notEOF(again))
		}
		all = append(all, string(line))
	}
}

func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func TestEvents(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     []event
	}{
		{"empty", "", nil},
		{"named", "event: ping\ndata: {}\n\n", []event{{"ping", "{}"}}},
		{"no space", "data:a\n\ndata:  b\n\n", []event{{"", "a"}, {"", " b"}}},
		{"CRLF and CR", "event: a\r\ndata: 1\r\n\r\ndata: 2\r\rdata: 3\r\n\n", []event{{"a", "1"}, {"", "2"}, {"", "3"}}},
		{"several lines", "data: a\ndata:\ndata: b\n\n", []event{{"", "a\n\nb"}}},
		{"comments and others", ": hi\n\nid: 1\nretry: 5\nfoo\ndata: x\n: y\n\n", []event{{"", "x"}}},
		{"name without data is dropped", "event: a\n\ndata: x\n\n", []event{{"", "x"}}},
		{"empty data", "data\n\ndata:\n\n", []event{{"", ""}, {"", ""}}},
		{"byte order mark", "\ufeffdata: x\n\n", []event{{"", "x"}}},
		{"no empty line at the end", "data: a\n\ndata: b\n", []event{{"", "a"}, {"", "b"}}},
		{"cut in a line", "data: a\n\ndata: b", []event{{"", "a"}}},
		{"cut in the second line", "data: a\n\ndata: b\ndat", []event{{"", "a"}}},
		{"colons in data", "data: a: b\n\n", []event{{"", "a: b"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, r := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in))} {
				got, err := events(r, 0)
				if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
					t.Errorf("%v, %s", err, diff)
				}
			}
		})
	}
}

// TestEventAtOnce checks that an event does not wait for what comes after it.
func TestEventAtOnce(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"data: x\n\n", "data: x\r\n\r\n", "data: x\r\r"} {
		pr, pw := io.Pipe()
		go func() { _, _ = pw.Write([]byte(in)) }()
		ev, err := exchange.NewEvents(pr, 0).Next()
		if err != nil || string(ev.Data) != "x" {
			t.Errorf("%q: %q, %v", in, ev.Data, err)
		}
		_ = pr.Close()
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     []string
	}{
		{"empty", "", nil},
		{"lines", "{\"a\":1}\n{}\n", []string{`{"a":1}`, `{}`}},
		{"CRLF and empty lines", "\r\n{}\r\n\n  \n[]\r\n", []string{`{}`, `[]`}},
		{"a last line without an end", "{}\n{\"b\":2}", []string{`{}`, `{"b":2}`}},
		{"cut", "{}\n{\"b\":", []string{`{}`}},
		{"no JSON is passed on", "]{\n", []string{"]{"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, r := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in))} {
				got, err := lines(r, 0)
				if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
					t.Errorf("%v, %s", err, diff)
				}
			}
		})
	}
}

func TestPieceLimit(t *testing.T) {
	t.Parallel()
	for in, ok := range map[string]bool{
		"data: 12345678\n\n": true, "data: 123456789\n\n": false, "data: 1234\ndata: 567\n\n": true,
		"data: 1234\ndata: 5678\n\n": false, "event: " + strings.Repeat("x", 40): false,
	} {
		if _, err := events(strings.NewReader(in), 8); errors.Is(err, exchange.ErrTooLarge) == ok {
			t.Errorf("event %q: %v", in, err)
		}
	}
	for in, ok := range map[string]bool{"12345678\n": true, "123456789\n": false} {
		if _, err := lines(strings.NewReader(in), 8); errors.Is(err, exchange.ErrTooLarge) == ok {
			t.Errorf("line %q: %v", in, err)
		}
	}
	endless := io.MultiReader(strings.NewReader("data: "), iotest.ErrReader(errors.New("read on")))
	if _, err := events(endless, 8); err == nil || errors.Is(err, exchange.ErrTooLarge) {
		t.Errorf("got %v, want the reader's error", err)
	}
}

// TestBrokenStream checks that what came before an error of the reader is not taken for whole.
func TestBrokenStream(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	r := func(s string) io.Reader { return io.MultiReader(strings.NewReader(s), iotest.ErrReader(broken)) }
	if got, err := events(r("data: a\n\ndata: b\n"), 0); !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("events %v, %v", got, err)
	}
	if got, err := lines(r("{}\n{}"), 0); !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("lines %v, %v", got, err)
	}
}

func FuzzEvents(f *testing.F) {
	for _, s := range []string{"event: a\r\ndata: {}\r\n\r\n", ": c\ndata\rdata: x\r\r", "\ufeffdata: x\n", "data: 123456789012345678\n\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 16
		got, err := events(bytes.NewReader(in), limit)
		slow, slowErr := events(iotest.OneByteReader(bytes.NewReader(in)), limit)
		if diff := cmp.Diff(got, slow); diff != "" || (err == nil) != (slowErr == nil) {
			t.Errorf("in pieces: %v, %v: %s", err, slowErr, diff)
		}
		for _, ev := range got {
			if len(ev.Data) > limit || strings.ContainsAny(ev.Name, "\r\n") || strings.Contains(ev.Data, "\r") {
				t.Errorf("event %q", ev)
			}
		}
		if err != nil && !errors.Is(err, exchange.ErrTooLarge) {
			t.Error(err)
		}
	})
}

func FuzzLines(f *testing.F) {
	for _, s := range []string{"{}\r\n[]", "\n\n1\n", "{\"a\":", "12345678901234567890\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 16
		got, err := lines(bytes.NewReader(in), limit)
		slow, slowErr := lines(iotest.OneByteReader(bytes.NewReader(in)), limit)
		if diff := cmp.Diff(got, slow); diff != "" || (err == nil) != (slowErr == nil) {
			t.Errorf("in pieces: %v, %v: %s", err, slowErr, diff)
		}
		for _, line := range got {
			if line == "" || len(line) > limit || strings.Contains(line, "\n") {
				t.Errorf("line %q", line)
			}
		}
		if err != nil && !errors.Is(err, exchange.ErrTooLarge) {
			t.Error(err)
		}
	})
}

func FuzzInput(f *testing.F) {
	for _, s := range []string{"", " ", "{}", "{\"a\"", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		if raw := exchange.Input(arguments); !json.Valid(raw) {
			t.Errorf("%q becomes %q", arguments, raw)
		}
	})
}

func TestInput(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		"": `{}`, " \n": `{}`, `{"a":1}`: `{"a":1}`, `null`: `null`, `{"a`: `"{\"a"`, "<b>": `"<b>"`,
	} {
		if got := string(exchange.Input(arguments)); got != want {
			t.Errorf("Input(%q) = %s, want %s", arguments, got, want)
		}
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	var ids exchange.IDs
	if got := ids.Take("a"); got != "a" {
		t.Errorf("got %q", got)
	}
	seen := map[string]bool{"a": true}
	for _, id := range []string{"a", "", "", "a"} {
		got := ids.Take(id)
		if got == "" || seen[got] {
			t.Errorf("Take(%q) = %q, which is taken", id, got)
		}
		seen[got] = true
	}
}
