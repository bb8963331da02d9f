package responses_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/provider/responses"
	"github.com/skelegent/skelegent-go/protocol"
)

// ask streams if reply is a stream.
func ask(t *testing.T, reply string) (protocol.InferResponse, []protocol.StreamEvent, error) {
	t.Helper()
	var seen []protocol.StreamEvent
	var sink func(protocol.StreamEvent)
	if strings.Contains(reply, "data:") {
		sink = func(ev protocol.StreamEvent) { seen = append(seen, ev) }
	}
	resp, err := serve(t, reply).provider(t, responses.Config{}).Infer(t.Context(), protocol.InferRequest{Model: "m"}, sink)
	return resp, seen, err
}

// data is a stream of the events, which name their types themselves.
func data(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("data: " + strings.ReplaceAll(e, "\n", "") + "\n\n")
	}
	return b.String()
}

const completed = `{"type":"response.completed","response":{"output":[]}}`

// thoughts is an output with reasoning before a text and before each of two calls.
const thoughts = `[{"type":"reasoning","id":"r0","summary":[{"type":"summary_text","text":"One."},{"type":"summary_text","text":""},
	{"type":"summary_text","text":"Two."}],"encrypted_content":"E0"},
	{"type":"message","content":[{"type":"output_text","text":"Well."}]},
	{"type":"web_search_call","id":"ws_1","action":{"query":"x"}},
	{"type":"reasoning","id":"r1","summary":[],"encrypted_content":"E1"},
	{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},
	{"type":"reasoning","id":"r2","summary":[],"encrypted_content":"E2"},
	{"type":"function_call","call_id":"c2","name":"f","arguments":"{\"a\":1}"},
	{"type":"reasoning","id":"r3","summary":[{"type":"summary_text","text":"Rest."}],"encrypted_content":"E3"}]`

// TestReasoning checks that reasoning goes back to where it stood.
func TestReasoning(t *testing.T) {
	t.Parallel()
	s := serve(t, `{"status":"completed","output":`+thoughts+`}`)
	p := s.provider(t, responses.Config{})
	resp, err := p.Infer(t.Context(), protocol.InferRequest{Model: "o3"}, nil)
	if err != nil || resp.StopReason != protocol.StopToolUse {
		t.Fatalf("%+v, %v", resp, err)
	}
	raw, err := protocol.Marshal(resp.ToMessage()) // as it is kept
	var back protocol.Message
	if err == nil {
		err = protocol.Unmarshal(raw, &back)
	}
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, b := range resp.Content.Blocks() {
		switch b := b.(type) {
		case protocol.ThinkingBlock:
			said = append(said, "("+b.Thinking+")")
		case protocol.TextBlock:
			said = append(said, b.Text)
		}
	}
	if diff := cmp.Diff([]string{"(One.\n\nTwo.)", "Well.", "()", "()", "(Rest.)"}, said); diff != "" {
		t.Error(diff)
	}
	if _, err := p.Infer(t.Context(), protocol.InferRequest{Model: "o3", Messages: []protocol.Message{back}}, nil); err != nil {
		t.Fatal(err)
	}
	want := parse(t, `[{"type":"reasoning","id":"r0","summary":[{"type":"summary_text","text":"One."},{"type":"summary_text","text":""},
		{"type":"summary_text","text":"Two."}],"encrypted_content":"E0"},
		{"role":"assistant","content":"Well."},
		{"type":"reasoning","id":"r1","summary":[],"encrypted_content":"E1"},
		{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},
		{"type":"reasoning","id":"r2","summary":[],"encrypted_content":"E2"},
		{"type":"function_call","call_id":"c2","name":"f","arguments":"{\"a\":1}"}]`)
	if diff := cmp.Diff(want, s.body["input"]); diff != "" {
		t.Error(diff)
	}
}

