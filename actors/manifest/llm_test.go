package manifest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// llm is a server that speaks chat completions. What it answers is up to the test.
type llm struct {
	*httptest.Server
	gone chan struct{} // one for each client that went away while it was waiting

	mu   sync.Mutex
	seen []chat
}

// chat is a request as the server gets it.
type chat struct {
	Model     string        `json:"model"`
	Stream    bool          `json:"stream"`
	MaxTokens int           `json:"max_tokens"`
	Seed      int           `json:"seed"`
	Choice    any           `json:"tool_choice"`
	Format    any           `json:"response_format"`
	Messages  []chatMessage `json:"messages"`
	Tools     []struct {
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`

	number int // from 1
	key    string
}

type chatMessage struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	ToolCallID string `json:"tool_call_id"`
}

func (c chat) system() string {
	if len(c.Messages) > 0 && c.Messages[0].Role == "system" {
		return c.Messages[0].Content
	}
	return ""
}

func (c chat) last() chatMessage { return c.Messages[len(c.Messages)-1] }

// user is the last text of the user.
func (c chat) user() string {
	for i := len(c.Messages) - 1; i >= 0; i-- {
		if c.Messages[i].Role == "user" {
			return c.Messages[i].Content
		}
	}
	return ""
}

// sinceUser counts the messages behind the user's last.
func (c chat) sinceUser() int {
	n := 0
	for i := len(c.Messages) - 1; i >= 0 && c.Messages[i].Role != "user"; i-- {
		n++
	}
	return n
}

func (c chat) toolNames() []string {
	names := []string{}
	for _, t := range c.Tools {
		names = append(names, t.Function.Name)
	}
	return names
}

// reply is an answer: 1000 tokens in and 100 out.
type reply struct {
	text   string
	calls  []call
	finish string // stop, or tool_calls where there are calls
	raw    http.HandlerFunc
}

type call struct{ name, arguments string }

func say(text string) reply { return reply{text: text} }

func use(name, arguments string) reply { return reply{calls: []call{{name, arguments}}} }

// hang answers nothing until the client is gone.
func (l *llm) hang() reply {
	return reply{raw: func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		l.gone <- struct{}{}
	}}
}

// status answers with an error.
func status(code int, body string, header ...string) reply {
	return reply{raw: func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}}
}

func newLLM(t testing.TB, answer func(l *llm, c chat) reply) *llm {
	t.Helper()
	l := &llm{gone: make(chan struct{}, 100)}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body) // only then does the server notice that the client goes
		if err != nil {
			return
		}
		c := chat{key: r.Header.Get("Authorization")}
		if err := json.Unmarshal(body, &c); err != nil {
			t.Errorf("request is no chat: %v: %s", err, body)
		}
		l.mu.Lock()
		c.number = len(l.seen) + 1
		l.seen = append(l.seen, c)
		l.mu.Unlock()
		answer(l, c).write(w, r, c)
	}))
	t.Cleanup(l.Close)
	return l
}

// steps answers with one after the other, and again and again with the last.
func steps(replies ...reply) func(*llm, chat) reply {
	return func(_ *llm, c chat) reply { return replies[min(c.number, len(replies))-1] }
}

func (l *llm) requests() []chat {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]chat(nil), l.seen...)
}

func (r reply) write(w http.ResponseWriter, req *http.Request, c chat) {
	if r.raw != nil {
		r.raw(w, req)
		return
	}
	finish := r.finish
	if finish == "" {
		finish = "stop"
		if len(r.calls) > 0 {
			finish = "tool_calls"
		}
	}
	usage := map[string]int{"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
	var calls []any
	for i, t := range r.calls {
		calls = append(calls, map[string]any{
			"index": i, "id": fmt.Sprintf("call_%d_%d", c.number, i), "type": "function",
			"function": map[string]string{"name": t.name, "arguments": t.arguments},
		})
	}
	if !c.Stream {
		message := map[string]any{"role": "assistant", "content": r.text, "tool_calls": calls}
		choice := map[string]any{"index": 0, "message": message, "finish_reason": finish}
		_ = json.NewEncoder(w).Encode(map[string]any{"model": c.Model, "choices": []any{choice}, "usage": usage})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(fields map[string]any) {
		fields["model"] = c.Model
		raw, _ := json.Marshal(fields)
		_, _ = fmt.Fprintf(w, "data: %s\n\n", raw)
		_ = http.NewResponseController(w).Flush()
	}
	delta := func(d map[string]any, finish any) {
		event(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": d, "finish_reason": finish}}})
	}
	for word := range strings.SplitAfterSeq(r.text, " ") {
		delta(map[string]any{"content": word}, nil)
	}
	if calls != nil {
		delta(map[string]any{"tool_calls": calls}, nil)
	}
	delta(map[string]any{}, finish)
	event(map[string]any{"choices": []any{}, "usage": usage})
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}
