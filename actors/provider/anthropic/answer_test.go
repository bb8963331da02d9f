package anthropic_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/provider/anthropic"
	"github.com/skelegent/skelegent-go/protocol"
)

const patience = 20 * time.Second // nothing waits that long unless it fails

// ask streams if reply is a stream.
func ask(t *testing.T, reply string) (protocol.InferResponse, []protocol.StreamEvent, error) {
	t.Helper()
	if strings.Contains(reply, "data:") {
		return askWith(t, "text/event-stream", reply, true)
	}
	return askWith(t, "application/json", reply, false)
}

func askWith(t *testing.T, contentType, reply string, stream bool) (protocol.InferResponse, []protocol.StreamEvent, error) {
	t.Helper()
	var events []protocol.StreamEvent
	var sink func(protocol.StreamEvent)
	if stream {
		sink = func(ev protocol.StreamEvent) { events = append(events, ev) }
	}
	p := serve(t, contentType, reply).provider(t, anthropic.Config{})
	resp, err := p.Infer(t.Context(), protocol.InferRequest{Model: "m", Messages: []protocol.Message{text(protocol.RoleUser, "x")}}, sink)
	return resp, events, err
}

// stream is a stream of events, each in one line.
func stream(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

const (
	begin  = `{"type":"message_start","message":{"model":"m","content":[],"usage":{"input_tokens":5,"output_tokens":1}}}`
	ended  = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}`
	called = `{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}`
	done   = `{"type":"message_stop"}`
)

// response is the comparable form of a response.
func response(t *testing.T, r protocol.InferResponse) any {
	t.Helper()
	raw, err := protocol.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, string(raw))
}

const thoughtWhole = `{"type":"message","model":"claude-haiku-4-5","content":[{"type":"thinking","thinking":"I look.","signature":"sig1"},
	{"type":"redacted_thinking","data":"xyz"},{"type":"text","text":"Look"},{"type":"text","text":"ing.","citations":[]},
	{"type":"server_tool_use","id":"srv1","name":"web_search","input":{"q":"x"}},
	{"type":"tool_use","id":"c1","name":"clock","input":{"n":12345678901234567890}}],"stop_reason":"tool_use",
	"usage":{"input_tokens":5,"cache_read_input_tokens":3,"cache_creation_input_tokens":0,"output_tokens":7,"output_tokens_details":{"thinking_tokens":2}}}`

func thoughtStream() string {
	return stream(`{"type":"message_start","message":{"model":"claude-haiku-4-5","content":[],"usage":{"input_tokens":5,"cache_read_input_tokens":3,"cache_creation_input_tokens":0,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`, `{"type":"ping"}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"I "}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"look."}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig1"}}`, `{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"xyz"}}`, `{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Look"}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"text":5}}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"future_delta","text":{"a":1}}}`, `{"type":"content_block_stop","index":2}`,
		`{"type":"future_event","index":"x","delta":5}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"text","text":"ing."}}`,
		`{"type":"content_block_start","index":4,"content_block":{"type":"server_tool_use","id":"srv1","name":"web_search","input":{}}}`,
		`{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{\"q\":"}}`,
		`{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"\"x\"}"}}`,
		`{"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"c1","name":"clock","input":{}}}`,
		`{"type":"content_block_delta","index":5,"delta":{"type":"input_json_delta","partial_json":""}}`,
		`{"type":"content_block_delta","index":5,"delta":{"type":"input_json_delta","partial_json":"{\"n\":12345"}}`,
		`{"type":"content_block_delta","index":5,"delta":{"type":"input_json_delta","partial_json":"678901234567890}"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":7,"output_tokens_details":{"thinking_tokens":2}}}`, done)
}

