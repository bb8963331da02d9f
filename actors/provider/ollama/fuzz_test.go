package ollama_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/provider/ollama"
	"github.com/skelegent/skelegent-go/actors/provider/providertest"
	"github.com/skelegent/skelegent-go/protocol"
)

// body answers every request with a stream.
type body []byte

func (b body) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Request: req, Body: io.NopCloser(bytes.NewReader(b))}, nil
}

// FuzzStream checks that no stream does harm: there is an error of ours, or an answer that is what was streamed.
func FuzzStream(f *testing.F) {
	_, whole := render(providertest.Answer{
		Model: "m", Text: "It is noon. 🕛", Calls: []providertest.Call{{ID: "c1", Name: "clock", Arguments: `{"a":1}`}, {Name: "n"}},
		Usage: &protocol.TokenUsage{InputTokens: 1},
	}, true)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(call(`"x"`) + "\n" + end))
	f.Add([]byte(`{"model":"m","message":{"thinking":"\ud83d","content":"\u0000"}}` + "\r\n\n" + `{"error":"x"}`))
	f.Add([]byte(`{"error":"model 'x' not found"}` + "\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p := ollama.New(ollama.Config{HTTPClient: &http.Client{Transport: body(raw)}, MaxResponse: 1 << 16})
		var text strings.Builder
		var inputs []string
		done := false
		resp, err := p.Infer(t.Context(), protocol.InferRequest{Model: "m"}, func(ev protocol.StreamEvent) {
			switch ev := ev.(type) {
			case protocol.TextDelta:
				text.WriteString(ev.Text)
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
		if got, _ := resp.Content.AsText(); got != text.String() || !done || len(inputs) != len(resp.ToolCalls) {
			t.Fatalf("streamed %q and %q, returned %+v", text.String(), inputs, resp)
		}
		ids := map[string]bool{}
		for i, c := range resp.ToolCalls {
			if c.ID == "" || ids[c.ID] || c.Name == "" || !json.Valid(c.Input) || string(c.Input) != inputs[i] {
				t.Fatalf("call %d: %+v, streamed %q", i, c, inputs[i])
			}
			ids[c.ID] = true
		}
		if _, err := json.Marshal(resp); err != nil {
			t.Fatal(err)
		}
	})
}
