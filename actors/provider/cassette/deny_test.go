package cassette_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/provider/cassette"
	"github.com/skelegent/skelegent-go/actors/provider/openai"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestDeny(t *testing.T) {
	t.Parallel()
	e := numbered(t)
	rt := cassette.Deny()
	defer (&http.Client{Transport: rt}).CloseIdleConnections()
	if status, got := post(t, rt, e.URL, "x"); status != 200 || got != "1: x" {
		t.Errorf("a server of the test: %d %q", status, got)
	}
	if status, _ := post(t, rt, strings.Replace(e.URL, "127.0.0.1", "localhost", 1), "x"); status != 200 {
		t.Errorf("localhost: %d", status)
	}
	for _, url := range []string{
		"https://api.openai.com/v1", "http://192.0.2.1", "http://[2001:db8::1]/", "http://127.0.0.1.example.com", "http://localhost.example.com",
		"http://0.0.0.0:1", "http://[::ffff:192.0.2.1]/", "http://2130706433.example/",
	} {
		if status, got := post(t, rt, url, "x"); status != http.StatusBadRequest || !strings.Contains(got, "denied") {
			t.Errorf("%s: %d %s", url, status, got)
		}
	}
	redirect := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
	})
	resp, err := (&http.Client{Transport: rt}).Get(redirect.URL)
	if err != nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a redirect to elsewhere: %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
}

// failures is a test that notes what it is told.
type failures struct {
	testing.TB
	said     []string
	cleanups []func()
}

func (f *failures) Errorf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

func (f *failures) Error(args ...any) { f.said = append(f.said, fmt.Sprint(args...)) }
func (f *failures) Cleanup(c func())  { f.cleanups = append(f.cleanups, c) }

func (f *failures) finish() {
	for _, c := range f.cleanups {
		c()
	}
}

//nolint:paralleltest // it changes http.DefaultTransport
func TestDenyTransport(t *testing.T) {
	before := http.DefaultTransport
	e := numbered(t)
	f := &failures{TB: t}
	cassette.DenyTransport(f)
	if _, ok := http.DefaultTransport.(*http.Transport); !ok {
		t.Error("the default transport has another type")
	}
	p := openai.New(openai.Config{BaseURL: "http://192.0.2.1/v1"}) // with a client of its own
	_, err := p.Infer(t.Context(), protocol.InferRequest{Messages: []protocol.Message{protocol.NewMessage(protocol.RoleUser, protocol.TextContent("x"))}}, nil)
	if !errors.Is(err, cassette.ErrDenied) {
		t.Errorf("a provider: %v", err)
	}
	p.Close()
	if _, err := http.Get("http://192.0.2.1/"); !errors.Is(err, cassette.ErrDenied) {
		t.Errorf("elsewhere: %v", err)
	}
	resp, err := http.Get(e.URL)
	if err != nil {
		t.Fatalf("a server of the test: %v", err)
	}
	resp.Body.Close()
	f.finish()
	if http.DefaultTransport != before {
		t.Error("the default transport is not restored")
	}
	if len(f.said) != 1 || !strings.Contains(f.said[0], "2 connections") || !strings.Contains(f.said[0], "192.0.2.1:80") {
		t.Errorf("the test was told %q", f.said)
	}
}

//nolint:paralleltest // it changes http.DefaultTransport
func TestDenyDefault(t *testing.T) {
	proxy := numbered(t) // on this machine, and a way to all others
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	original, before := http.DefaultTransport, &http.Transport{Proxy: http.ProxyURL(address)}
	http.DefaultTransport = before
	defer func() { http.DefaultTransport = original }()
	restore := cassette.DenyDefault()
	_, err = http.Get("http://192.0.2.1/")
	restore()
	if !errors.Is(err, cassette.ErrDenied) || http.DefaultTransport != http.RoundTripper(before) || proxy.calls.Load() != 0 {
		t.Errorf("error %v, the proxy was asked %d times", err, proxy.calls.Load())
	}
}

func TestUse(t *testing.T) {
	t.Parallel()
	path, e := tempFile(t), numbered(t)
	f := &failures{TB: t}
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	resp, err := cassette.Use(f, path, cassette.Record, cassette.WithTransport(base)).Post(e.URL, "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	f.finish()
	if len(f.said) != 0 {
		t.Errorf("after recording: %q", f.said)
	}
	f = &failures{TB: t}
	cassette.Use(f, path, cassette.Replay)
	f.finish()
	if len(f.said) != 1 || !strings.Contains(f.said[0], "not made") {
		t.Errorf("after a replay without requests: %q", f.said)
	}
}