// TestThinking checks that thinking arrives with all that it came with, and is sent back unchanged and in its place.
func TestThinking(t *testing.T) {
	t.Parallel()
	want := decoded(t, `{"content":[{"type":"thinking","thinking":"I look.","signature":"sig1"},
		{"type":"custom","content_type":"anthropic/redacted_thinking","data":{"type":"redacted_thinking","data":"xyz"}},
		{"type":"text","text":"Looking."},
		{"type":"custom","content_type":"anthropic/server_tool_use","data":{"type":"server_tool_use","id":"srv1","name":"web_search","input":{"q":"x"}}}],
		"tool_calls":[{"id":"c1","name":"clock","input":{"n":12345678901234567890}}],"stop_reason":"tool_use","model":"claude-haiku-4-5",
		"usage":{"input_tokens":8,"output_tokens":7,"cache_read_tokens":3,"cache_creation_tokens":0,"reasoning_tokens":2},
		"cost":"0.0000403","truncated":null}`)
	for name, reply := range map[string]string{"whole": thoughtWhole, "stream": thoughtStream()} {
		resp, _, err := ask(t, reply)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, response(t, resp)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		raw, err := protocol.Marshal(resp.ToMessage()) // as it is kept
		if err != nil {
			t.Fatal(err)
		}
		var kept protocol.Message
		if err := protocol.Unmarshal(raw, &kept); err != nil {
			t.Fatal(err)
		}
		s := serve(t, "application/json", thoughtWhole)
		req := protocol.InferRequest{Messages: []protocol.Message{text(protocol.RoleUser, "x"), kept, protocol.ToolResultMessage("c1", "clock", "noon", false)}}
		if _, err := s.provider(t, anthropic.Config{}).Infer(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		sent := decoded(t, `[{"type":"thinking","thinking":"I look.","signature":"sig1"},{"type":"redacted_thinking","data":"xyz"},{"type":"text","text":"Looking."},
			{"type":"server_tool_use","id":"srv1","name":"web_search","input":{"q":"x"}},{"type":"tool_use","id":"c1","name":"clock","input":{"n":12345678901234567890}}]`)
		if diff := cmp.Diff(sent, s.body["messages"].([]any)[1].(map[string]any)["content"]); diff != "" {
			t.Errorf("%s, sent back: %s", name, diff)
		}
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	resp, events, err := ask(t, thoughtStream())
	if err != nil {
		t.Fatal(err)
	}
	want := []protocol.StreamEvent{
		protocol.ThinkingDelta{Thinking: "I "},
		protocol.ThinkingDelta{Thinking: "look."},
		protocol.TextDelta{Text: "Look"},
		protocol.TextDelta{Text: "ing."},
		protocol.ToolCallStart{Index: 0, ID: "c1", Name: "clock"},
		protocol.ToolCallDelta{Index: 0, JSONDelta: `{"n":12345`},
		protocol.ToolCallDelta{Index: 0, JSONDelta: `678901234567890}`},
		protocol.UsageEvent{Usage: resp.Usage},
		protocol.Done{Response: resp},
	}
	same := cmp.Transformer("json", func(r protocol.InferResponse) string {
		raw, err := json.Marshal(r)
		return string(raw) + cmp.Diff(nil, err)
	})
	if diff := cmp.Diff(want, events, same); diff != "" {
		t.Error(diff)
	}
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	const tool = `{"type":"tool_use","id":"c","name":"n","input":{}}`
	for _, tt := range []struct {
		stop, content string
		want          protocol.StopReason
	}{
		{"end_turn", "", protocol.StopEndTurn},
		{"stop_sequence", "", protocol.StopEndTurn},
		{"pause_turn", "", protocol.StopEndTurn},
		{"of_the_future", "", protocol.StopEndTurn},
		{"max_tokens", "", protocol.StopMaxTokens},
		{"model_context_window_exceeded", "", protocol.StopMaxTokens},
		{"refusal", "", protocol.StopContentFilter},
		{"tool_use", tool, protocol.StopToolUse},
		{"end_turn", tool, protocol.StopToolUse},
		{"max_tokens", tool, protocol.StopMaxTokens},
		{"refusal", tool, protocol.StopContentFilter},
	} {
		r, _, err := ask(t, `{"content":[`+tt.content+`],"stop_reason":"`+tt.stop+`"}`)
		if err != nil || r.StopReason != tt.want || r.Model != "m" || r.Cost != nil {
			t.Errorf("%s: %+v, %v, want %s", tt.stop, r, err, tt.want)
		}
	}
}

func TestQuirks(t *testing.T) {
	t.Parallel()
	const tool = `{"type":"tool_use","id":"a","name":"f","input":{"x":1}}`
	tests := []struct{ name, reply, want string }{
		{"whole input at the begin", stream(begin, `{"type":"content_block_start","index":0,"content_block":`+tool+`}`, called, done), `{"x":1}`},
		{"whole input and its stop", stream(begin, `{"type":"content_block_start","index":0,"content_block":`+tool+`}`, `{"type":"content_block_stop","index":0}`, called, done), `{"x":1}`},
		{"null input", `{"content":[{"type":"tool_use","id":"a","name":"f","input":null}],"stop_reason":"tool_use"}`, `{}`},
		{"no input", stream(begin, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f"}}`, called, done), `{}`},
		{"cut input", stream(begin, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"x\""}}`, `{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}`, done), `"{\"x\""`},
		{"CR line ends, no space", "event:message_start\rdata:" + begin + "\r\rdata:{\"type\":\"content_block_start\",\rdata:\"index\":9,\"content_block\":" + tool + "}\r\rdata:" + called + "\r\rdata:" + done + "\r\r", `{"x":1}`},
	}
	for _, tt := range tests {
		r, events, err := ask(t, tt.reply)
		if err != nil || len(r.ToolCalls) != 1 || string(r.ToolCalls[0].Input) != tt.want {
			t.Errorf("%s: %+v, %v", tt.name, r, err)
			continue
		}
		var streamed strings.Builder
		for _, ev := range events {
			if d, ok := ev.(protocol.ToolCallDelta); ok {
				streamed.WriteString(d.JSONDelta)
			}
		}
		if got := streamed.String(); len(events) > 0 && got != "" && got != tt.want && got != `{"x"` {
			t.Errorf("%s: streamed %s", tt.name, got)
		}
	}
	r, _, err := ask(t, `{"content":[`+tool+`,`+tool+`,{"type":"tool_use","name":"g"}],"stop_reason":"tool_use"}`)
	ids := map[string]bool{}
	for _, c := range r.ToolCalls {
		ids[c.ID] = true
	}
	if err != nil || len(ids) != 3 || ids[""] {
		t.Errorf("ids: %+v, %v", r.ToolCalls, err)
	}
	r, _, err = ask(t, `{"content":[{"type":"thinking","thinking":""},{"type":"text","text":""},{"type":"text","text":"x"},{"type":"thinking"},{"type":"text","text":"y"}],"stop_reason":"end_turn"}`)
	if said, _ := r.Content.AsText(); err != nil || said != "xy" || r.Content.Blocks() != nil {
		t.Errorf("blocks that say nothing: %+v, %v", r.Content, err)
	}
	r, _, err = ask(t, `{"content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":-5,"cache_read_input_tokens":9223372036854775807,"cache_creation_input_tokens":9223372036854775807,"output_tokens":2}}`)
	if err != nil || r.Usage.InputTokens != 1<<54 || r.Usage.OutputTokens != 2 {
		t.Errorf("odd usage: %+v, %v", r.Usage, err)
	}
	r, events, err := ask(t, stream(begin, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"x"}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, done))
	if _, uncounted := events[len(events)-2].(protocol.TextDelta); err != nil || r.Cost != nil || !uncounted {
		t.Errorf("without the last counts: %+v, %v, %v", r, events, err)
	}
	r, _, err = ask(t, stream(strings.ReplaceAll(begin, `"m"`, `"claude-haiku-4-5"`), `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7,"inference_geo":"us"}}`, done))
	if err != nil || r.Cost != nil || r.Usage.InputTokens != 5 {
		t.Errorf("a region told at the end: %+v, %v", r, err)
	}
	r, _, err = ask(t, stream(begin, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":0,"cache_read_input_tokens":null,"output_tokens":7}}`, done))
	if err != nil || r.Usage.InputTokens != 5 || r.Usage.OutputTokens != 7 || r.Usage.CacheReadTokens != nil {
		t.Errorf("counts left out later: %+v, %v", r.Usage, err)
	}
}

func TestBadAnswers(t *testing.T) {
	t.Parallel()
	start := `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	invalid, transient := protocol.KindProviderInvalidResponse, protocol.KindProviderTransient
	failure := func(s string) string { return stream(begin) + "event: error\ndata: " + s + "\n\n" }
	kind := func(k string) string { return `{"type":"error","error":{"type":"` + k + `","message":"what it says"}}` }
	piece := func(d string) string {
		return stream(begin, start, `{"type":"content_block_delta","index":0,"delta":`+d+`}`, ended, done)
	}
	tests := []struct {
		name, reply string
		kind        protocol.ErrorKind
		says        string
	}{
		{"no content", `{"type":"message","stop_reason":"end_turn"}`, invalid, "content"},
		{"content of the wrong type", `{"content":"x","stop_reason":"end_turn"}`, invalid, "message"},
		{"block of the wrong type", `{"content":[4711],"stop_reason":"end_turn"}`, invalid, "block"},
		{"block without a type", `{"content":[{}],"stop_reason":"end_turn"}`, invalid, "block"},
		{"text of the wrong type", `{"content":[{"type":"text","text":4711}],"stop_reason":"end_turn"}`, invalid, "block"},
		{"counts of the wrong type", `{"content":[],"stop_reason":"end_turn","usage":{"input_tokens":"x"}}`, invalid, "message"},
		{"no stop reason", `{"content":[{"type":"text","text":"x"}],"stop_reason":null}`, invalid, "stop reason"},
		{"call without a name", `{"content":[{"type":"tool_use","id":"a"}],"stop_reason":"tool_use"}`, invalid, "name"},
		{"more behind it", `{"content":[],"stop_reason":"end_turn"} x`, invalid, "message"},
		{"error with status 200", kind("overloaded_error"), transient, "what it says"},
		{"error that says nothing", `{"type":"error","error":{"type":"overloaded_error"}}`, transient, ""},
		{"event without a type", stream(`{"index":0}`), invalid, "event"},
		{"event that is a list", stream(`[]`), invalid, "event"},
		{"half an event", stream(`{"type":"mess`), invalid, "event"},
		{"no begin", stream(start), invalid, "begin"},
		{"begin without a message", stream(`{"type":"message_start"}`), invalid, "event"},
		{"begins twice", stream(begin, begin), invalid, "event"},
		{"message of the wrong type", stream(`{"type":"message_start","message":5}`), invalid, "event"},
		{"block begins twice", stream(begin, start, start), invalid, "twice"},
		{"block that is none", stream(begin, `{"type":"content_block_start","index":0}`), invalid, "block"},
		{"index of the wrong type", stream(begin, `{"type":"content_block_start","index":"0","content_block":{"type":"text"}}`), invalid, "event"},
		{"call streamed without a name", stream(begin, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a"}}`), invalid, "name"},
		{"piece of no block", stream(begin, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}`), invalid, "begun"},
		{"piece behind the end", stream(begin, start, `{"type":"content_block_stop","index":0}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}`), invalid, "over"},
		{"piece that does not fit", piece(`{"type":"thinking_delta","thinking":"x"}`), invalid, "event"},
		{"input in a text", piece(`{"type":"input_json_delta","partial_json":"x"}`), invalid, "event"},
		{"piece of the wrong type", piece(`{"type":"text_delta","text":4711}`), invalid, "event"},
		{"piece without a type", piece(`{"text":"x"}`), invalid, "event"},
		{"piece that is null", piece(`null`), invalid, "event"},
		{"end of the wrong type", stream(begin, `{"type":"message_delta","delta":5}`), invalid, "event"},
		{"no stop reason streamed", stream(begin, start, done), invalid, "stop reason"},
		{"no message_stop", stream(begin, start, ended), transient, "ended"},
		{"pings alone", stream(`{"type":"ping"}`), transient, "ended"},
		{"event: overloaded", failure(kind("overloaded_error")), transient, "what it says"},
		{"event: api", failure(kind("api_error")), transient, "what it says"},
		{"event: timeout", failure(kind("timeout_error")), transient, "what it says"},
		{"event: limit", failure(kind("rate_limit_error")), protocol.KindProviderRateLimited, ""},
		{"event: billing", failure(kind("billing_error")), protocol.KindProviderRateLimited, "used up"},
		{"event: request", failure(kind("invalid_request_error")), protocol.KindProviderInvalidRequest, "what it says"},
		{"event: too large", failure(kind("request_too_large")), protocol.KindProviderInvalidRequest, "what it says"},
		{"event: not found", failure(kind("not_found_error")), protocol.KindProviderInvalidRequest, "what it says"},
		{"event: key", failure(kind("authentication_error")), protocol.KindProviderAuthFailed, ""},
		{"event: permission", failure(kind("permission_error")), protocol.KindProviderAuthFailed, "what it says"},
		{"event: blocked", failure(`{"error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`), protocol.KindProviderContentBlocked, ""},
		{"event: unnamed", stream(begin, kind("rate_limit_error")), protocol.KindProviderRateLimited, ""},
		{"event: no JSON", failure(`sk-ant-4711`), transient, ""},
		{"event: nothing", failure(`{}`), transient, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, events, err := ask(t, tt.reply)
			wantKind(t, tt.name, err, tt.kind)
			for e := err; e != nil; e = unwrap(e) {
				if strings.Contains(e.Error(), "4711") {
					t.Errorf("the answer is in an error: %v", e)
				}
			}
			if err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v should say %q", err, tt.says)
			}
			for _, ev := range events {
				if _, ok := ev.(protocol.Done); ok {
					t.Error("done was streamed")
				}
			}
		})
	}
	_, _, err := askWith(t, "application/json", kind("overloaded_error"), true)
	wantKind(t, "an error in place of a stream", err, transient)
}

func unwrap(err error) error {
	u, ok := err.(interface{ Unwrap() error })
	if !ok {
		return nil
	}
	return u.Unwrap()
}

// TestRefused checks statuses that are Anthropic's own; the suite has the others.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status    int
		kind      string
		want      protocol.ErrorKind
		retryable bool
	}{
		{529, "overloaded_error", protocol.KindProviderTransient, true},
		{504, "timeout_error", protocol.KindProviderTransient, true},
		{413, "request_too_large", protocol.KindProviderInvalidRequest, false},
		{402, "billing_error", protocol.KindProviderInvalidRequest, false},
		{404, "not_found_error", protocol.KindProviderInvalidRequest, false},
		{429, "rate_limit_error", protocol.KindProviderRateLimited, true},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Should-Retry", "true") // the library would
			w.WriteHeader(tt.status)
			_, _ = w.Write(encode(map[string]any{"type": "error", "error": map[string]any{"type": tt.kind, "message": "x"}}))
		}))
		p := (&server{Server: s}).provider(t, anthropic.Config{})
		_, err := p.Infer(t.Context(), protocol.InferRequest{Messages: []protocol.Message{text(protocol.RoleUser, "x")}}, nil)
		wantKind(t, tt.kind, err, tt.want)
		if protocol.IsRetryable(err) != tt.retryable {
			t.Errorf("%s: %v", tt.kind, err)
		}
		s.Close()
	}
}

