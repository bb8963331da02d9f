package rule_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/skelegent/skelegent-go/actors/agent"
	spend "github.com/skelegent/skelegent-go/actors/budget"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/rule"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// providerFunc is a provider in one function.
type providerFunc func(ctx context.Context, req protocol.InferRequest) (protocol.InferResponse, error)

func (f providerFunc) Infer(
	ctx context.Context, req protocol.InferRequest, _ func(protocol.StreamEvent),
) (protocol.InferResponse, error) {
	return f(ctx, req)
}

func wantUsed(t *testing.T, b *spend.Tokens, consumed uint64) {
	t.Helper()
	if b.Consumed() != consumed || b.Available() != b.Capacity()-min(b.Capacity(), consumed) {
		t.Errorf("%d consumed, %d available, want %d consumed and the rest available", b.Consumed(), b.Available(), consumed)
	}
}

// Each answer of the model here takes 10 and 5.
func TestTokensAreReservedAndSettled(t *testing.T) {
	t.Parallel()
	b := spend.NewTokens(10_000)
	var during []uint64
	m := &model{answers: answers([]string{`{}`})}
	watch := providerFunc(func(ctx context.Context, req protocol.InferRequest) (protocol.InferResponse, error) {
		during = append(during, b.Available())
		return m.Infer(ctx, req, nil)
	})
	w := &work{}
	out := execute(t, agent.Config{Provider: watch, MaxTokens: 1000, Tools: []tool.Tool{w.tool(t, "work")}, Rules: rule.Tokens(b)})
	wantExit(t, out, "complete")
	wantUsed(t, b, 30)
	if len(during) != 2 || during[0] >= 9000 || during[0] < 8000 || during[1] >= during[0] {
		t.Errorf("available while the model was asked: %v", during)
	}
}

func TestTokensEndARunThatHasNoneLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		capacity uint64
		asks     int
		used     uint64
		text     string
	}{
		"at once":            {1000, 0, 0, ""},
		"behind two answers": {1055, 2, 30, "turn"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := spend.NewTokens(c.capacity)
			m, w := &model{answers: answers([]string{`{}`}, []string{`{}`}, []string{`{}`})}, &work{}
			out := execute(t, agent.Config{Provider: m, MaxTokens: 1000, Tools: []tool.Tool{w.tool(t, "work")}, Rules: rule.Tokens(b)})
			text, _ := out.Message.AsText()
			if wantExit(t, out, "budget_exhausted"); len(m.asks) != c.asks || text != c.text {
				t.Errorf("asked %d times, said %q", len(m.asks), text)
			}
			wantUsed(t, b, c.used)
		})
	}
}

// Many runs of two agents, some of which fail: together they never have more than there is, and nothing stays reserved.
func TestTokensAreSharedByAgents(t *testing.T) {
	t.Parallel()
	const capacity = 4_000
	b := spend.NewTokens(capacity)
	var under, answered, ended atomic.Int64
	provider := providerFunc(func(context.Context, protocol.InferRequest) (protocol.InferResponse, error) {
		// Each reserves more than 1000, so no more than three are here at once.
		if now := under.Add(1); now > 3 {
			t.Errorf("%d calls at once", now)
		}
		defer under.Add(-1)
		if n := answered.Add(1); n%3 == 0 {
			panic("a defect")
		} else if n%3 == 1 {
			return protocol.InferResponse{}, protocol.NewError(protocol.CodeInvalidInput, "no")
		}
		return says("done"), nil
	})
	agents := []*agent.Agent{
		build(t, agent.Config{Provider: provider, MaxTokens: 1000, Rules: rule.Tokens(b)}),
		build(t, agent.Config{Provider: provider, MaxTokens: 1000, Rules: rule.Tokens(b)}),
	}
	var runs sync.WaitGroup
	for i := range 60 {
		runs.Go(func() {
			out, err := agents[i%2].Execute(t.Context(), protocol.Text("go"))
			if err == nil && out.ExitReason.Kind() == protocol.ExitComplete {
				ended.Add(1)
			}
		})
	}
	runs.Wait()
	wantUsed(t, b, uint64(15*ended.Load()))
	if ended.Load() == 0 {
		t.Error("nothing was answered: this tests nothing")
	}
}

func TestTokensAreReleasedHoweverTheCallEnds(t *testing.T) {
	t.Parallel()
	halt := engine.After(engine.OpInfer, "halt", 0, engine.OpFunc("halt", func(context.Context, *engine.Context) error {
		return engine.Halt("enough")
	}))
	before := engine.Before(engine.OpInfer, "halt", -1000, engine.OpFunc("halt", func(context.Context, *engine.Context) error {
		return engine.Halt("not at all")
	}))
	for name, c := range map[string]struct {
		do    func(cancel func()) (protocol.InferResponse, error)
		rules []engine.Rule
		used  uint64
	}{
		"an error": {func(func()) (protocol.InferResponse, error) { return protocol.InferResponse{}, errors.New("x") }, nil, 0},
		"a panic":  {func(func()) (protocol.InferResponse, error) { panic("x") }, nil, 0},
		"cancelled": {func(cancel func()) (protocol.InferResponse, error) {
			cancel()
			return protocol.InferResponse{}, context.Canceled
		}, nil, 0},
		"a halt behind it": {func(func()) (protocol.InferResponse, error) { return says("x"), nil }, []engine.Rule{halt}, 15},
		"a halt before it": {func(func()) (protocol.InferResponse, error) { return says("x"), nil }, []engine.Rule{before}, 0},
		"an answer":        {func(func()) (protocol.InferResponse, error) { return says("x"), nil }, nil, 15},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := spend.NewTokens(100_000)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			a := build(t, agent.Config{
				Provider: providerFunc(func(context.Context, protocol.InferRequest) (protocol.InferResponse, error) { return c.do(cancel) }),
				Rules:    slices.Concat(rule.Tokens(b), c.rules),
			})
			_, _ = a.Execute(ctx, protocol.Text("go"))
			wantUsed(t, b, c.used)
		})
	}
}

