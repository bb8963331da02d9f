package manifest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// other is a server that speaks another protocol than llm. Each answer is noon, of 1000 tokens in and 100 out.
type other struct {
	*httptest.Server

	mu     sync.Mutex
	bodies []map[string]any
	header http.Header
}

func newOther(t testing.TB, path string, answer func(w io.Writer, model string)) *other {
	t.Helper()
	o := &other{}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != path {
			t.Errorf("request of %s: %v", r.URL.Path, err)
		}
		o.mu.Lock()
		o.bodies, o.header = append(o.bodies, body), r.Header
		o.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		answer(w, fmt.Sprint(body["model"]))
	}))
	t.Cleanup(o.Close)
	return o
}

// request is the only one.
func (o *other) request(t testing.TB) (map[string]any, http.Header) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.bodies) != 1 {
		t.Fatalf("%d requests, want 1", len(o.bodies))
	}
	return o.bodies[0], o.header
}

func event(w io.Writer, kind string, fields map[string]any) {
	fields["type"] = kind
	raw, _ := json.Marshal(fields)
	_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, raw)
}

type object = map[string]any

func sayAnthropic(w io.Writer, model string) {
	event(w, "message_start", object{"message": object{
		"id": "m1", "type": "message", "role": "assistant", "model": model, "content": []any{}, "stop_reason": nil,
		"usage": object{"input_tokens": 1000, "output_tokens": 1},
	}})
	event(w, "content_block_start", object{"index": 0, "content_block": object{"type": "text", "text": ""}})
	event(w, "content_block_delta", object{"index": 0, "delta": object{"type": "text_delta", "text": "noon"}})
	event(w, "content_block_stop", object{"index": 0})
	event(w, "message_delta", object{
		"delta": object{"stop_reason": "end_turn", "stop_sequence": nil}, "usage": object{"input_tokens": 1000, "output_tokens": 100},
	})
	event(w, "message_stop", object{})
}

func sayResponses(w io.Writer, model string) {
	item := object{
		"type": "message", "id": "i1", "role": "assistant", "status": "completed",
		"content": []object{{"type": "output_text", "text": "noon", "annotations": []any{}}},
	}
	event(w, "response.created", object{"response": object{"id": "r1", "status": "in_progress", "output": []any{}}})
	event(w, "response.output_item.added", object{"output_index": 0, "item": object{"type": "message", "id": "i1", "content": []any{}}})
	event(w, "response.output_text.delta", object{"output_index": 0, "content_index": 0, "item_id": "i1", "delta": "noon"})
	event(w, "response.output_item.done", object{"output_index": 0, "item": item})
	event(w, "response.completed", object{"response": object{
		"id": "r1", "status": "completed", "model": model, "output": []any{item}, "service_tier": "default",
		"usage": object{"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100},
	}})
}

func sayOllama(w io.Writer, model string) {
	enc := json.NewEncoder(w)
	_ = enc.Encode(object{"model": model, "message": object{"role": "assistant", "content": "noon"}, "done": false})
	_ = enc.Encode(object{
		"model": model, "message": object{"role": "assistant", "content": ""}, "done": true, "done_reason": "stop",
		"prompt_eval_count": 1000, "eval_count": 100,
	})
}
