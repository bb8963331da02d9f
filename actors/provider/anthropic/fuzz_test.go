package anthropic_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/provider/anthropic"
	"github.com/skelegent/skelegent-go/protocol"
)

// canned is a server without a network.
type canned struct {
	contentType string
	body        []byte
	sent        []byte
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	var err error
	if c.sent, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {c.contentType}}, ContentLength: -1,
		Body: io.NopCloser(bytes.NewReader(c.body)), Request: r,
	}, nil
}

func (c *canned) ask(t *testing.T, sink func(protocol.StreamEvent), messages ...protocol.Message) (protocol.InferResponse, error) {
	t.Helper()
	p := anthropic.New(anthropic.Config{HTTPClient: &http.Client{Transport: c}, MaxResponse: 1 << 16, CachePrompt: true})
	return p.Infer(t.Context(), protocol.InferRequest{Messages: append([]protocol.Message{text(protocol.RoleUser, "x")}, messages...)}, sink)
}

// usable checks an answer: it can be kept and sent back.
func usable(t *testing.T, r protocol.InferResponse) {
	t.Helper()
	raw, err := protocol.Marshal(r.ToMessage())
	if err != nil {
		t.Fatalf("the answer cannot be kept: %v", err)
	}
	var kept protocol.Message
	if err := protocol.Unmarshal(raw, &kept); err != nil {
		t.Fatalf("the answer cannot be read: %v in %s", err, raw)
	}
	c := &canned{contentType: "application/json", body: []byte(reply)}
	if _, err := c.ask(t, nil, kept); err != nil || !json.Valid(c.sent) {
		t.Fatalf("%s cannot be sent back: %v", raw, err)
	}
}

func coded(t *testing.T, err error) {
	t.Helper()
	var e *protocol.Error
	if !errors.As(err, &e) || e.Kind == "" || len(e.Error()) > 300 {
		t.Fatalf("error %v", err)
	}
}

func FuzzStream(f *testing.F) {
	f.Add([]byte(thoughtStream()))
	f.Add([]byte(stream(begin, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"f","input":{"x":1}}}`, called, done)))
	f.Add([]byte("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}\n\n"))
	f.Add([]byte(stream(begin, `{"type":"future","index":"x"}`, ended, done) + "data: more\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var said, thought strings.Builder
		var inputs []*strings.Builder
		var last protocol.StreamEvent
		c := &canned{contentType: "text/event-stream", body: data}
		r, err := c.ask(t, func(ev protocol.StreamEvent) {
			switch ev := ev.(type) {
			case protocol.TextDelta:
				said.WriteString(ev.Text)
			case protocol.ThinkingDelta:
				thought.WriteString(ev.Thinking)
			case protocol.ToolCallStart:
				if ev.Index != len(inputs) || ev.ID == "" || ev.Name == "" {
					t.Fatalf("call %d begins with %+v", len(inputs), ev)
				}
				inputs = append(inputs, &strings.Builder{})
			case protocol.ToolCallDelta:
				inputs[ev.Index].WriteString(ev.JSONDelta)
			}
			last = ev
		})
		end, isDone := last.(protocol.Done)
		if err != nil {
			coded(t, err)
			if isDone {
				t.Fatal("done was streamed")
			}
			return
		}
		if !isDone || len(end.Response.ToolCalls) != len(r.ToolCalls) {
			t.Fatalf("the last event is %+v", last)
		}
		var text, thinking strings.Builder
		if whole, ok := r.Content.AsText(); ok && r.Content.Blocks() == nil {
			text.WriteString(whole)
		}
		for _, b := range r.Content.Blocks() {
			switch b := b.(type) {
			case protocol.TextBlock:
				text.WriteString(b.Text)
			case protocol.ThinkingBlock:
				thinking.WriteString(b.Thinking)
			}
		}
		if said.String() != text.String() || thought.String() != thinking.String() || len(inputs) != len(r.ToolCalls) {
			t.Fatalf("streamed %q, %q and %d calls, returned %q, %q and %d", said.String(), thought.String(), len(inputs), text.String(), thinking.String(), len(r.ToolCalls))
		}
		for i, call := range r.ToolCalls {
			streamed := inputs[i].String()
			if json.Valid([]byte(streamed)) && streamed != string(call.Input) || !json.Valid(call.Input) {
				t.Fatalf("streamed the input %q, returned %q", streamed, call.Input)
			}
		}
		usable(t, r)
	})
}

func FuzzWhole(f *testing.F) {
	f.Add([]byte(reply))
	f.Add([]byte(thoughtWhole))
	f.Add([]byte(`{"type":"error","error":{"type":"api_error","message":"x"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &canned{contentType: "application/json", body: data}
		r, err := c.ask(t, nil)
		if err != nil {
			coded(t, err)
			return
		}
		usable(t, r)
	})
}
