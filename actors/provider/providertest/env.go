package providertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/protocol"
)

// env is the server and the provider of a case.
type env struct {
	Harness
	server *httptest.Server
	client *http.Client
	p      provider.Provider
	handle atomic.Value // http.HandlerFunc
	asked  atomic.Int64
	over   chan struct{} // closed at the end of the case
}

func newEnv(h Harness) *env {
	e := &env{Harness: h, client: &http.Client{Transport: &http.Transport{}}, over: make(chan struct{})}
	e.serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotImplemented) })
	e.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.asked.Add(1)
		body, err := io.ReadAll(r.Body) // only then does the server notice that the client goes
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		e.handle.Load().(http.HandlerFunc)(w, r)
	}))
	e.p = h.New(Config{URL: e.server.URL, HTTPClient: e.client, Prices: Prices()})
	return e
}

func (e *env) close() {
	close(e.over)
	e.client.CloseIdleConnections()
	e.server.CloseClientConnections()
	e.server.Close()
}

// serve sets what the server does from now on.
func (e *env) serve(h http.HandlerFunc) { e.handle.Store(h) }

// gone waits until the client is gone, and reports it on c, or until the case is over.
func (e *env) gone(r *http.Request, c chan<- struct{}) {
	select {
	case <-r.Context().Done():
		close(c)
	case <-e.over:
	}
}

// send writes the head and a part of a body.
func send(w http.ResponseWriter, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(body) // the client may be gone; it says so itself
	flush(w)
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// result is what a call gave.
type result struct {
	resp   protocol.InferResponse
	events []protocol.StreamEvent
	err    error
}

func request(text string) protocol.InferRequest {
	return protocol.InferRequest{
		Model:    Model,
		System:   "Say nothing of the parrot in the cellar.",
		Messages: []protocol.Message{protocol.NewMessage(protocol.RoleUser, protocol.TextContent(text))},
		Tools:    []protocol.ToolSchema{{Name: "clock", Description: "Tells the time.", InputSchema: []byte(`{"type":"object"}`)}},
	}
}

// call asks once; onEvent may be nil.
func (e *env) call(ctx context.Context, text string, stream bool, onEvent func(protocol.StreamEvent)) result {
	var r result
	var sink func(protocol.StreamEvent)
	if stream {
		sink = func(ev protocol.StreamEvent) {
			r.events = append(r.events, ev)
			if onEvent != nil {
				onEvent(ev)
			}
		}
	}
	r.resp, r.err = e.p.Infer(ctx, request(text), sink)
	return r
}

// ways runs f for whole answers and for streams.
func ways(f func(stream bool) error) error {
	var errs []error
	for stream, name := range map[bool]string{false: "whole", true: "stream"} {
		if err := f(stream); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// json is the comparable form of a value.
func jsonOf(v any) string {
	raw, err := protocol.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// consistent checks that the events of a stream are the answer.
func consistent(r result) error {
	text := map[string]*strings.Builder{"text": {}, "thinking": {}}
	var calls []protocol.ToolCall
	var inputs []*strings.Builder
	var usage *protocol.TokenUsage
	for i, ev := range r.events {
		switch ev := ev.(type) {
		case protocol.TextDelta:
			text["text"].WriteString(ev.Text)
		case protocol.ThinkingDelta:
			text["thinking"].WriteString(ev.Thinking)
		case protocol.ToolCallStart:
			if ev.Index != len(calls) {
				return fmt.Errorf("call %d starts as number %d", len(calls), ev.Index)
			}
			calls = append(calls, protocol.ToolCall{ID: ev.ID, Name: ev.Name})
			inputs = append(inputs, &strings.Builder{})
		case protocol.ToolCallDelta:
			if ev.Index < 0 || ev.Index >= len(calls) {
				return fmt.Errorf("a delta of call %d before its start", ev.Index)
			}
			inputs[ev.Index].WriteString(ev.JSONDelta)
		case protocol.UsageEvent:
			usage = &ev.Usage
		case protocol.Done:
			if i != len(r.events)-1 {
				return errors.New("done is not the last event")
			}
			if got, want := jsonOf(ev.Response), jsonOf(r.resp); got != want {
				return fmt.Errorf("done with %s, returned %s", got, want)
			}
		}
	}
	for i := range calls {
		calls[i].Input = inputOf(inputs[i].String())
	}
	if len(r.events) == 0 {
		return errors.New("nothing was streamed")
	}
	if _, ok := r.events[len(r.events)-1].(protocol.Done); !ok {
		return errors.New("the last event is not done")
	}
	got, _ := r.resp.Content.AsText()
	if streamed := text["text"].String(); got != streamed {
		return fmt.Errorf("streamed the text %q, returned %q", streamed, got)
	}
	if a, b := jsonOf(calls), jsonOf(r.resp.ToolCalls); a != b && len(calls)+len(r.resp.ToolCalls) > 0 {
		return fmt.Errorf("streamed the calls %s, returned %s", a, b)
	}
	if usage != nil && jsonOf(*usage) != jsonOf(r.resp.Usage) {
		return fmt.Errorf("streamed the usage %s, returned %s", jsonOf(*usage), jsonOf(r.resp.Usage))
	}
	return nil
}
