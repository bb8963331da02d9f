package compact_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func user(text string) protocol.Message {
	return protocol.NewMessage(protocol.RoleUser, protocol.TextContent(text))
}

func assistant(text string) protocol.Message {
	return protocol.NewMessage(protocol.RoleAssistant, protocol.TextContent(text))
}

func as(policy protocol.CompactionPolicy, m protocol.Message) protocol.Message {
	m.Meta.Policy = policy
	return m
}

func pinned(text string) protocol.Message { return as(protocol.PolicyPinned, user(text)) }

func calls(ids ...string) protocol.Message {
	var blocks []protocol.ContentBlock
	for _, id := range ids {
		blocks = append(blocks, protocol.ToolUseBlock{ID: id, Name: "t", Input: json.RawMessage(`{}`)})
	}
	return protocol.NewMessage(protocol.RoleAssistant, protocol.BlockContent(blocks...))
}

func result(id string) protocol.Message {
	return protocol.ToolResultMessage(id, "t", "result "+id, false)
}

// turns is n user messages, msg 0 and so on.
func turns(n int) (all []protocol.Message) {
	for i := range n {
		all = append(all, user(fmt.Sprint("msg ", i)))
	}
	return all
}

// teller is a model that answers what it is told to, one after the other and then the last again.
type teller struct {
	says []string
	fail error

	mu   sync.Mutex
	asks []protocol.InferRequest
}

func (m *teller) ask(_ context.Context, _ string, req protocol.InferRequest) (protocol.InferResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asks = append(m.asks, req)
	if m.fail != nil {
		return protocol.InferResponse{}, m.fail
	}
	return protocol.InferResponse{
		Content: protocol.TextContent(m.says[min(len(m.asks), len(m.says))-1]), Usage: protocol.TokenUsage{InputTokens: 7, OutputTokens: 3},
		Cost: new(protocol.MustDecimal("0.01")),
	}, nil
}

// with is a context with a conversation and a model to ask.
func with(t testing.TB, m *teller, messages ...protocol.Message) *engine.Context {
	t.Helper()
	return configured(t, engine.Config{}, m, messages...)
}

func configured(t testing.TB, cfg engine.Config, m *teller, messages ...protocol.Message) *engine.Context {
	t.Helper()
	if m != nil {
		cfg.Ask = m.ask
	}
	cfg.Operator = "op"
	c := engine.New(cfg)
	if err := c.Inject(messages...); err != nil {
		t.Fatal(err)
	}
	return c
}

// cut compacts by a strategy.
func cut(t testing.TB, c *engine.Context, s engine.Strategy) {
	t.Helper()
	if err := c.Run(t.Context(), &engine.Compaction{Strategy: s}); err != nil {
		t.Fatal(err)
	}
}

// shape is a conversation as a line.
func shape(messages []protocol.Message) string {
	var parts []string
	for _, m := range messages {
		part := m.Text()
		for _, b := range m.Content.Blocks() {
			if u, ok := b.(protocol.ToolUseBlock); ok {
				part += "call " + u.ID
			}
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "|")
}

func wantShape(t testing.TB, c *engine.Context, want string) {
	t.Helper()
	if got := shape(c.Messages()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// wantHalt wants an error that ends the run for that reason.
func wantHalt(t testing.TB, err error, reason string) {
	t.Helper()
	var exit *engine.ExitError
	if !errors.As(err, &exit) || exit.Reason != protocol.InterceptorHalt(reason) {
		t.Errorf("got %v, want a halt: %s", err, reason)
	}
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
	s.lines = append(s.lines, fmt.Sprint(kind, " ", string(raw), err))
}

func (s *sink) count(part string) int { return strings.Count(strings.Join(s.lines, "\n"), part) }
