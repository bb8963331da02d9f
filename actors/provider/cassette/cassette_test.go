package cassette_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/skelegent/skelegent-go/actors/provider/cassette"
)

func TestRecordAndReplay(t *testing.T) {
	t.Parallel()
	path, e := tempFile(t), numbered(t)
	c := open(t, path, cassette.Record)
	post(t, c, e.URL+"/v1/a", `{"b": 1.50, "a": "<x>"}`)
	post(t, c, e.URL+"/v1/a", "no JSON\r\n")
	post(t, c, e.URL+"/v1/a", `{"a":"<x>","b":1.50}`)
	closed(t, c)

	c = open(t, path, cassette.Replay)
	e.Close() // from here there is no endpoint
	if list := c.Unused(); len(list) != 3 {
		t.Errorf("unused: %q", list)
	}
	for _, want := range []struct{ body, answer string }{
		{`{"a":"<x>", "b":1.50}`, `1: {"b": 1.50, "a": "<x>"}`}, // equal requests in their order
		{`{"a": "<x>", "b": 1.50 }`, `3: {"a":"<x>","b":1.50}`},
		{"no JSON\r\n", "2: no JSON\r\n"},
	} {
		if status, got := post(t, c, "http://elsewhere.example/v1/a?key=other", want.body); status != 200 || got != want.answer {
			t.Errorf("%s: %d %q, want %q", want.body, status, got, want.answer)
		}
	}
	closed(t, c)
	closed(t, c)
}

func TestARequestThatIsNotRecorded(t *testing.T) {
	t.Parallel()
	path, e := tempFile(t), numbered(t)
	c := open(t, path, cassette.Record)
	post(t, c, e.URL+"/v1/a", `{"n":1}`)
	closed(t, c)
	recorded, before := read(t, path), e.calls.Load()
	c = open(t, path, cassette.Replay)
	post(t, c, e.URL+"/v1/a", `{"n":1}`)
	for _, r := range []struct{ path, body string }{
		{"/v1/a", `{"n":1}`}, // used up
		{"/v1/a", `{"n":"1"}`},
		{"/v1/a", `{"n":1.0}`},
		{"/v1/a", `{"n":1} {}`},
		{"/v1/b", `{"n":1}`},
	} {
		status, body := post(t, c, e.URL+r.path, r.body)
		if status != http.StatusNotFound || !strings.Contains(body, "cassette.Record") || !strings.Contains(body, "POST "+r.path) {
			t.Errorf("%s %s: %d %s", r.path, r.body, status, body)
		}
	}
	err := c.Close()
	if err == nil || !strings.Contains(err.Error(), "5 requests are not recorded") || !strings.Contains(err.Error(), "POST /v1/b") {
		t.Errorf("error %v", err)
	}
	if e.calls.Load() != before || read(t, path) != recorded {
		t.Error("a replay asked the endpoint or changed the file")
	}
}

func TestUnusedIsAnError(t *testing.T) {
	t.Parallel()
	path, e := tempFile(t), numbered(t)
	c := open(t, path, cassette.Record)
	for n := range 8 {
		post(t, c, e.URL+"/v1/a", fmt.Sprint(n))
	}
	closed(t, c)
	c = open(t, path, cassette.Replay)
	post(t, c, e.URL+"/v1/a", "0")
	err := c.Close()
	if err == nil || !strings.Contains(err.Error(), "7 recorded requests were not made: no. 2, POST /v1/a") || strings.Contains(err.Error(), "no. 7") {
		t.Errorf("error %v", err)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, e.URL, nil)
	if _, err := c.RoundTrip(req); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestRecordMissing(t *testing.T) {
	t.Parallel()
	path, e := tempFile(t), numbered(t)
	for i, want := range []string{"1: x", "1: x"} {
		c := open(t, path, cassette.RecordMissing)
		if _, got := post(t, c, e.URL, "x"); got != want {
			t.Errorf("run %d: %q, want %q", i, got, want)
		}
		if i == 1 {
			if _, got := post(t, c, e.URL, "y"); got != "2: y" {
				t.Errorf("got %q", got)
			}
		}
		closed(t, c)
	}
	c := open(t, path, cassette.Replay)
	post(t, c, e.URL, "y")
	post(t, c, e.URL, "x")
	closed(t, c)
	if e.calls.Load() != 2 {
		t.Errorf("the endpoint was asked %d times", e.calls.Load())
	}
}

func TestWhatWasReplayedStaysInTheFile(t *testing.T) {
	t.Parallel()
	const stream = "data: 1\n\ndata: 2\n\n"
	path := tempFile(t)
	e := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stream)
	})
	for n := range 3 { // each run replays what is there and adds one
		c := open(t, path, cassette.RecordMissing)
		for i := range n + 1 {
			if _, got := post(t, c, e.URL, fmt.Sprint(i)); got != stream {
				t.Errorf("run %d, request %d: %q", n, i, got)
			}
		}
		closed(t, c)
	}
	if e.calls.Load() != 3 {
		t.Errorf("the endpoint was asked %d times", e.calls.Load())
	}
}

func TestARecordingWithoutRequestsLeavesTheFile(t *testing.T) {
	t.Parallel()
	path, e := tempFile(t), numbered(t)
	c := open(t, path, cassette.Record)
	post(t, c, e.URL, "x")
	closed(t, c)
	before := read(t, path)
	closed(t, open(t, path, cassette.Record))
	c = open(t, path, cassette.Record)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:1/", nil)
	if _, err := c.RoundTrip(req); err == nil {
		t.Error("no error from an endpoint that is not there")
	}
	closed(t, c)
	if read(t, path) != before {
		t.Error("the file has changed")
	}
}

