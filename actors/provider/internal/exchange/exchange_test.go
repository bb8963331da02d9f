package exchange_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask posts to a server that answers by handle and reads the whole answer.
func ask(ctx context.Context, t *testing.T, cfg exchange.Config, handle http.HandlerFunc) (string, *exchange.Exchange, error) {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	c := exchange.NewClient(nil)
	t.Cleanup(c.CloseIdleConnections)
	ex := exchange.New(cfg)
	body, err := ex.Post(ctx, c, s.URL, http.Header{"X-Api-Key": {cfg.Key}})
	if err != nil {
		return "", ex, err
	}
	t.Cleanup(func() { _ = body.Close() })
	raw, err := io.ReadAll(body)
	return string(raw), ex, ex.Failure(ctx, err)
}

func answer(status int, body string, head ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(head); i += 2 {
			w.Header().Set(head[i], head[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestPost(t *testing.T) {
	t.Parallel()
	got, ex, err := ask(t.Context(), t, exchange.Config{Request: []byte(`{"a":1}`), Key: "k"}, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Method+r.Header.Get("Content-Type")+r.Header.Get("X-Api-Key")+string(raw))
	})
	if got != `POSTapplication/jsonk{"a":1}` || err != nil || ex.Broken() {
		t.Errorf("%q, %v", got, err)
	}
	ex.Drain()
	_, err = exchange.New(exchange.Config{}).Post(t.Context(), &http.Client{}, "://secret", nil)
	if !errors.Is(err, &protocol.Error{Kind: protocol.KindProviderInvalidRequest}) || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	exchange.New(exchange.Config{}).Drain() // of what was not sent
}

// TestLibrary checks whose body is sent for a client library.
func TestLibrary(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	t.Cleanup(s.Close)
	own := &http.Client{Timeout: time.Minute}
	c := exchange.NewClient(own)
	t.Cleanup(c.CloseIdleConnections)
	if own.Transport != nil || own.CheckRedirect != nil || c.Timeout != time.Minute {
		t.Error("the client given was changed, or not taken")
	}
	for name, tt := range map[string]struct {
		ctx  context.Context
		want string
	}{
		"ours":        {exchange.New(exchange.Config{Request: []byte("ours")}).With(t.Context()), "ours"},
		"library's":   {exchange.New(exchange.Config{}).With(t.Context()), "theirs"},
		"no exchange": {t.Context(), "theirs"},
	} {
		req, err := http.NewRequestWithContext(tt.ctx, http.MethodPost, s.URL, strings.NewReader("theirs"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if string(got) != tt.want {
			t.Errorf("%s: sent %q", name, got)
		}
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	quota := `{"error":{"message":"pay","code":"insufficient_quota"}}`
	tests := []struct {
		name   string
		handle http.HandlerFunc
		want   protocol.Error // kind, code, retry
		says   string
	}{
		{"429", answer(429, "", "Retry-After", "7"), protocol.Error{Kind: protocol.KindProviderRateLimited, Retryable: true, RetryAfter: 7 * time.Second}, ""},
		{"429 ms", answer(429, "", "Retry-After-Ms", "250"), protocol.Error{Kind: protocol.KindProviderRateLimited, Retryable: true, RetryAfter: 250 * time.Millisecond}, ""},
		{"429 quota", answer(429, quota, "Retry-After", "7"), protocol.Error{Kind: protocol.KindProviderRateLimited}, "quota"},
		{"401", answer(401, `{"error":{"message":"half a key","code":"invalid_api_key"}}`), protocol.Error{Kind: protocol.KindProviderAuthFailed, Code: protocol.CodeUnauthorized}, "(invalid_api_key)"},
		{"403", answer(403, `{"error":"no access"}`), protocol.Error{Kind: protocol.KindProviderAuthFailed, Code: protocol.CodePermissionDenied}, "no access"},
		{"blocked", answer(400, `{"error":{"message":"against our Content Policy"}}`), protocol.Error{Kind: protocol.KindProviderContentBlocked}, "against"},
		{"400", answer(400, `{"message":"too long"}`), protocol.Error{Kind: protocol.KindProviderInvalidRequest}, "too long"},
		{"404", answer(404, `{"detail":"no model"}`), protocol.Error{Kind: protocol.KindProviderInvalidRequest}, "no model"},
		{"422", answer(422, `<html>`), protocol.Error{Kind: protocol.KindProviderInvalidRequest}, "HTTP 422 Unprocessable Entity"},
		{"408", answer(408, ""), protocol.Error{Kind: protocol.KindProviderTransient, Retryable: true}, ""},
		{"425", answer(425, ""), protocol.Error{Kind: protocol.KindProviderTransient, Retryable: true}, ""},
		{"529", answer(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), protocol.Error{Kind: protocol.KindProviderTransient, Retryable: true}, "Overloaded"},
		{"503", answer(503, "", "Retry-After", "3"), protocol.Error{Kind: protocol.KindProviderTransient, Retryable: true, RetryAfter: 3 * time.Second}, "HTTP 503"},
		{"redirect", answer(307, "", "Location", "/else"), protocol.Error{Kind: protocol.KindProviderInvalidRequest}, "redirects"},
		{"aborted", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, protocol.Error{Kind: protocol.KindProviderTransient, Retryable: true}, "no answer"},
		{"cut", answer(200, "begin", "Content-Length", "100"), protocol.Error{Kind: protocol.KindProviderTransient, Retryable: true}, "broke"},
		{"too large, told", answer(200, strings.Repeat("x", 2001)), protocol.Error{Kind: protocol.KindProviderInvalidResponse}, "2000 bytes"},
		{"too large", func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, strings.Repeat("x", 2001))
		}, protocol.Error{Kind: protocol.KindProviderInvalidResponse}, "2000 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := ask(t.Context(), t, exchange.Config{MaxAnswer: 2000}, tt.handle)
			var e *protocol.Error
			if !errors.As(err, &e) || e.Kind != tt.want.Kind || e.Retryable != tt.want.Retryable || e.RetryAfter != tt.want.RetryAfter ||
				tt.want.Code != "" && e.Code != tt.want.Code || !strings.Contains(e.Message, tt.says) {
				t.Errorf("got %#v, want %#v saying %q", e, tt.want, tt.says)
			}
		})
	}
}

// TestDialect checks that a provider's own reading of errors counts.
func TestDialect(t *testing.T) {
	t.Parallel()
	d := exchange.Dialect{
		Answer: "a sonnet",
		Read: func(body []byte) exchange.Report {
			return exchange.Report{Message: strings.ToUpper(string(body)), Class: exchange.Exhausted}
		},
		Library: func(err error) (exchange.Report, bool) {
			return exchange.Report{Message: "said", Class: exchange.Invalid}, errors.Is(err, io.ErrNoProgress)
		},
	}
	_, _, err := ask(t.Context(), t, exchange.Config{Dialect: d}, answer(429, "x"))
	if err == nil || protocol.IsRetryable(err) {
		t.Errorf("own class: %v", err)
	}
	_, ex, err := ask(t.Context(), t, exchange.Config{Dialect: d}, answer(200, "fine"))
	if err != nil || ex.Report().Message != "FINE" {
		t.Errorf("%v, %+v", err, ex.Report())
	}
	for err, want := range map[error]string{
		io.ErrNoProgress:     "invalid request: said",
		io.ErrShortBuffer:    "invalid response: it is not a sonnet",
		exchange.ErrTooLarge: "invalid response: a piece of it is too large",
	} {
		if got := ex.Failure(t.Context(), err); got == nil || got.Error() != want {
			t.Errorf("%v: got %v, want %s", err, got, want)
		}
	}
}

func TestReported(t *testing.T) {
	t.Parallel()
	ex := exchange.New(exchange.Config{})
	for body, want := range map[string]protocol.ErrorKind{
		`{"error":{"type":"rate_limit_error"}}`:                  protocol.KindProviderRateLimited,
		`{"error":{"code":429}}`:                                 protocol.KindProviderRateLimited,
		`{"error":{"type":"insufficient_quota"}}`:                protocol.KindProviderRateLimited,
		`{"error":{"type":"authentication_error"}}`:              protocol.KindProviderAuthFailed,
		`{"error":{"type":"permission_error"}}`:                  protocol.KindProviderAuthFailed,
		`{"error":{"code":"content_filter"}}`:                    protocol.KindProviderContentBlocked,
		`{"error":{"type":"invalid_request_error"}}`:             protocol.KindProviderInvalidRequest,
		`{"error":{"type":"overloaded_error","message":"busy"}}`: protocol.KindProviderTransient,
		`{"error":{"code":"200"}}`:                               protocol.KindProviderTransient,
		`{"error":null}`:                                         protocol.KindProviderTransient,
		`]`:                                                      protocol.KindProviderTransient,
	} {
		if got := ex.Reported(exchange.ReadReport([]byte(body))); got.Kind != want {
			t.Errorf("%s: got %v, want %s", body, got, want)
		}
	}
}

func TestEnded(t *testing.T) {
	t.Parallel()
	cause := errors.New("stop")
	for name, begun := range map[string]bool{"before the answer": false, "in the answer": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			gone := make(chan struct{})
			_, _, err := ask(ctx, t, exchange.Config{}, func(w http.ResponseWriter, r *http.Request) {
				defer close(gone)
				_, _ = io.Copy(io.Discard, r.Body) // only then is a closed connection noticed
				if begun {
					_ = http.NewResponseController(w).Flush()
				}
				cancel(cause)
				<-r.Context().Done()
			})
			if protocol.CodeOf(err) != protocol.CodeCancelled || !errors.Is(err, cause) {
				t.Errorf("got %v", err)
			}
			select {
			case <-gone:
			case <-t.Context().Done():
				t.Error("the connection stays open")
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, _, err := ask(ctx, t, exchange.Config{}, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	if protocol.CodeOf(err) != protocol.CodeTimeout {
		t.Errorf("got %v", err)
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	const key = "0123456789abcdefghijklmnop"
	blocks := protocol.BlockContent(
		protocol.ThinkingBlock{Thinking: "the user seems to be a spy"},
		protocol.ToolUseBlock{Input: []byte(`{"account":"DE00 1234 5678"}`)},
		protocol.ImageBlock{Source: protocol.URLSource("https://bucket/image?signature=abcdef")},
		protocol.FileBlock{Source: protocol.URLSource("https://bucket/file?signature=uvwxyz"), Filename: "diagnosis of J. Doe.pdf"},
		protocol.CustomBlock{Data: []byte(`{"weight":"ninety kilos"}`)},
	)
	ex := exchange.New(exchange.Config{Key: key, Prompt: protocol.InferRequest{
		System: "never mention the launch date", Messages: []protocol.Message{
			protocol.NewMessage(protocol.RoleAssistant, blocks), protocol.ToolResultMessage("c", "n", "the pin is 4711 and more", false),
		},
	}})
	for said, want := range map[string]string{
		"":                                "",
		"no model x":                      "no model x",
		"key " + key + "!":                "key [REDACTED]!",
		"key " + key[:20] + "!":           "key [REDACTED]!",
		"token sk-ant-api03-abcdef":       "token [REDACTED]",
		"bad: user seems to be a spy":     "bad:[REDACTED]",
		`bad: "account":"DE00 1234 5678"`: "bad: [REDACTED]",
		"no https://bucket/image?signature=abcdef": "no [REDACTED]",
		"no https://bucket/file?signature=uvwxyz":  "no [REDACTED]",
		"no diagnosis of J. Doe.pdf":               "no [REDACTED]",
		`no "weight":"ninety kilos"`:               "no [REDACTED]",
		"why the launch date?":                     "why[REDACTED]?",
		"is the pin is 4711 and":                   "is [REDACTED]",
		"a\n\x00b\xff":                             "a b?",
	} {
		if got := ex.Redact(said); got != want {
			t.Errorf("said %q: got %q, want %q", said, got, want)
		}
	}
	if got := ex.Redact(strings.Repeat("é", 1000)); len(got) > 200 || !strings.HasSuffix(got, "é...") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

func FuzzReadReport(f *testing.F) {
	for _, s := range []string{`{"error":{"message":"m","code":429,"type":[]}}`, `{"error":"x"}`, `{"message":1}`, "]"} {
		f.Add([]byte(s))
	}
	ex := exchange.New(exchange.Config{Key: "sk-0123456789"})
	f.Fuzz(func(t *testing.T, body []byte) {
		if e := ex.Reported(exchange.ReadReport(body)); e.Kind == "" || len(e.Message) > 300 || strings.Contains(e.Message, "sk-0123456789") {
			t.Errorf("%q becomes %q of kind %q", body, e.Message, e.Kind)
		}
	})
}