// TestStreamedSoon checks that pieces are passed on when they come, not when the stream is over.
func TestStreamedSoon(t *testing.T) {
	t.Parallel()
	seen := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(stream(begin, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"now"}}`)))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-seen:
			_, _ = w.Write([]byte(stream(ended, done)))
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p := (&server{Server: s}).provider(t, anthropic.Config{})
	_, err := p.Infer(ctx, protocol.InferRequest{Messages: []protocol.Message{text(protocol.RoleUser, "x")}}, func(ev protocol.StreamEvent) {
		if _, ok := ev.(protocol.TextDelta); ok {
			close(seen)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// TestReuse checks that calls do not need a connection each, streams included.
func TestReuse(t *testing.T) {
	t.Parallel()
	var opened atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(stream(begin, ended, done)))
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
	p := (&server{Server: s}).provider(t, anthropic.Config{})
	const n = 12
	for range n {
		if _, err := p.Infer(t.Context(), protocol.InferRequest{Messages: []protocol.Message{text(protocol.RoleUser, "x")}}, func(protocol.StreamEvent) {}); err != nil {
			t.Fatal(err)
		}
	}
	if got := opened.Load(); got > n/4 { // an end that comes late costs one
		t.Errorf("%d connections for %d calls", got, n)
	}
}
