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
	f.Fuzz(streamed)
}

// palette are events to make streams of: all kinds of blocks and pieces, in and out of place.
var palette = []string{
	begin, begin, ended, called, done, done, `{"type":"ping"}`, `{"type":"future","index":"x"}`, `{"type":"content_block_stop","index":0}`, `{"type":"content_block_stop","index":1}`,
	`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_start","index":1,"content_block":{"type":"text","text":" "}}`,
	`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`, `{"type":"content_block_start","index":2,"content_block":{"type":"thinking","thinking":"a","signature":"b"}}`,
	`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`, `{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"a","name":"g","input":[1]}}`,
	`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","input":{}}}`, `{"type":"content_block_start","index":3,"content_block":{"type":"redacted_thinking","data":"x"}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"h\u00e9"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"t"}}`,
	`{"type":"content_block_delta","index":2,"delta":{"type":"signature_delta","signature":"s"}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"1}"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"future_delta"}}`, `{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"input_tokens":-1}}`,
	`{"type":"error","error":{"type":"overloaded_error","message":"x"}}`, `{"type":"message_delta","delta":{}}`,
}

// FuzzEvents makes a stream of an event of the palette for each byte, between a begin and an end.
func FuzzEvents(f *testing.F) {
	f.Add([]byte{10, 18, 8, 14, 21, 22, 9})
	f.Add([]byte{13, 20, 17, 10, 18, 15})
	f.Add([]byte{16, 23, 6, 7, 24, 8, 11})
	f.Fuzz(func(t *testing.T, script []byte) {
		events := []string{begin}
		for _, b := range script {
			events = append(events, palette[int(b)%len(palette)])
		}
		streamed(t, []byte(stream(append(events, called, done)...)))
	})
}

// streamed checks that a stream gives a coded error, or an answer that is the one that was streamed.
func streamed(t *testing.T, data []byte) {
	t.Helper()
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
		piece := inputs[i].String()
		if json.Valid([]byte(piece)) && piece != string(call.Input) || !json.Valid(call.Input) {
			t.Fatalf("streamed the input %q, returned %q", piece, call.Input)
		}
	}
	usable(t, r)
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
