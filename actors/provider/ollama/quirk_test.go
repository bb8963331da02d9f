package ollama_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/provider/ollama"
	"github.com/skelegent/skelegent-go/protocol"
)

// ask streams if reply has several lines.
func ask(t *testing.T, status int, reply string) (protocol.InferResponse, []protocol.StreamEvent, error) {
	t.Helper()
	var events []protocol.StreamEvent
	var sink func(protocol.StreamEvent)
	if strings.Contains(reply, "\n") {
		sink = func(ev protocol.StreamEvent) { events = append(events, ev) }
	}
	resp, err := serve(t, status, reply).provider(t, ollama.Config{}).Infer(t.Context(), protocol.InferRequest{Model: "m"}, sink)
	return resp, events, err
}

const end = `{"done":true,"done_reason":"stop"}` + "\n"

func call(arguments string) string {
	return `{"model":"m","message":{"tool_calls":[{"function":{"index":0,"name":"f","arguments":` + arguments + `}}]}}`
}

func TestQuirks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, reply string
		check       func(t *testing.T, r protocol.InferResponse)
	}{
		{"no ids", call(`{"a":1}`) + "\n" + call(`{"a":2}`) + "\n" + end, func(t *testing.T, r protocol.InferResponse) {
			t.Helper()
			if len(r.ToolCalls) != 2 || r.ToolCalls[0].ID == "" || r.ToolCalls[0].ID == r.ToolCalls[1].ID || r.StopReason != protocol.StopToolUse {
				t.Errorf("%+v", r)
			}
		}},
		{"no arguments", call(`null`) + "\n" + end, func(t *testing.T, r protocol.InferResponse) {
			t.Helper()
			if string(r.ToolCalls[0].Input) != "{}" {
				t.Errorf("%+v", r)
			}
		}},
		{"cut behind a call", call(`{}`) + "\n" + `{"done":true,"done_reason":"length"}` + "\n", func(t *testing.T, r protocol.InferResponse) {
			t.Helper()
			if r.StopReason != protocol.StopToolUse {
				t.Errorf("%+v", r)
			}
		}},
		{"no counts, another model", "\n" + `{"model":"n","message":{"content":"x"}}` + "\r\n\n" + end, func(t *testing.T, r protocol.InferResponse) {
			t.Helper()
			if r.Model != "n" || r.Usage != (protocol.TokenUsage{}) || r.Cost == nil || !r.Cost.IsZero() {
				t.Errorf("%+v", r)
			}
		}},
		{"no model", `{"message":{"content":"x"},"done":true,"prompt_eval_count":-5,"eval_count":2}`, func(t *testing.T, r protocol.InferResponse) {
			t.Helper()
			if r.Model != "m" || r.Usage.InputTokens != 0 || r.Usage.OutputTokens != 2 || r.ToolCalls == nil {
				t.Errorf("%+v", r)
			}
		}},
		{"more behind the end", `{"model":"m","message":{"content":"x"},"done":true}` + "\n" + `{"error":"late"}` + "\n", func(t *testing.T, r protocol.InferResponse) {
			t.Helper()
			if text, _ := r.Content.AsText(); text != "x" {
				t.Errorf("%+v", r)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, _, err := ask(t, http.StatusOK, tt.reply)
			if err != nil {
				t.Fatal(err)
			}
			tt.check(t, r)
		})
	}
}

func TestThinking(t *testing.T) {
	t.Parallel()
	want := protocol.BlockContent(protocol.ThinkingBlock{Thinking: "2+2"}, protocol.TextBlock{Text: "4"})
	whole, _, err := ask(t, http.StatusOK, `{"model":"m","message":{"content":"4","thinking":"2+2"},"done":true}`)
	if err != nil || !whole.Content.Equal(want) {
		t.Errorf("whole: %+v, %v", whole, err)
	}
	streamed, events, err := ask(t, http.StatusOK, `{"model":"m","message":{"thinking":"2+"}}`+"\n"+`{"message":{"thinking":"2"}}`+"\n"+
		`{"message":{"content":"4"}}`+"\n"+end)
	if err != nil || !streamed.Content.Equal(want) {
		t.Errorf("streamed: %+v, %v", streamed, err)
	}
	wantEvents := []protocol.StreamEvent{
		protocol.ThinkingDelta{Thinking: "2+"},
		protocol.ThinkingDelta{Thinking: "2"},
		protocol.TextDelta{Text: "4"},
		protocol.UsageEvent{},
		protocol.Done{Response: streamed},
	}
	if diff := cmp.Diff(wantEvents, events, cmp.Comparer(protocol.Content.Equal)); diff != "" {
		t.Error(diff)
	}
}

func TestBadAnswers(t *testing.T) {
	t.Parallel()
	piece := `{"model":"m","message":{"content":"x"}}` + "\n"
	tests := []struct {
		name   string
		status int
		reply  string
		kind   protocol.ErrorKind
		says   string
	}{
		{"model missing", 404, `{"error":"model 'm' not found"}`, protocol.KindProviderInvalidRequest, "ollama pull m"},
		{"model missing, older", 404, `{"error":"model \"m\" not found, try pulling it first"}`, protocol.KindProviderInvalidRequest, "ollama pull m"},
		{"model missing in a stream", 200, `{"error":"model 'm' not found"}` + "\n", protocol.KindProviderInvalidRequest, "ollama pull m"},
		{"path missing", 404, "404 page not found", protocol.KindProviderInvalidRequest, "404"},
		{"no tools", 400, `{"error":"registry.ollama.ai/library/m does not support tools"}`, protocol.KindProviderInvalidRequest, "does not support tools"},
		{"busy", 503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`, protocol.KindProviderTransient, "server busy"},
		{"error with status 200", 200, `{"error":"boom"}`, protocol.KindProviderTransient, "boom"},
		{"error in a stream", 200, piece + `{"error":"an error was encountered while running the model: unexpected EOF"}` + "\n", protocol.KindProviderTransient, "unexpected EOF"},
		{"error that says nothing", 200, piece + `{"error":{}}` + "\n", protocol.KindProviderTransient, ""},
		{"ends without done", 200, piece + piece, protocol.KindProviderTransient, "before it was done"},
		{"whole without done", 200, `{"model":"m","message":{"content":"x"}}`, protocol.KindProviderInvalidResponse, "done"},
		{"call without a name", 200, `{"model":"m","message":{"tool_calls":[{"function":{}}]}}` + "\n", protocol.KindProviderInvalidResponse, "name"},
		{"no JSON in the middle", 200, piece + "oops\n" + end, protocol.KindProviderInvalidResponse, ""},
		{"another type", 200, `{"model":7}` + "\n", protocol.KindProviderInvalidResponse, ""},
		{"a list", 200, "[]\n", protocol.KindProviderInvalidResponse, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, events, err := ask(t, tt.status, tt.reply)
			wantKind(t, tt.name, err, tt.kind)
			if err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v should say %q", err, tt.says)
			}
			for _, ev := range events {
				if _, ok := ev.(protocol.Done); ok {
					t.Error("done in spite of the error")
				}
			}
		})
	}
}
