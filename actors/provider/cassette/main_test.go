package cassette_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/provider/cassette"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// endpoint is a real server that numbers its answers.
type endpoint struct {
	*httptest.Server
	calls atomic.Int64
}

func serve(t *testing.T, handle http.HandlerFunc) *endpoint {
	t.Helper()
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.calls.Add(1)
		handle(w, r)
	}))
	t.Cleanup(e.Close)
	return e
}

// numbered answers with the number of the call and the body of the request.
func numbered(t *testing.T) *endpoint {
	t.Helper()
	var n atomic.Int64
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "%d: %s", n.Add(1), body)
	})
}

func open(t *testing.T, path string, mode cassette.Mode, options ...cassette.Option) *cassette.Cassette {
	t.Helper()
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	c, err := cassette.Open(path, mode, append([]cassette.Option{cassette.WithTransport(base)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// post returns status and body of the answer.
func post(t *testing.T, rt http.RoundTripper, url, body string, headers ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

func closed(t *testing.T, c *cassette.Cassette) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func tempFile(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "sub", "cassette.yaml")
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
