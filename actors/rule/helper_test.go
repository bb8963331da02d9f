package rule_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model answers by how far the conversation has come, as a model does; beyond its answers it repeats the last.
type model struct {
	answers []protocol.InferResponse

	mu   sync.Mutex
	asks []protocol.InferRequest
	last []string // how it was asked last in each turn
}

func (m *model) Infer(_ context.Context, req protocol.InferRequest, _ func(protocol.StreamEvent)) (protocol.InferResponse, error) {
	turn := 0
	for _, msg := range req.Messages {
		if msg.Role == protocol.RoleAssistant {
			turn++
		}
	}
	raw, err := protocol.Marshal(req.Messages)
	m.mu.Lock()
	defer m.mu.Unlock()
	req.Messages = slices.Clone(req.Messages)
	m.asks = append(m.asks, req)
	for len(m.last) <= turn {
		m.last = append(m.last, "")
	}
	m.last[turn] = string(raw)
	return m.answers[min(turn, len(m.answers)-1)], err
}

func (*model) Priced(string) bool { return true }

// says is an answer that costs half a cent.
func says(text string, calls ...protocol.ToolCall) protocol.InferResponse {
	r := protocol.InferResponse{
		Content: protocol.TextContent(text), ToolCalls: calls, StopReason: protocol.StopEndTurn, Model: "m",
		Usage: protocol.TokenUsage{InputTokens: 10, OutputTokens: 5}, Cost: new(protocol.MustDecimal("0.005")),
	}
	if len(calls) > 0 {
		r.StopReason = protocol.StopToolUse
	}
	return r
}

func costs(r protocol.InferResponse, literal string) protocol.InferResponse {
	r.Cost = nil
	if literal != "" {
		r.Cost = new(protocol.MustDecimal(literal))
	}
	return r
}

func uses(id, name, input string) protocol.ToolCall {
	return protocol.ToolCall{ID: id, Name: name, Input: json.RawMessage(input)}
}

// work is a tool that counts its calls and does something.
type work struct {
	mu     sync.Mutex
	inputs []string
	do     func() tool.Result
}

func (w *work) tool(t testing.TB, name string) tool.Tool {
	t.Helper()
	x, err := tool.Raw(protocol.ToolMetadata{Name: name}, func(_ context.Context, in json.RawMessage) (tool.Result, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.inputs = append(w.inputs, string(in))
		r := tool.Result{}
		if w.do != nil {
			r = w.do()
		}
		if r.Output == nil {
			r.Output = json.RawMessage(`"ok"`)
		}
		return r, nil
	}, tool.Repeatable())
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func build(t testing.TB, cfg agent.Config) *agent.Agent {
	t.Helper()
	a, err := agent.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// sink keeps what observers are told.
type sink struct {
	mu    sync.Mutex
	lines []string
}

func (s *sink) Emit(kind protocol.EventKind, data any) {
	raw, err := protocol.Marshal(data)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprint(kind, " ", string(raw)))
	if err != nil {
		panic(err)
	}
}

func (s *sink) all() string { return strings.Join(s.lines, "\n") }

func (s *sink) watch(ctx context.Context) context.Context {
	return protocol.WithInvocation(ctx, &protocol.Invocation{Operator: "op", Instance: "i", Events: s})
}

func execute(t testing.TB, cfg agent.Config) protocol.OperatorOutput {
	t.Helper()
	out, err := build(t, cfg).Execute(t.Context(), protocol.Text("go"))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wantExit(t testing.TB, out protocol.OperatorOutput, want string) {
	t.Helper()
	if got := out.ExitReason.String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// durable finishes a durable run under an agent that is made anew for each execution, with a kill or without.
func durable(t testing.TB, kill func(*steptest.Run), cfg func() agent.Config) (*steptest.Run, protocol.OperatorOutput) {
	t.Helper()
	r := steptest.New(steptest.Config{})
	r.Input(protocol.Text("go"), run.Enqueue)
	if kill != nil {
		kill(r)
	}
	out, err := r.Finish(t.Context(), func() protocol.Operator { return build(t, cfg()) }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r, out
}

// shape is what a model was asked, as one line.
func shape(req protocol.InferRequest) string {
	var parts []string
	for _, m := range req.Messages {
		part := m.Role.String() + ":" + m.Text()
		for _, b := range m.Content.Blocks() {
			if u, ok := b.(protocol.ToolUseBlock); ok {
				part += "(" + u.Name + ")"
			}
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "|")
}