// What the log has takes nothing: however the run is killed, no call is counted twice. One whose answer the dead process did not
// live to see is not counted.
func TestTokensOfAReplayAreNotCountedAgain(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, kill func(*steptest.Run)) int {
		t.Helper()
		b, w := spend.NewTokens(100_000), &work{}
		m := &model{answers: answers([]string{`{"n":1}`}, []string{`{"n":2}`})}
		r, out := durable(t, kill, func() agent.Config {
			return agent.Config{Provider: m, Tools: []tool.Tool{w.tool(t, "work")}, Rules: rule.Tokens(b)}
		})
		wantExit(t, out, "complete")
		if used := b.Consumed(); kill == nil || used != 30 {
			wantUsed(t, b, 45)
		} else {
			wantUsed(t, b, 30)
		}
		return r.Records()
	}
	for name, kill := range steptest.Kills(check(t, nil)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, kill)
		})
	}
}

func TestTokensDoNotDenyWhatTheLogHas(t *testing.T) {
	t.Parallel()
	first, rest := spend.NewTokens(100_000), spend.NewTokens(1)
	budgets := []*spend.Tokens{first, rest}
	m, w := &model{answers: answers([]string{`{}`})}, &work{}
	_, out := durable(t, func(r *steptest.Run) { r.KillAfter(3) }, func() agent.Config {
		b := budgets[0]
		budgets = budgets[1:]
		return agent.Config{Provider: m, Tools: []tool.Tool{w.tool(t, "work")}, Rules: rule.Tokens(b)}
	})
	// The last record before the kill is the second answer: nothing is asked any more.
	wantExit(t, out, "complete")
	wantUsed(t, first, 15)
	wantUsed(t, rest, 0)
}

// What rules ask counts, also behind the last answer.
func TestTokensOfWhatRulesAsk(t *testing.T) {
	t.Parallel()
	b := spend.NewTokens(100_000)
	ask := func(at string) engine.Rule {
		return engine.After(at, "ask", 50, engine.OpFunc("ask", func(ctx context.Context, c *engine.Context) error {
			_, err := c.Ask(ctx, "side", protocol.InferRequest{Messages: c.Conversation()})
			return err
		}))
	}
	m := &model{answers: []protocol.InferResponse{says("x")}}
	execute(t, agent.Config{Provider: m, Rules: append(rule.Tokens(b), ask(engine.OpInjectMessages), ask(engine.OpAppendResponse))})
	wantUsed(t, b, 45)
	if len(m.asks) != 3 {
		t.Errorf("asked %d times", len(m.asks))
	}
}

func TestTokensOfAProviderThatDoesNotSay(t *testing.T) {
	t.Parallel()
	b := spend.NewTokens(100_000)
	silent := says(strings.Repeat("word ", 100))
	silent.Usage = protocol.TokenUsage{}
	execute(t, agent.Config{Provider: &model{answers: []protocol.InferResponse{silent}}, Rules: rule.Tokens(b)})
	if n := b.Consumed(); n < 100 || n > 200 {
		t.Errorf("%d consumed of about 125", n)
	}
}

func TestTokensOfTheContext(t *testing.T) {
	t.Parallel()
	b := spend.NewTokens(100_000)
	a := build(t, agent.Config{Provider: &model{answers: answers()}, Rules: rule.Tokens(nil)})
	for _, ctx := range []context.Context{t.Context(), spend.WithTokens(t.Context(), b)} {
		if out, err := a.Execute(ctx, protocol.Text("go")); err != nil || out.ExitReason.Kind() != protocol.ExitComplete {
			t.Errorf("got %v, %v", out.ExitReason, err)
		}
	}
	wantUsed(t, b, 15)
}

// Where a run goes on, of what rules asked no more is counted again than came behind the last call of the log.
func TestTokensOfWhatRulesAskAreCountedAgainAtMostSinceTheLastCall(t *testing.T) {
	t.Parallel()
	const aside = 15 // what one question takes
	for _, at := range []engine.Rule{
		engine.Before(engine.OpInfer, "ask", 50, nil), engine.After(engine.OpAppendResponse, "ask", 50, nil), engine.Before(engine.OpExecuteTool, "ask", 50, nil),
	} {
		check := func(t *testing.T, kill func(*steptest.Run)) (int, int) {
			t.Helper()
			b, w := spend.NewTokens(100_000), &work{}
			m := &model{answers: answers([]string{`{"n":1}`}, []string{`{"n":2}`})}
			r, out := durable(t, kill, func() agent.Config {
				ask := at
				ask.Action = engine.OpFunc("ask", func(ctx context.Context, c *engine.Context) error {
					_, err := c.Ask(ctx, "side", protocol.InferRequest{Messages: c.Conversation()})
					return err
				})
				return agent.Config{Provider: m, Tools: []tool.Tool{w.tool(t, "work")}, Rules: append(rule.Tokens(b), ask)}
			})
			wantExit(t, out, "complete")
			return r.Records(), int(b.Consumed())
		}
		n, want := check(t, nil)
		for name, kill := range steptest.Kills(n) {
			_, got := check(t, kill)
			if got > want+aside {
				t.Errorf("%s: %d consumed, want at most %d and %d", name, got, want, aside)
			}
		}
	}
}
