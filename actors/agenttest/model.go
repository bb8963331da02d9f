package agenttest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/actors/provider/scripted"
	"github.com/skelegent/skelegent-go/protocol"
)

// Model is a model that says what a test wants, and keeps what it was asked. It is safe for concurrent use; of two simultaneous
// calls it is open which one gets which step.
type Model struct {
	tb    testing.TB
	steps []scripted.Step

	mu     sync.Mutex
	script *scripted.Provider
	price  *provider.Price
	tried  bool // SurvivesKills has asked it
	over   bool // the test has ended
}

var (
	_ provider.Provider = (*Model)(nil)
	_ provider.Pricer   = (*Model)(nil)
	_ provider.Quoter   = (*Model)(nil)
)

// NewModel returns a model that takes the steps. Each call takes the first step that fits it and is not used up, so steps
// without a When come in their order.
//
// A call for which there is no step fails the test, and itself with an invalid request. When the test ends, steps that were not
// taken fail it. In an example tb is nil: then a call beyond the script is printed, and steps may be left.
func NewModel(tb testing.TB, steps ...Step) *Model { //nolint:thelper // tb may be nil
	m := &Model{tb: orPrint(tb)}
	calls := 0
	for _, s := range steps {
		for _, one := range s.with(func(*scripted.Step) {}).steps {
			m.steps = append(m.steps, named(one, &calls))
		}
	}
	m.script = m.newScript()
	m.tb.Cleanup(m.end)
	return m
}

// named gives ids to calls that have none, unless many answers have them.
func named(s scripted.Step, calls *int) scripted.Step {
	s.ToolCalls = append([]protocol.ToolCall(nil), s.ToolCalls...)
	for i := range s.ToolCalls {
		if *calls++; s.ToolCalls[i].ID == "" && s.Repeat == 1 {
			s.ToolCalls[i].ID = fmt.Sprintf("call_%d", *calls)
		}
	}
	return s
}

// newScript returns the script from its begin.
func (m *Model) newScript() *scripted.Provider {
	script := scripted.Script{Mode: scripted.ModeMatch, Steps: make([]scripted.Step, len(m.steps))}
	copy(script.Steps, m.steps)
	if m.price == nil {
		return scripted.FromScript(script)
	}
	for i := range script.Steps {
		if s := &script.Steps[i]; s.Cost == nil {
			cost := m.price.Cost(s.Usage)
			s.Cost = &cost
		}
	}
	return scripted.FromScript(script)
}

// WithPrice says what the model costs in USD per million tokens, whatever name it is asked by, and returns m. It begins the
// script anew, so it belongs behind NewModel. Without it the price is not known, and an agent with a money limit refuses the
// model, unless every step says what it costs. It panics where a price is no decimal.
func (m *Model) WithPrice(input, output string) *Model {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.price = &provider.Price{Input: protocol.MustDecimal(input), Output: protocol.MustDecimal(output)}
	m.script = m.newScript()
	return m
}

// Quote implements provider.Quoter: the price of WithPrice.
func (m *Model) Quote(string) (provider.Price, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.price == nil {
		return provider.Price{}, false
	}
	return *m.price, true
}

// Priced implements provider.Pricer: there is a price, or every step says what it costs.
func (m *Model) Priced(model string) bool { return m.current().Priced(model) }

func (m *Model) current() *scripted.Provider {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.script
}

// Infer implements provider.Provider. Its errors are those of the script, invalid request for a call beyond it, and by the end
// of ctx timeout or cancelled.
func (m *Model) Infer(
	ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent),
) (protocol.InferResponse, error) {
	if t := trialFrom(ctx); t != nil {
		return t.infer(ctx, m, req, sink)
	}
	resp, err := m.current().Infer(ctx, req, sink)
	if errors.Is(err, scripted.ErrNoStep) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if !m.over {
			m.tb.Errorf("agenttest: %s", m.beyond(err, req))
		}
	}
	return resp, err
}

// beyond says what was asked that the script has nothing for.
func (m *Model) beyond(err error, req protocol.InferRequest) string {
	return fmt.Sprintf("the model was asked something that it has no answer to (%v):\n%s", err, Request{InferRequest: req})
}

// end looks at what is left when the test ends.
func (m *Model) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = true
	if m.tb.Skipped() || m.tried && m.script.Calls() == 0 { // SurvivesKills looks for itself
		return
	}
	if left := m.script.Left(); len(left) > 0 {
		m.tb.Errorf("agenttest: %d steps of the model's script were not used up after %d calls:\n%s",
			len(left), m.script.Calls(), describe(left))
	}
}

func describe(steps []scripted.Step) string {
	var b strings.Builder
	for _, s := range steps {
		switch {
		case s.Err != nil:
			fmt.Fprintf(&b, "  fail: %v\n", s.Err)
		case s.Text != "" || len(s.ToolCalls) == 0:
			fmt.Fprintf(&b, "  say: %.*q\n", maxLine, s.Text)
		}
		for _, c := range s.ToolCalls {
			fmt.Fprintf(&b, "  call: %s %.*s\n", c.Name, maxLine, c.Input)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Calls returns how many calls came, those included that failed.
func (m *Model) Calls() int { return m.current().Calls() }

// Requests returns what was asked in the last 1,000 calls, in the order in which they came. Those that SurvivesKills made are
// there of the run without a kill alone.
func (m *Model) Requests() []Request {
	asked := m.current().Requests()
	all := make([]Request, len(asked))
	for i, r := range asked {
		all[i] = Request{InferRequest: r, tb: m.tb}
	}
	return all
}

// Request returns what was asked in a call, counted from 0; a negative number counts from the last, which is -1. The test fails
// at once if there was no such call.
func (m *Model) Request(n int) Request {
	m.tb.Helper()
	all := m.Requests()
	calls := m.Calls()
	i := n - (calls - len(all)) // the oldest are gone
	if n < 0 {
		i = len(all) + n
	}
	if i < 0 || i >= len(all) {
		m.tb.Fatalf("agenttest: there is no request %d: the model was called %d times", n, calls)
		return Request{}
	}
	return all[i]
}