func TestReasoningStreamed(t *testing.T) {
	t.Parallel()
	delta := func(part, text string) string {
		return `{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":` + part + `,"delta":"` + text + `"}`
	}
	resp, seen, err := ask(t, data(
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"r0","summary":[],"encrypted_content":"early"}}`,
		delta("0", "One"), delta("0", "."), delta("1", ""), delta("2", "Two."),
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"r0","encrypted_content":"E0",
			"summary":[{"type":"summary_text","text":"One."},{"type":"summary_text","text":""},{"type":"summary_text","text":"Two."}]}}`,
		`{"type":"response.output_text.delta","output_index":1,"delta":"Well."}`,
		`{"type":"response.completed","response":{"output":`+thoughts[:strings.Index(thoughts, `,
	{"type":"web`)]+`]}}`))
	whole, _, err2 := ask(t, `{"status":"completed","output":`+thoughts[:strings.Index(thoughts, `,
	{"type":"web`)]+`]}`)
	if err != nil || err2 != nil || !resp.Content.Equal(whole.Content) {
		t.Errorf("streamed %+v, %v; at once %+v, %v", resp, err, whole, err2)
	}
	var thinking strings.Builder
	for _, ev := range seen {
		if d, ok := ev.(protocol.ThinkingDelta); ok {
			thinking.WriteString(d.Thinking)
		}
	}
	if got := thinking.String(); got != "One.\n\nTwo." {
		t.Errorf("streamed %q", got)
	}
}

func TestQuirks(t *testing.T) {
	t.Parallel()
	text := func(want string, stop protocol.StopReason) func(*testing.T, protocol.InferResponse) {
		return func(t *testing.T, r protocol.InferResponse) {
			t.Helper()
			if got, _ := r.Content.AsText(); got != want || r.StopReason != stop || r.Cost != nil {
				t.Errorf("%+v", r)
			}
		}
	}
	input := func(want string, stop protocol.StopReason) func(*testing.T, protocol.InferResponse) {
		return func(t *testing.T, r protocol.InferResponse) {
			t.Helper()
			if len(r.ToolCalls) != 1 || string(r.ToolCalls[0].Input) != want || r.ToolCalls[0].ID == "" || r.StopReason != stop {
				t.Errorf("%+v", r)
			}
		}
	}
	message := `{"type":"message","content":[{"type":"output_text","text":"Hi"}]}`
	call := `{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"}`
	args := func(s string) string {
		return `{"type":"response.function_call_arguments.delta","output_index":3,"delta":"` + s + `"}`
	}
	tests := []struct {
		name, reply string
		check       func(t *testing.T, r protocol.InferResponse)
	}{
		{
			"refusal", `{"status":"completed","output":[{"type":"message","content":[{"type":"refusal","refusal":"I cannot."}]}]}`,
			text("I cannot.", protocol.StopContentFilter),
		},
		{
			"refusal streamed", data(`{"type":"response.refusal.delta","delta":"I "}`, `{"type":"response.refusal.delta","delta":"cannot."}`, completed),
			text("I cannot.", protocol.StopContentFilter),
		},
		{"cut call", `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"function_call","name":"f","arguments":"{\"a"}]}`, input(`"{\"a"`, protocol.StopMaxTokens)},
		{"incomplete for no reason", `{"status":"incomplete","output":[` + message + `]}`, text("Hi", protocol.StopMaxTokens)},
		{"only the last event has the output", data(`{"type":"response.completed","response":{"output":[` + message + `]}}`), text("Hi", protocol.StopEndTurn)},
		{"only whole items", data(`{"type":"response.output_item.done","output_index":7,"item":`+message+`}`, completed), text("Hi", protocol.StopEndTurn)},
		{
			"the last event counts otherwise", data(`{"type":"response.output_text.delta","output_index":1,"delta":"Hi"}`,
				`{"type":"response.completed","response":{"output":[`+message+`,`+call+`]}}`), text("Hi", protocol.StopEndTurn),
		},
		{"what was streamed counts", data(`{"type":"response.output_text.delta","delta":"Ho"}`, `{"type":"response.output_item.done","item":`+message+`}`, completed), text("Ho", protocol.StopEndTurn)},
		{"the rest of an item", data(`{"type":"response.output_text.delta","delta":"H"}`, `{"type":"response.output_item.done","item":`+message+`}`, completed), text("Hi", protocol.StopEndTurn)},
		{"arguments before the name", data(args(`{\"a\"`), args(":1}"), `{"type":"response.output_item.done","output_index":3,"item":`+call+`}`, completed), input(`{"a":1}`, protocol.StopToolUse)},
		{
			"unknown events and items", ": ping\n\n" + data(`{"type":"response.new","delta":{"x":1},"output_index":"a"}`, `{}`,
				`{"type":"response.output_item.added","item":{"type":"mcp_call","id":"m"}}`, `{"type":"response.output_text.delta","delta":"Hi"}`, "[DONE]", completed),
			text("Hi", protocol.StopEndTurn),
		},
		{"types by the names of events", "event: response.output_text.delta\ndata: {\"delta\":\"Hi\"}\n\nevent: response.completed\ndata: {\"response\":{}}\n\n", text("Hi", protocol.StopEndTurn)},
		{"more behind the end", data(`{"type":"response.output_text.delta","delta":"Hi"}`, completed, `{"type":"error"}`), text("Hi", protocol.StopEndTurn)},
		{
			"several messages", `{"status":"completed","output":[` + message + `,` + message + `]}`,
			func(t *testing.T, r protocol.InferResponse) {
				t.Helper()
				if !r.Content.Equal(protocol.BlockContent(protocol.TextBlock{Text: "Hi"}, protocol.TextBlock{Text: "Hi"})) {
					t.Errorf("%+v", r)
				}
			},
		},
		{
			"reasoning that is shown", data(`{"type":"response.reasoning_text.delta","delta":"2+2"}`, `{"type":"response.output_text.delta","output_index":1,"delta":"4"}`,
				`{"type":"response.completed","response":{"output":[{"type":"reasoning","content":[{"type":"reasoning_text","text":"2+2"}]},{"type":"message"}]}}`),
			func(t *testing.T, r protocol.InferResponse) {
				t.Helper()
				if !r.Content.Equal(protocol.BlockContent(protocol.ThinkingBlock{Thinking: "2+2"}, protocol.TextBlock{Text: "4"})) {
					t.Errorf("%+v", r)
				}
			},
		},
		{
			"usage", `{"status":"completed","output":[],"usage":{"input_tokens":9,"output_tokens":-1,"input_tokens_details":{"cached_tokens":3,"cache_write_tokens":2},"output_tokens_details":{"reasoning_tokens":1}}}`,
			func(t *testing.T, r protocol.InferResponse) {
				t.Helper()
				u := r.Usage
				if u.InputTokens != 9 || u.OutputTokens != 0 || *u.CacheReadTokens != 3 || *u.CacheCreationTokens != 2 || *u.ReasoningTokens != 1 {
					t.Errorf("%+v", u)
				}
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, seen, err := ask(t, tt.reply)
			if err != nil {
				t.Fatal(err)
			}
			tt.check(t, r)
			var said, arguments strings.Builder
			for _, ev := range seen {
				switch ev := ev.(type) {
				case protocol.TextDelta:
					said.WriteString(ev.Text)
				case protocol.ToolCallDelta:
					arguments.WriteString(ev.JSONDelta)
				}
			}
			if got, _ := r.Content.AsText(); len(seen) > 0 && got != said.String() {
				t.Errorf("streamed %q, returned %q", said.String(), got)
			}
			if len(seen) > 0 && len(r.ToolCalls) > 0 && arguments.String() != string(r.ToolCalls[0].Input) {
				t.Errorf("streamed %q, returned %s", arguments.String(), r.ToolCalls[0].Input)
			}
		})
	}
}

