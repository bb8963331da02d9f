package openai_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/skelegent/skelegent-go/actors/provider/openai"
	"github.com/skelegent/skelegent-go/actors/provider/secret"
	"github.com/skelegent/skelegent-go/protocol"
)

// Case D7.6 of the specification. What else a server can refuse is in the conformance suite, for every provider.
func TestD7Fact6Errors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		key    secret.Source
		kind   protocol.ErrorKind
		retry  bool
	}{
		"500":            {500, `{}`, nil, protocol.KindProviderTransient, true},
		"429":            {429, `{}`, nil, protocol.KindProviderRateLimited, true},
		"401":            {401, `{}`, nil, protocol.KindProviderAuthFailed, false},
		"403":            {403, `{}`, nil, protocol.KindProviderAuthFailed, false},
		"content filter": {400, `{"error":{"code":"content_filter","message":"no"}}`, nil, protocol.KindProviderContentBlocked, false},
		"content policy": {400, `{"error":{"message":"against our content policy"}}`, nil, protocol.KindProviderContentBlocked, false},
		"no key":         {200, `{}`, secret.Env("SKELEGENT_TEST_NO_SUCH_KEY"), protocol.KindProviderAuthFailed, false},
		"empty key":      {200, `{}`, secret.Static(" "), protocol.KindProviderAuthFailed, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			t.Cleanup(s.Close)
			p := openai.New(openai.Config{BaseURL: s.URL, APIKey: c.key})
			t.Cleanup(p.Close)
			_, err := p.Infer(t.Context(), protocol.InferRequest{
				Messages: []protocol.Message{protocol.NewMessage(protocol.RoleUser, protocol.TextContent("hi"))},
			}, nil)
			if !errors.Is(err, &protocol.Error{Kind: c.kind}) || protocol.IsRetryable(err) != c.retry {
				t.Errorf("got %v, retryable %v", err, protocol.IsRetryable(err))
			}
		})
	}
}
