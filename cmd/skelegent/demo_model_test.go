package main

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/openai"
	"github.com/skelegent/skelegent-go/protocol"
)

func newDemoModel(t *testing.T, hold int) *demoModel {
	t.Helper()
	m, err := startDemoModel(testContext(t), hold, func() {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.close)
	return m
}

func demoProvider(t *testing.T, m *demoModel) *openai.Provider {
	t.Helper()
	p := openai.New(openai.Config{BaseURL: m.url, Prices: provider.Prices{
		demoModelID: {Input: protocol.MustDecimal("0.15"), Output: protocol.MustDecimal("0.60")},
	}})
	t.Cleanup(p.Close)
	return p
}

func asking(messages ...protocol.Message) protocol.InferRequest {
	return protocol.InferRequest{Model: demoModelID, System: "Be careful.", Messages: messages}
}

// The provider hears the same from it at once and in pieces.
func TestDemoModel(t *testing.T) {
	t.Parallel()
	m := newDemoModel(t, 0)
	p := demoProvider(t, m)
	req := asking(protocol.NewMessage(protocol.RoleUser, protocol.TextContent(demoQuestion)))
	whole, err := p.Infer(testContext(t), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	pieces, err := p.Infer(testContext(t), req, func(e protocol.StreamEvent) {
		if d, ok := e.(protocol.TextDelta); ok {
			said.WriteString(d.Text + "|")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole, pieces, cmp.Comparer(func(a, b protocol.Content) bool { return text(a) == text(b) })); diff != "" {
		t.Errorf("at once and in pieces differ:\n%s", diff)
	}
	if whole.Cost == nil || whole.Cost.Text() != "0.0000519" || whole.StopReason != protocol.StopToolUse || len(whole.ToolCalls) != 2 {
		t.Errorf("got %+v", whole)
	}
	if got := said.String(); got != "I |look |at |the |clock |and |place |the |order.|" {
		t.Errorf("pieces are %q", got)
	}
	if bill := m.bill(); len(bill) != 2 || bill[0].asked != bill[1].asked || !bill[1].answered {
		t.Errorf("bill is %+v", bill)
	}
}

func text(c protocol.Content) string {
	s, _ := c.AsText()
	return s
}

// What it says follows from the conversation alone.
func TestDemoAnswer(t *testing.T) {
	t.Parallel()
	user := demoMessage{Role: "user", Content: demoQuestion}
	_, first := demoAnswer([]demoMessage{user})
	results := func(order string) []demoMessage {
		return []demoMessage{
			user,
			{Role: "assistant", ToolCalls: first.calls},
			{Role: "tool", ToolCallID: first.calls[0].ID, Content: `{"time":"noon"}`},
			{Role: "tool", ToolCallID: first.calls[1].ID, Content: order},
		}
	}
	placed := results("order 7 is placed")
	_, second := demoAnswer(placed)
	end := append(placed, demoMessage{Role: "assistant", ToolCalls: second.calls},
		demoMessage{Role: "tool", ToolCallID: second.calls[0].ID, Content: "{}"},
		demoMessage{Role: "tool", ToolCallID: second.calls[1].ID, Content: "the receipts will be sent"})
	for name, tc := range map[string]struct {
		messages []demoMessage
		turn     int
		text     string
		calls    string
	}{
		"first":           {[]demoMessage{user}, 1, "place the order", "clock order"},
		"second":          {placed, 2, "make a note", "remember receipt"},
		"third":           {end, 3, "At noon: order 7 is placed. The receipts will be sent, and I will remember", ""},
		"denied":          {results("denied: no"), 2, "Nothing was ordered: denied: no", ""},
		"the next task":   {append(end, demoMessage{Role: "assistant", Content: "done"}, user), 1, "place the order", "clock order"},
		"an empty answer": {append(placed, demoMessage{Role: "assistant"}, demoMessage{Role: "assistant"}, demoMessage{Role: "assistant"}), 5, "order 7", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turn, a := demoAnswer(tc.messages)
			var calls []string
			for _, c := range a.calls {
				calls = append(calls, c.Function.Name)
			}
			if turn != tc.turn || !strings.Contains(a.text, tc.text) || strings.Join(calls, " ") != tc.calls {
				t.Errorf("turn %d: %q %v; want %d: %q %q", turn, a.text, calls, tc.turn, tc.text, tc.calls)
			}
		})
	}
}

// A call that is held is on the bill, and asked again it is answered.
func TestDemoModelHolds(t *testing.T) {
	t.Parallel()
	m := newDemoModel(t, 1)
	p := demoProvider(t, m)
	req := asking(protocol.NewMessage(protocol.RoleUser, protocol.TextContent("x")))
	ctx, cancel := context.WithCancel(testContext(t))
	m.wake = cancel
	if _, err := p.Infer(ctx, req, nil); protocol.CodeOf(err) != protocol.CodeCancelled {
		t.Errorf("held: %v", err)
	}
	if !m.holds() {
		t.Error("it holds nothing")
	}
	if _, err := p.Infer(testContext(t), req, nil); err != nil {
		t.Error(err)
	}
	want := []demoTurnBill{{Turn: 1, Paid: 2, InFlight: 1, Asked: 1}}
	if diff := cmp.Diff(want, turnBills(m.bill())); diff != "" {
		t.Errorf("bill (-want +got):\n%s", diff)
	}
}

func TestDemoModelRefuses(t *testing.T) {
	t.Parallel()
	m := newDemoModel(t, 0)
	for path, want := range map[string]int{"/chat/completions": http.StatusBadRequest, "/embeddings": http.StatusNotFound} {
		resp, err := http.Post(m.url+path, "application/json", bytes.NewReader([]byte(`{"messages":[]}`)))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, resp.StatusCode, want)
		}
	}
	if bill := m.bill(); len(bill) != 0 {
		t.Errorf("bill is %+v", bill)
	}
	http.DefaultClient.CloseIdleConnections()
}
