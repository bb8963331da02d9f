package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/provider/openai"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// loopServer is a model that calls a tool nine times and then says so.
func loopServer(b *testing.B) string {
	b.Helper()
	const usage = `"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		n := strings.Count(string(body), `"role":"tool"`)
		w.Header().Set("Content-Type", "application/json")
		if n < 9 {
			_, _ = fmt.Fprintf(w, `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":`+
				`{"role":"assistant","content":"","tool_calls":[{"id":"c%d","type":"function","function":{"name":"echo","arguments":"{\"text\":\"hello\"}"}}]}}],`+usage+`}`, n)
			return
		}
		_, _ = io.WriteString(w, `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"done"}}],`+usage+`}`)
	}))
	b.Cleanup(s.Close)
	return s.URL
}

func echo(_ context.Context, in struct {
	Text string `json:"text"`
},
) (string, error) {
	return in.Text, nil
}

// BenchmarkLoopHTTP is ten turns over HTTP. BenchmarkLoopHTTPFloor is the same by a bare loop over the client library.
func BenchmarkLoopHTTP(b *testing.B) {
	p := openai.New(openai.Config{BaseURL: loopServer(b)})
	b.Cleanup(p.Close)
	a := build(b, agent.Config{Provider: p, Model: "m", Tools: []tool.Tool{tool.Func("echo", "Echoes.", echo)}})
	b.ReportAllocs()
	for b.Loop() {
		out, err := a.Execute(b.Context(), protocol.Text("go"))
		if err != nil || out.Metadata.TurnsUsed != 10 {
			b.Fatal(out.ExitReason, err)
		}
	}
}

func BenchmarkLoopHTTPFloor(b *testing.B) {
	cfg := goopenai.DefaultConfig("")
	cfg.BaseURL = loopServer(b)
	client := goopenai.NewClientWithConfig(cfg)
	tools := []goopenai.Tool{{Type: goopenai.ToolTypeFunction, Function: &goopenai.FunctionDefinition{
		Name: "echo", Description: "Echoes.", Parameters: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
	}}}
	b.ReportAllocs()
	for b.Loop() {
		messages := []goopenai.ChatCompletionMessage{{Role: goopenai.ChatMessageRoleUser, Content: "go"}}
		turns := 0
		for {
			resp, err := client.CreateChatCompletion(b.Context(), goopenai.ChatCompletionRequest{Model: "m", Messages: messages, Tools: tools, MaxCompletionTokens: 4096})
			if err != nil {
				b.Fatal(err)
			}
			turns++
			m := resp.Choices[0].Message
			messages = append(messages, m)
			if len(m.ToolCalls) == 0 {
				break
			}
			for _, c := range m.ToolCalls {
				var in struct {
					Text string `json:"text"`
				}
				if err := json.Unmarshal([]byte(c.Function.Arguments), &in); err != nil {
					b.Fatal(err)
				}
				text, _ := echo(b.Context(), in)
				messages = append(messages, goopenai.ChatCompletionMessage{Role: goopenai.ChatMessageRoleTool, ToolCallID: c.ID, Content: text})
			}
		}
		if turns != 10 {
			b.Fatal(turns)
		}
	}
}

// BenchmarkStream is the cost of a piece of a streamed answer: it must not grow with the length of the answer.
func BenchmarkStream(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var body strings.Builder
			for range n {
				body.WriteString("data: {\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}]}\n\n")
			}
			body.WriteString("data: {\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, body.String())
			}))
			b.Cleanup(s.Close)
			p := openai.New(openai.Config{BaseURL: s.URL})
			b.Cleanup(p.Close)
			a := build(b, agent.Config{Provider: p, Model: "m"})
			pieces := 0
			ctx := agent.WithStream(b.Context(), func(protocol.StreamEvent) { pieces++ })
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a.Execute(ctx, protocol.Text("go")); err != nil {
					b.Fatal(err)
				}
			}
			if pieces < n {
				b.Fatal(pieces)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/piece")
		})
	}
}
