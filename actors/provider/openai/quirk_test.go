package openai_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
	"github.com/skelegent/skelegent-go/actors/provider/openai"
	"github.com/skelegent/skelegent-go/protocol"
)

func wantKind(t *testing.T, name string, err error, kind protocol.ErrorKind) {
	t.Helper()
	if !errors.Is(err, &protocol.Error{Kind: kind}) {
		t.Errorf("%s: got %v, want %s", name, err, kind)
	}
}

// ask streams if reply is a stream.
func ask(t *testing.T, reply string) (protocol.InferResponse, []protocol.StreamEvent, error) {
	t.Helper()
	var events []protocol.StreamEvent
	var sink func(protocol.StreamEvent)
	contentType := "application/json"
	if strings.Contains(reply, "data:") {
		contentType = "text/event-stream"
		sink = func(ev protocol.StreamEvent) { events = append(events, ev) }
	}
	p := serve(t, contentType, reply).provider(t, openai.Config{})
	resp, err := p.Infer(t.Context(), protocol.InferRequest{Model: "m"}, sink)
	return resp, events, err
}

func TestQuirks(t *testing.T) {
	t.Parallel()
	call := `{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}`
	end := "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n"
	tests := []struct {
		name, reply string
		check       func(t *testing.T, r protocol.InferResponse)
	}{
		{"stop with calls is a call", `{"choices":[{"message":{"tool_calls":[` + call + `]},"finish_reason":"stop"}]}`, func(t *testing.T, r protocol.InferResponse) {
			t.Helper()
			if r.StopReason != protocol.StopToolUse || r.Model != "m" {
				t.Errorf("%+v", r)
			}
		}},
		{"ids made unique", `{"choices":[{"message":{"tool_calls":[` + call + `,` + call + `,{"function":{"name":"g"}}]},"finish_reason":"stop"}]}`, uniqueIDs(3)},
		{"refusal", `{"choices":[{"message":{"content":null,"refusal":"I cannot."},"finish_reason":"stop"}]}`, func(t *testing.T, r protocol.InferResponse) {
			t.Helper()
			if text, _ := r.Content.AsText(); text != "I cannot." || r.StopReason != protocol.StopContentFilter {
				t.Errorf("%+v", r)
			}
		}},
		{"thinking", `{"choices":[{"message":{"content":"4","reasoning_content":"2+2"},"finish_reason":"stop"}]}`, func(t *testing.T, r protocol.InferResponse) {
			t.Helper()
			if text, _ := r.Content.AsText(); text != "4" || len(r.Content.Blocks()) != 2 {
				t.Errorf("%+v", r)
			}
		}},
		{"content in parts", `{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},"finish_reason":"stop"}]}`, func(t *testing.T, r protocol.InferResponse) {
			t.Helper()
			if text, _ := r.Content.AsText(); text != "ab" {
				t.Errorf("%+v", r)
			}
		}},
		{"negative usage", `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":-5,"completion_tokens":2}}`, func(t *testing.T, r protocol.InferResponse) {
			t.Helper()
			if r.Usage.InputTokens != 0 || r.Usage.OutputTokens != 2 {
				t.Errorf("%+v", r.Usage)
			}
		}},
		{"streamed without numbers and ids", `data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{\"a\""}}]}}]}` + "\n\n" +
			`data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":":1}"}}]}}]}` + "\n\n" +
			`data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"g"}}]}}]}` + "\n\n" + end, uniqueIDs(2)},
		{"streamed arguments before the name", `data: {"choices":[{"delta":{"tool_calls":[{"index":3,"id":"a","function":{"arguments":"{\"a\""}}]}}]}` + "\n\n" +
			`data: {"choices":[{"delta":{"tool_calls":[{"index":3,"function":{"name":"f","arguments":":1}"}}]}}]}` + "\n\n" + end, func(t *testing.T, r protocol.InferResponse) {
			t.Helper()
			if len(r.ToolCalls) != 1 || string(r.ToolCalls[0].Input) != `{"a":1}` || r.ToolCalls[0].ID != "a" {
				t.Errorf("%+v", r.ToolCalls)
			}
		}},
		{"no done and no space", `data:{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}` + "\n\n", func(t *testing.T, r protocol.InferResponse) {
			t.Helper()
			if text, _ := r.Content.AsText(); text != "x" || r.Cost != nil {
				t.Errorf("%+v", r)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, events, err := ask(t, tt.reply)
			if err != nil {
				t.Fatal(err)
			}
			tt.check(t, r)
			var args strings.Builder
			for _, ev := range events {
				if d, ok := ev.(protocol.ToolCallDelta); ok && d.Index == 0 {
					args.WriteString(d.JSONDelta)
				}
			}
			if len(events) > 0 && len(r.ToolCalls) > 0 && args.String() != string(r.ToolCalls[0].Input) {
				t.Errorf("streamed %q, returned %s", args.String(), r.ToolCalls[0].Input)
			}
		})
	}
}

func uniqueIDs(n int) func(*testing.T, protocol.InferResponse) {
	return func(t *testing.T, r protocol.InferResponse) {
		t.Helper()
		ids := map[string]bool{}
		for _, c := range r.ToolCalls {
			ids[c.ID] = true
		}
		if len(r.ToolCalls) != n || len(ids) != n || ids[""] {
			t.Errorf("%+v", r.ToolCalls)
		}
	}
}

func TestBadAnswers(t *testing.T) {
	t.Parallel()
	event := func(s string) string { return ": ping\n\nevent: error\ndata: " + s + "\n\n" }
	tests := []struct {
		name, reply string
		kind        protocol.ErrorKind
		says        string
	}{
		{"no choices", `{"choices":[]}`, protocol.KindProviderInvalidResponse, "no choices"},
		{"no choices streamed", "data: {\"choices\":[]}\n\ndata: [DONE]\n\n", protocol.KindProviderInvalidResponse, "no choices"},
		{"nothing said", `{"choices":[{"message":{}}]}`, protocol.KindProviderInvalidResponse, "finish reason"},
		{"call without a name", `{"choices":[{"message":{"tool_calls":[{"id":"a"}]},"finish_reason":"stop"}]}`, protocol.KindProviderInvalidResponse, "name"},
		{"done without a finish", "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n", protocol.KindProviderTransient, "finish reason"},
		{"error with status 200", `{"error":{"message":"upstream","code":502}}`, protocol.KindProviderTransient, "upstream"},
		{"event: limit", event(`{"error":{"message":"x","type":"rate_limit_error"}}`), protocol.KindProviderRateLimited, ""},
		{"event: limit by number", event(`{"error": {"message":"x","code":429}}`), protocol.KindProviderRateLimited, ""},
		{"event: spaced", event(`{ "error" : {"message":"overloaded now","type":"server_error"}}`), protocol.KindProviderTransient, "overloaded now"},
		{"event: blocked", event(`{"error":{"message":"x","code":"content_filter"}}`), protocol.KindProviderContentBlocked, ""},
		{"event: request", event(`{"error":{"message":"too long","type":"invalid_request_error"}}`), protocol.KindProviderInvalidRequest, "too long"},
		{"event: text", event(`{"error":"boom"}`), protocol.KindProviderTransient, ""},
		{"event: nothing", event(`{"error":{}}`), protocol.KindProviderTransient, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := ask(t, tt.reply)
			wantKind(t, tt.name, err, tt.kind)
			if err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v should say %q", err, tt.says)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"1": time.Second, "0.5": 500 * time.Millisecond, " 2 ": 2 * time.Second, "-1": 0, "NaN": 0, "x": 0, "": 0,
		"1e30": 24 * time.Hour, "Inf": 24 * time.Hour, "Mon, 02 Jan 2006 15:04:05 GMT": 0, "ms:250": 250 * time.Millisecond,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if ms, ok := strings.CutPrefix(value, "ms:"); ok {
				w.Header().Set("Retry-After-Ms", ms)
				value = "9"
			}
			w.Header().Set("Retry-After", value)
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		p := (&server{Server: s}).provider(t, openai.Config{})
		_, err := p.Infer(t.Context(), protocol.InferRequest{}, nil)
		var e *protocol.Error
		if !errors.As(err, &e) || e.RetryAfter != want || !e.Retryable {
			t.Errorf("Retry-After %q: got %v, want %v", value, err, want)
		}
		s.Close()
	}
}

func TestQuota(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"error":{"message":"pay","code":"insufficient_quota"}}`))
	}))
	t.Cleanup(s.Close)
	_, err := (&server{Server: s}).provider(t, openai.Config{}).Infer(t.Context(), protocol.InferRequest{}, nil)
	wantKind(t, "quota", err, protocol.KindProviderRateLimited)
	if protocol.IsRetryable(err) {
		t.Error("retryable")
	}
}

// TestReuse checks that calls do not need a connection each, streams included.
func TestReuse(t *testing.T) {
	t.Parallel()
	var opened atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"))
		_ = http.NewResponseController(w).Flush()
		<-time.After(3 * time.Millisecond) // as on a long way, the end of the answer comes alone and later
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	p := (&server{Server: s}).provider(t, openai.Config{})
	const n = 12
	for range n {
		if _, err := p.Infer(t.Context(), protocol.InferRequest{}, func(protocol.StreamEvent) {}); err != nil {
			t.Fatal(err)
		}
	}
	if got := opened.Load(); got > n/4 { // an end that comes late costs one
		t.Errorf("%d connections for %d calls", got, n)
	}
}

func TestSaid(t *testing.T) {
	t.Parallel()
	const secretText = "my pin is 1234 and nobody else may know"
	for said, want := range map[string]string{
		"Incorrect API key provided: sk-abc***********wxyz.":     "Incorrect API key provided: [REDACTED]",
		"The model `x` does not exist":                           "The model `x` does not exist",
		"cannot parse 'pin is 1234 and nobody else' at 3":        "cannot parse '[REDACTED]' at 3",
		"two\nlines\t and \x00 more":                             "two lines and more",
		"Bearer abcdefghij was sent, as " + secretText + " says": "[REDACTED] was sent, as [REDACTED] says",
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(encode(map[string]any{"error": map[string]any{"message": said}}))
		}))
		p := (&server{Server: s}).provider(t, openai.Config{})
		_, err := p.Infer(t.Context(), protocol.InferRequest{Messages: []protocol.Message{user(protocol.TextBlock{Text: secretText})}}, nil)
		if err == nil || err.Error() != "invalid request: "+want {
			t.Errorf("said %q: got %v", said, err)
		}
		s.Close()
	}
}

// An answer within the limit of bytes can have millions of values, each of which takes hundreds of bytes to read.
func TestFloodOfValues(t *testing.T) {
	t.Parallel()
	flood := strings.Repeat("{},", 100_000) + "{}"
	for name, reply := range map[string]string{
		"choices":            `{"choices":[` + flood + `]}`,
		"calls":              `{"choices":[{"message":{"tool_calls":[` + flood + `]},"finish_reason":"stop"}]}`,
		"choices of a piece": `data: {"choices":[` + flood + "]}\n\n",
		"calls of a piece":   `data: {"choices":[{"delta":{"tool_calls":[` + flood + "]}}]}\n\n",
	} {
		_, _, err := ask(t, reply)
		wantKind(t, name, err, protocol.KindProviderInvalidResponse)
		if !errors.Is(err, exchange.ErrTooLarge) && !strings.Contains(err.Error(), "too large") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
