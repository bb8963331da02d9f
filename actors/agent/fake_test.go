package agent_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model answers from a script and keeps what it was asked. After the last step it repeats it.
type model struct {
	steps    []step
	unpriced bool

	mu   sync.Mutex
	asks []protocol.InferRequest
}

type step struct {
	resp protocol.InferResponse
	err  error
	do   func(ctx context.Context) error // before the answer
}

func (m *model) Infer(ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent)) (protocol.InferResponse, error) {
	m.mu.Lock()
	s := m.steps[min(len(m.asks), len(m.steps)-1)]
	req.Messages = slices.Clone(req.Messages)
	m.asks = append(m.asks, req)
	m.mu.Unlock()
	if s.do != nil {
		if err := s.do(ctx); err != nil {
			return protocol.InferResponse{}, err
		}
	}
	if s.err != nil {
		return protocol.InferResponse{}, s.err
	}
	if text, ok := s.resp.Content.AsText(); ok && sink != nil {
		for _, r := range text {
			sink(protocol.TextDelta{Text: string(r)})
		}
		sink(protocol.Done{Response: s.resp})
	}
	return s.resp, nil
}

func (m *model) Priced(string) bool { return !m.unpriced }

// says is an answer of ten tokens in, five out and half a cent.
func says(text string, calls ...protocol.ToolCall) step {
	r := protocol.InferResponse{
		Content: protocol.TextContent(text), ToolCalls: calls, StopReason: protocol.StopEndTurn, Model: "m",
		Usage: protocol.TokenUsage{InputTokens: 10, OutputTokens: 5}, Cost: new(protocol.MustDecimal("0.005")),
	}
	if len(calls) > 0 {
		r.StopReason = protocol.StopToolUse
	}
	return step{resp: r}
}

func fails(err error) step { return step{err: err} }

func (s step) stopped(reason protocol.StopReason) step {
	s.resp.StopReason = reason
	return s
}

func (s step) costs(literal string) step {
	s.resp.Cost = nil
	if literal != "" {
		s.resp.Cost = new(protocol.MustDecimal(literal))
	}
	return s
}

func uses(id, name, input string) protocol.ToolCall {
	return protocol.ToolCall{ID: id, Name: name, Input: json.RawMessage(input)}
}

// counter counts its calls.
type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) tool(name string, opts ...tool.Option) tool.Tool {
	return tool.Func(name, "", func(context.Context, struct{}) (string, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.n++
		return name + " ok", nil
	}, opts...)
}

func broken(name string, err error) tool.Tool {
	return tool.Func(name, "", func(context.Context, struct{}) (string, error) { return "", err })
}

func build(t testing.TB, cfg agent.Config) *agent.Agent {
	t.Helper()
	a, err := agent.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func execute(t testing.TB, cfg agent.Config, in protocol.OperatorInput) protocol.OperatorOutput {
	t.Helper()
	out, err := build(t, cfg).Execute(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wantExit(t testing.TB, out protocol.OperatorOutput, exit protocol.ExitReason, text string) {
	t.Helper()
	if got, ok := out.Message.AsText(); out.ExitReason != exit || !ok || got != text {
		t.Errorf("got %s with %q (text %v), want %s with %q", out.ExitReason, got, ok, exit, text)
	}
}

// results returns the tool results that the request holds.
func results(req protocol.InferRequest) (all []protocol.ToolResultBlock) {
	for _, m := range req.Messages {
		for _, b := range m.Content.Blocks() {
			if r, ok := b.(protocol.ToolResultBlock); ok {
				all = append(all, r)
			}
		}
	}
	return all
}
