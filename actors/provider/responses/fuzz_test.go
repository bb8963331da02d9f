package responses_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
	"github.com/skelegent/skelegent-go/actors/provider/providertest"
	"github.com/skelegent/skelegent-go/actors/provider/responses"
	"github.com/skelegent/skelegent-go/protocol"
)

// body answers every request.
type body []byte

func (b body) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Request: req, Body: io.NopCloser(bytes.NewReader(b))}, nil
}

// FuzzStream checks that no stream does harm: there is an error of ours, or an answer that is what was streamed and that can
// be sent back.
func FuzzStream(f *testing.F) {
	whole := renderStream(providertest.Answer{
		Model: "m", Text: "It is noon. 🕛", Calls: []providertest.Call{{ID: "c1", Name: "clock", Arguments: `{"a":1}`}, {Name: "n"}},
		Usage: &protocol.TokenUsage{InputTokens: 1},
	})
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(data(`{"type":"response.completed","response":{"output":` + thoughts + `}}`)))
	f.Add([]byte(data(`{"type":"response.reasoning_summary_text.delta","summary_index":1,"delta":"\ud83d"}`, `{"type":"response.refusal.delta","output_index":-1,"delta":"x"}`, completed)))
	f.Add([]byte(data(`{"type":"response.function_call_arguments.delta","delta":"{"}`, `{"type":"response.output_item.done","item":{"type":"function_call","name":"f"}}`, completed)))
	f.Add([]byte("event: error\rdata: {\"code\":1}\r\r"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p := responses.New(responses.Config{HTTPClient: &http.Client{Transport: body(raw)}, MaxResponse: 1 << 16})
		var text, thinking strings.Builder
		var inputs []string
		done := false
		resp, err := p.Infer(t.Context(), protocol.InferRequest{Model: "m"}, func(ev protocol.StreamEvent) {
			switch ev := ev.(type) {
			case protocol.TextDelta:
				text.WriteString(ev.Text)
			case protocol.ThinkingDelta:
				thinking.WriteString(ev.Thinking)
			case protocol.ToolCallStart:
				inputs = append(inputs, "")
			case protocol.ToolCallDelta:
				inputs[ev.Index] += ev.JSONDelta
			case protocol.Done:
				done = true
			}
		})
		var coded *protocol.Error
		if err != nil {
			if !errors.As(err, &coded) || done {
				t.Fatalf("%v, done %v", err, done)
			}
			return
		}
		if said, thought := all(resp.Content); len(said) != text.Len() || len(thought) != thinking.Len() || !done || len(inputs) != len(resp.ToolCalls) {
			t.Fatalf("streamed %q, %q and %q, returned %+v", text.String(), thinking.String(), inputs, resp)
		}
		ids := map[string]bool{}
		for i, c := range resp.ToolCalls {
			if c.ID == "" || ids[c.ID] || c.Name == "" || !json.Valid(c.Input) || !bytes.Equal(c.Input, exchange.Input(inputs[i])) {
				t.Fatalf("call %d: %+v, streamed %q", i, c, inputs[i])
			}
			ids[c.ID] = true
		}
		again := protocol.InferRequest{Messages: []protocol.Message{resp.ToMessage()}}
		if _, err := p.Infer(t.Context(), again, nil); errors.Is(err, &protocol.Error{Kind: protocol.KindProviderInvalidRequest}) &&
			!bytes.Contains(raw, []byte("error")) && !bytes.Contains(raw, []byte("failed")) {
			t.Fatalf("cannot be sent back: %v", err)
		}
	})
}

// all returns the texts and the thinking of c; pieces may come in another order than they stand.
func all(c protocol.Content) (said, thought string) {
	if c.Blocks() == nil {
		said, _ = c.AsText()
	}
	for _, b := range c.Blocks() {
		switch b := b.(type) {
		case protocol.TextBlock:
			said += b.Text
		case protocol.ThinkingBlock:
			thought += b.Thinking
		}
	}
	return said, thought
}