func TestBadAnswers(t *testing.T) {
	t.Parallel()
	failed := func(code string) string {
		return `{"status":"failed","output":[],"error":{"code":"` + code + `","message":"so it is"}}`
	}
	piece := `{"type":"response.output_text.delta","delta":"x"}`
	tests := []struct {
		name, reply string
		kind        protocol.ErrorKind
		says        string
	}{
		{"failed", failed("server_error"), protocol.KindProviderTransient, "so it is"},
		{"failed without a word", `{"status":"failed"}`, protocol.KindProviderTransient, ""},
		{"failed for the rate", failed("rate_limit_exceeded"), protocol.KindProviderRateLimited, ""},
		{"failed for the quota", failed("insufficient_quota"), protocol.KindProviderRateLimited, "used up"},
		{"failed for the prompt", failed("invalid_prompt"), protocol.KindProviderInvalidRequest, "so it is"},
		{"failed for an image", failed("image_too_large"), protocol.KindProviderInvalidRequest, "so it is"},
		{"failed for the length", failed("context_length_exceeded"), protocol.KindProviderInvalidRequest, "so it is"},
		{"failed for the policy of images", failed("image_content_policy_violation"), protocol.KindProviderContentBlocked, ""},
		{"failed for the policy", `{"status":"failed","error":{"code":"invalid_prompt","message":"flagged by our usage policy"}}`, protocol.KindProviderContentBlocked, ""},
		{"cancelled", `{"status":"cancelled","output":[]}`, protocol.KindProviderTransient, "not complete"},
		{"queued", `{"status":"queued","output":[]}`, protocol.KindProviderTransient, "not complete"},
		{"another status", `{"status":"odd","output":[]}`, protocol.KindProviderInvalidResponse, "status"},
		{"error with status 200", `{"error":{"message":"upstream","code":502}}`, protocol.KindProviderTransient, "upstream"},
		{"call without a name", `{"status":"completed","output":[{"type":"function_call","call_id":"c"}]}`, protocol.KindProviderInvalidResponse, "name"},
		{"call without a name, streamed", data(`{"type":"response.function_call_arguments.delta","delta":"{}"}`, completed), protocol.KindProviderInvalidResponse, "name"},
		{"another type", `{"status":7}`, protocol.KindProviderInvalidResponse, ""},
		{"response.failed", data(piece, `{"type":"response.failed","response":`+failed("rate_limit_exceeded")+`}`), protocol.KindProviderRateLimited, ""},
		{"response.failed alone", data(piece, `{"type":"response.failed"}`), protocol.KindProviderTransient, ""},
		{"error event", data(piece, `{"type":"error","code":"server_error","message":"so it is","param":null}`), protocol.KindProviderTransient, "so it is"},
		{"error event for the rate", data(`{"type":"error","code":"rate_limit_exceeded","message":"x"}`), protocol.KindProviderRateLimited, ""},
		{"error event by number", data(`{"type":"error","code":429,"message":"x"}`), protocol.KindProviderRateLimited, ""},
		{"error event without a code", data(`{"type":"error","code":null,"message":"so it is"}`), protocol.KindProviderTransient, "so it is"},
		{"error in an error event", data(`{"type":"error","error":{"type":"invalid_request_error","code":"too_long","message":"so it is"}}`), protocol.KindProviderInvalidRequest, "so it is"},
		{"error without a type", data(`{"error":{"message":"x","type":"rate_limit_error"}}`), protocol.KindProviderRateLimited, ""},
		{"error by the name of the event", "event: error\ndata: {\"message\":\"so it is\",\"code\":\"content_filter\"}\n\n", protocol.KindProviderContentBlocked, "so it is"},
		{"no end", data(piece, piece), protocol.KindProviderTransient, "without an end"},
		{"done without an end", data(piece, "[DONE]"), protocol.KindProviderTransient, "without an end"},
		{"unknown events alone", data(`{"type":"response.new"}`), protocol.KindProviderTransient, "without an end"},
		{"two kinds in one place", data(piece, `{"type":"response.function_call_arguments.delta","delta":"{}"}`, completed), protocol.KindProviderInvalidResponse, "same place"},
		{"no JSON in the middle", data(piece, "oops", completed), protocol.KindProviderInvalidResponse, ""},
		{"another type in an event", data(`{"type":"response.output_text.delta","delta":7}`, completed), protocol.KindProviderInvalidResponse, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, seen, err := ask(t, tt.reply)
			wantKind(t, tt.name, err, tt.kind)
			if err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v should say %q", err, tt.says)
			}
			if tt.says == "used up" && protocol.IsRetryable(err) {
				t.Error("retryable")
			}
			for _, ev := range seen {
				if _, ok := ev.(protocol.Done); ok {
					t.Error("done in spite of the error")
				}
			}
		})
	}
}

// TestSaid checks that what a response that failed says is made safe too.
func TestSaid(t *testing.T) {
	t.Parallel()
	const secretText = "my pin is 1234 and nobody else may know"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(encode(obj{"status": "failed", "error": obj{"code": "server_error", "message": "two\nlines, sk-abcdefgh and " + secretText}}))
	}))
	t.Cleanup(s.Close)
	p := (&server{Server: s}).provider(t, responses.Config{})
	_, err := p.Infer(t.Context(), protocol.InferRequest{Messages: []protocol.Message{user(protocol.TextBlock{Text: secretText})}}, nil)
	if err == nil || err.Error() != "transient error: two lines, [REDACTED] and [REDACTED]" {
		t.Errorf("got %v", err)
	}
}

// An answer within the limit of bytes can have millions of values, each of which takes hundreds of bytes to read.
func TestFloodOfValues(t *testing.T) {
	t.Parallel()
	r := `{"status":"completed","output":[` + strings.Repeat("{},", 100_000) + "{}]}"
	for _, reply := range []string{r, data(`{"type":"response.completed","response":` + r + `}`)} {
		_, _, err := ask(t, reply)
		wantKind(t, reply[:10], err, protocol.KindProviderInvalidResponse)
	}
}
