package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// demoModel is a model server of the kind of OpenAI's. What it says follows from the conversation alone, and it keeps its
// own bill: each call costs when it comes in, answered or not.
type demoModel struct {
	url    string
	http   *http.Server
	served sync.WaitGroup
	wake   func() // called after each call that comes in

	mu    sync.Mutex
	calls []demoCall
	hold  int // the first call of this turn is not answered while it is there; 0 is none
}

// demoCall is a call that was paid.
type demoCall struct {
	turn     int
	asked    string // a digest of the conversation
	at       time.Time
	usage    demoUsage
	held     bool // it waits, or waited until its caller was gone
	answered bool
}

// startDemoModel serves on a free port of this machine. It holds the first call of a turn.
func startDemoModel(ctx context.Context, hold int, wake func()) (*demoModel, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the demo's model: %w", err)
	}
	m := &demoModel{url: "http://" + ln.Addr().String() + "/v1", hold: hold, wake: wake}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", m.serve)
	m.http = &http.Server{Handler: mux, ReadHeaderTimeout: demoTimeout}
	m.served.Go(func() { _ = m.http.Serve(ln) }) // until close
	return m, nil
}

// close ends the server and all calls. It takes nil.
func (m *demoModel) close() {
	if m == nil {
		return
	}
	_ = m.http.Close() // a listener that does not close is of no consequence here
	m.served.Wait()
}

// bill returns the calls that came in until now, in their order.
func (m *demoModel) bill() []demoCall {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.calls)
}

// holds reports whether a call waits for its answer.
func (m *demoModel) holds() bool {
	return slices.ContainsFunc(m.bill(), func(c demoCall) bool { return c.held })
}

type demoRequest struct {
	Model    string        `json:"model"`
	Messages []demoMessage `json:"messages"`
	Stream   bool          `json:"stream"`
}

type demoMessage struct {
	Role       string         `json:"role"`
	Content    any            `json:"content,omitempty"`
	ToolCalls  []demoToolCall `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
}

type demoToolCall struct {
	Index    int          `json:"index"`
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function demoFunction `json:"function"`
}

type demoFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type demoUsage struct {
	In    int64 `json:"prompt_tokens"`
	Out   int64 `json:"completion_tokens"`
	Total int64 `json:"total_tokens"`
}

const maxDemoRequest = 1 << 20

func (m *demoModel) serve(w http.ResponseWriter, r *http.Request) {
	var req demoRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxDemoRequest)).Decode(&req); err != nil || len(req.Messages) == 0 {
		http.Error(w, `{"error":{"message":"this is no chat completion","code":"bad_request"}}`, http.StatusBadRequest)
		return
	}
	turn, answer := demoAnswer(req.Messages)
	if m.charge(req.Messages, turn, answer.usage) {
		<-r.Context().Done()
		return
	}
	var err error
	if req.Stream {
		err = streamed(w, req.Model, answer)
	} else {
		w.Header().Set("Content-Type", "application/json")
		err = json.NewEncoder(w).Encode(completion(req.Model, answer))
	}
	_ = err // whoever asked is gone
}

// charge puts a call on the bill and reports whether it is to be held.
func (m *demoModel) charge(messages []demoMessage, turn int, usage demoUsage) (held bool) {
	defer m.wake()
	m.mu.Lock()
	defer m.mu.Unlock()
	held = turn == m.hold
	if held {
		m.hold = 0
	}
	m.calls = append(m.calls, demoCall{
		turn: turn, asked: digest(messages), at: time.Now(), usage: usage, held: held, answered: !held,
	})
	return held
}

func digest(v any) string {
	raw, err := json.Marshal(v)
	if err != nil { // it was read from JSON
		return err.Error()
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// completion is an answer at once.
func completion(model string, a demoReply) any {
	message := demoMessage{Role: "assistant", Content: a.text, ToolCalls: a.calls}
	return map[string]any{
		"id": "demo", "object": "chat.completion", "model": model, "usage": a.usage,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": a.finish()}},
	}
}

// streamed is an answer in pieces.
func streamed(w http.ResponseWriter, model string, a demoReply) error {
	w.Header().Set("Content-Type", "text/event-stream")
	piece := func(choices []any, usage any) error {
		raw, err := json.Marshal(map[string]any{
			"id": "demo", "object": "chat.completion.chunk", "model": model, "choices": choices, "usage": usage,
		})
		if err == nil {
			_, err = fmt.Fprintf(w, "data: %s\n\n", raw)
		}
		return err
	}
	say := func(delta demoMessage, finish any) error {
		return piece([]any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}, nil)
	}
	for _, word := range a.words() {
		if err := say(demoMessage{Role: "assistant", Content: word}, nil); err != nil {
			return err
		}
	}
	if err := say(demoMessage{Role: "assistant", ToolCalls: a.calls}, a.finish()); err != nil {
		return err
	}
	if err := piece([]any{}, a.usage); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, "data: [DONE]\n\n")
	return err
}