func TestSecretsAreNotStored(t *testing.T) {
	t.Parallel()
	const own, project = "my-very-own-key", "project-4711"
	secrets := []string{own, project, "sk-proj-abcdefgh1234", "Bearer eyJhbGciOi.abc", "query-key-123", "AIzaSyA1234567890abcdefghijk", "header-value"}
	e := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Account", "header-value")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"said":"`+strings.Join(secrets[:6], `","`)+`"}`)
	})
	scrub := cassette.WithScrub(func(s string) string { return strings.ReplaceAll(s, project, "project") })
	path := tempFile(t)
	body := `{"prompt":"` + strings.Join(secrets, " ") + `"}`
	for _, headers := range [][]string{
		{"Authorization", "Bearer " + own},
		{"X-Api-Key", own},
		{"Api-Key", own, "Cookie", "header-value"},
		{"X-Goog-Api-Key", own},
	} {
		c := open(t, path, cassette.Record, scrub)
		_, got := post(t, c, e.URL+"/v1/project-4711/x?key=query-key-123&v=1", body, headers...)
		closed(t, c)
		if !strings.Contains(got, own) {
			t.Error("what the caller gets is changed")
		}
		stored := read(t, path)
		for _, s := range secrets[:6] {
			if strings.Contains(stored, s) {
				t.Errorf("%s: %q is stored:\n%s", headers[0], s, stored)
			}
		}
		if strings.Contains(stored, "X-Account") || strings.Contains(stored, "Cookie") || !strings.Contains(stored, "/v1/project/x") {
			t.Errorf("stored:\n%s", stored)
		}
		c = open(t, path, cassette.Replay, scrub)
		if status, _ := post(t, c, "http://x.example/v1/project-4711/x?key=query-key-123", body, headers...); status != 200 {
			t.Errorf("%s: the same request is not found", headers[0])
		}
		closed(t, c)
	}
}

func TestAnAnswerThatWasCut(t *testing.T) {
	t.Parallel()
	path := tempFile(t)
	e := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "only this")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	for _, mode := range []cassette.Mode{cassette.Record, cassette.Replay} {
		c := open(t, path, mode)
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, e.URL, nil)
		resp, err := c.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(resp.Body)
		if string(raw) != "only this" || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q, error %v", raw, err)
		}
		resp.Body.Close()
		closed(t, c)
	}
}

func TestCloseWhileAnAnswerIsRead(t *testing.T) {
	t.Parallel()
	path, more := tempFile(t), make(chan struct{})
	e := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-more
	})
	c := open(t, path, cassette.Record)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, e.URL, nil)
	resp, err := c.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, 9)); err != nil {
		t.Fatal(err)
	}
	closed(t, c)
	close(more)
	resp.Body.Close()
	if s := read(t, path); !strings.Contains(s, "data: 1") || !strings.Contains(s, "cut: true") {
		t.Errorf("stored:\n%s", s)
	}
}

func TestReplayEndsWithTheContext(t *testing.T) {
	t.Parallel()
	path, e := tempFile(t), numbered(t)
	c := open(t, path, cassette.Record)
	post(t, c, e.URL, "x")
	closed(t, c)
	c = open(t, path, cassette.Replay)
	ctx, cancel := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, strings.NewReader("x"))
	resp, err := c.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) {
		t.Errorf("reading: %v", err)
	}
	resp.Body.Close()
	if _, err := c.RoundTrip(req.WithContext(ctx)); !errors.Is(err, context.Canceled) {
		t.Errorf("asking: %v", err)
	}
	closed(t, c)
}

func TestManyAtTheSameTime(t *testing.T) {
	t.Parallel()
	path := tempFile(t)
	e := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	for _, mode := range []cassette.Mode{cassette.Record, cassette.Replay} {
		c := open(t, path, mode)
		var wg sync.WaitGroup
		for n := range 40 {
			wg.Go(func() {
				body := fmt.Sprintf(`{"n":%d}`, n%20) // each twice
				if status, got := post(t, c, e.URL, body); status != 200 || got != body {
					t.Errorf("%d %q, want %q", status, got, body)
				}
			})
		}
		wg.Wait()
		closed(t, c)
	}
	if e.calls.Load() != 40 {
		t.Errorf("the endpoint was asked %d times", e.calls.Load())
	}
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := cassette.Open(filepath.Join(dir, "none.yaml"), cassette.Replay)
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "cassette.Record") {
		t.Errorf("no file: %v", err)
	}
	if _, err := cassette.Open(filepath.Join(dir, "none.yaml"), 7); err == nil {
		t.Error("no error for an unknown mode")
	}
	for name, content := range map[string]string{
		"empty":       "",
		"garbage":     "\x00\xff{{{",
		"a list":      "- 1\n",
		"version":     "version: 2\n",
		"unknown key": "version: 1\ncassettes: []\n",
		"status":      "version: 1\ninteractions: [{request: {method: GET, path: /}, response: {status: 99999}}]\n",
		"aliases":     "version: 1\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c]\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, mode := range []cassette.Mode{cassette.Replay, cassette.RecordMissing} {
			if _, err := cassette.Open(path, mode); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
