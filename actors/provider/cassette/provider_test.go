package cassette_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/provider/cassette"
	"github.com/skelegent/skelegent-go/actors/provider/openai"
	"github.com/skelegent/skelegent-go/actors/provider/secret"
	"github.com/skelegent/skelegent-go/protocol"
)

// model streams an answer, as a chat completions server does, and refuses every third call.
func model(t *testing.T) *endpoint {
	t.Helper()
	n := 0
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if n++; n%3 == 0 {
			w.Header().Set("Retry-After", "7")
			http.Error(w, `{"error":{"message":"slow down"}}`, http.StatusTooManyRequests)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, piece := range []string{"One ", "größer ", "漢字"} {
			fmt.Fprintf(w, "data: {\"model\":\"gpt-4o\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", piece)
			_ = http.NewResponseController(w).Flush()
		}
		fmt.Fprint(w, "data: {\"model\":\"gpt-4o\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	})
}

func ask(t *testing.T, rt http.RoundTripper, url, prompt string) (pieces []string, err error) {
	t.Helper()
	p := openai.New(openai.Config{BaseURL: url + "/v1", APIKey: secret.Static("sk-test-0123456789"), HTTPClient: &http.Client{Transport: rt}})
	defer p.Close()
	req := protocol.InferRequest{Model: "gpt-4o", Messages: []protocol.Message{protocol.NewMessage(protocol.RoleUser, protocol.TextContent(prompt))}}
	_, err = p.Infer(t.Context(), req, func(ev protocol.StreamEvent) {
		if d, ok := ev.(protocol.TextDelta); ok {
			pieces = append(pieces, d.Text)
		}
	})
	return pieces, err
}

func TestAProvider(t *testing.T) {
	t.Parallel()
	path, e := tempFile(t), model(t)
	for _, mode := range []cassette.Mode{cassette.Record, cassette.Replay} {
		c := open(t, path, mode)
		for n := range 3 {
			pieces, err := ask(t, c, e.URL, fmt.Sprint("call ", n))
			if n < 2 && (err != nil || strings.Join(pieces, "|") != "One |größer |漢字") {
				t.Errorf("mode %d, call %d: %q, error %v", mode, n, pieces, err)
			}
			if e := protocol.AsError(err); n == 2 && (e.Kind != protocol.KindProviderRateLimited || e.RetryAfter.Seconds() != 7) {
				t.Errorf("mode %d: %v", mode, err)
			}
		}
		closed(t, c)
		e.Close() // a replay needs none
	}
	stored := read(t, path)
	if strings.Contains(stored, "sk-test") || strings.Contains(stored, "cut") || !strings.Contains(stored, "größer") {
		t.Errorf("stored:\n%s", stored)
	}
}

func TestWhatAProviderSaysOfAMissingRequest(t *testing.T) {
	t.Parallel()
	path, e := tempFile(t), model(t)
	c := open(t, path, cassette.Record)
	_, _ = ask(t, c, e.URL, "one")
	closed(t, c)
	c = open(t, path, cassette.Replay)
	_, _ = ask(t, c, e.URL, "one")
	_, err := ask(t, c, e.URL, "two")
	if !errors.Is(err, &protocol.Error{Kind: protocol.KindProviderInvalidRequest}) || protocol.IsRetryable(err) ||
		!strings.Contains(err.Error(), "cassette.Record") {
		t.Errorf("error %v", err)
	}
	if c.Close() == nil {
		t.Error("Close does not tell")
	}
	if _, err := ask(t, cassette.Deny(), "https://api.openai.com", "x"); protocol.IsRetryable(err) ||
		!errors.Is(err, &protocol.Error{Kind: protocol.KindProviderInvalidRequest}) || !strings.Contains(err.Error(), "api.openai.com") {
		t.Errorf("denied: %v", err)
	}
}
