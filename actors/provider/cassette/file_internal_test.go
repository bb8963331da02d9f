package cassette

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// FuzzFile: what is written reads back as the same, and no file makes the reader panic.
func FuzzFile(f *testing.F) {
	for _, s := range []string{"", "\n", "\n\n", " x", "x \n ", "\t\n", "- a: b", "null", "~", "1", "true", "\r\n", "\xff\xfe", "\x00", "\u2028", "\ufeff", "a\u0085b", "{}", "!!binary x", "  \n lead", "#", "'", "\"", "data: {}\n\n"} {
		f.Add(s, s, []byte(s))
	}
	f.Fuzz(func(t *testing.T, a, b string, raw []byte) {
		_, _ = decode(raw)
		list := []interaction{{
			Request:  request{Method: text(a), Path: text(b), Body: text(a)},
			Response: response{Status: 200, Headers: map[string]text{"Content-Type": text(b)}, Body: text(b), Pieces: []text{text(a), text(b)}, Cut: true},
		}}
		out, err := encode(list)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decode(out)
		if err != nil || !reflect.DeepEqual(back, list) {
			t.Errorf("error %v, got %#v, want %#v, from\n%s", err, back, list, out)
		}
	})
}

func TestNormal(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":[2,{"d":3,"c":4}]}`, "{ \"b\" : [2, {\"c\":4,\"d\":3}],\n\"a\":1 }", true},
		{`{"a":"<é"}`, `{"a":"\u003c\u00e9"}`, true},
		{`[1,2]`, `[2,1]`, false},
		{`{"a":1}`, `{"a":1.0}`, false},
		{`{"a":12345678901234567890}`, `{"a":12345678901234567891}`, false},
		{`{"a":1}{}`, `{"a":1}`, false},
		{`{"a":1`, `{"a":1}`, false},
		{``, `null`, false},
	}
	for _, tt := range tests {
		if same := normal(tt.a) == normal(tt.b); same != tt.same {
			t.Errorf("%s and %s are the same: %t", tt.a, tt.b, same)
		}
	}
}

func FuzzNormal(f *testing.F) {
	f.Add(`{"a":[1,"x"]}`)
	f.Fuzz(func(t *testing.T, s string) {
		n := normal(s)
		if normal(n) != n {
			t.Errorf("%q becomes %q, which becomes %q", s, n, normal(n))
		}
		if json.Valid([]byte(s)) && !json.Valid([]byte(n)) {
			t.Errorf("%q becomes %q", s, n)
		}
	})
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	const limit = 10_000
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", limit+1))
	}))
	defer server.Close()
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	c, err := Open(filepath.Join(t.TempDir(), "x.yaml"), Record, WithTransport(base))
	if err != nil {
		t.Fatal(err)
	}
	c.limit = limit
	ask := func(body string) (int, error) {
		resp, err := (&http.Client{Transport: c}).Post(server.URL+"/", "text/plain", strings.NewReader(body))
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		return len(raw), err
	}
	if n, err := ask(strings.Repeat("x", limit)); n != limit+1 || err != nil {
		t.Errorf("the caller got %d bytes, error %v", n, err)
	}
	if _, err := ask(strings.Repeat("x", limit+1)); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a request that is too large: %v", err)
	}
	if err := c.Close(); err == nil || !strings.Contains(err.Error(), "POST /: larger than 10000 bytes") {
		t.Errorf("error %v", err)
	}
	list, err := load(c.path)
	if err != nil || len(list) != 1 || !list[0].Response.Cut || len(list[0].Response.Body) != limit {
		t.Errorf("stored %d, error %v", len(list), err)
	}
}
