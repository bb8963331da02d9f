package compact_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/skelegent/skelegent-go/actors/compact"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/memory"
)

// ask runs a model call that answers nothing.
func ask(t testing.TB, c *engine.Context) {
	t.Helper()
	if err := tryAsk(t, c); err != nil {
		t.Fatal(err)
	}
}

func tryAsk(t testing.TB, c *engine.Context) error {
	t.Helper()
	return c.Run(t.Context(), &engine.Infer{Call: noAnswer})
}

func noAnswer(context.Context, *engine.Context) (protocol.InferResponse, error) {
	return protocol.InferResponse{}, nil
}

// counted is a strategy that counts how often it is asked.
type counted struct {
	asked int
	cut   func(all []protocol.Message) (engine.Cut, error)
}

func (*counted) Name() string { return "counted" }

func (s *counted) Cut(_ context.Context, _ *engine.Context, all []protocol.Message) (engine.Cut, error) {
	s.asked++
	return s.cut(all)
}

func nothing([]protocol.Message) (engine.Cut, error) { return engine.Cut{}, nil }

func broken([]protocol.Message) (engine.Cut, error) {
	return engine.Cut{}, protocol.NewError(protocol.CodeUnavailable, "no model")
}

func TestWhatMakesTheRuleFire(t *testing.T) {
	t.Parallel()
	small := func(string) (int, bool) { return 100, true }
	for name, c := range map[string]struct {
		cfg       compact.Config
		model     string
		messages  int // of 5 tokens each
		maxTokens uint32
		fires     bool
	}{
		"messages":                   {compact.Config{Messages: 5}, "", 6, 0, true},
		"few messages":               {compact.Config{Messages: 5}, "", 5, 0, false},
		"a full window":              {compact.Config{Window: 100}, "", 17, 0, true}, // 85 of 90, at 81
		"a window that is not full":  {compact.Config{Window: 100}, "", 16, 0, false},
		"with room for the answer":   {compact.Config{Window: 100}, "", 12, 40, true}, // 60 of 60, at 54
		"with more than half for it": {compact.Config{Window: 100}, "", 10, 90, true}, // 50 of 50
		"with a reserve":             {compact.Config{Window: 100, Reserve: 50}, "", 10, 0, true},
		"half full":                  {compact.Config{Window: 100, Fill: 0.5}, "", 10, 0, true},
		"fill is not looked at":      {compact.Config{Window: 100, Fill: -1}, "", 17, 0, false},
		"a window by the model":      {compact.Config{WindowOf: small}, "m", 17, 0, true},
		"a known model":              {compact.Config{}, "gpt-4", 1400, 0, true}, // 7000 of 7373, at 6635
		"an unknown model":           {compact.Config{}, "my-own", 1500, 0, false},
		"a condition":                {compact.Config{When: func(c *engine.Context) bool { return c.Metrics().Turns == 0 }}, "", 1, 0, true},
		"a condition that is false":  {compact.Config{When: func(c *engine.Context) bool { return c.Metrics().Turns > 0 }}, "", 1, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &counted{cut: nothing}
			c.cfg.Strategy = s
			ctx := configured(t, engine.Config{
				Rules: compact.Rule(c.cfg), Params: engine.Params{Model: c.model, MaxTokens: c.maxTokens},
			}, nil, turns(min(c.messages, 10))...)
			for len(ctx.Conversation()) < c.messages {
				if err := ctx.Inject(user("msg x")); err != nil {
					t.Fatal(err)
				}
			}
			ask(t, ctx)
			if fired := s.asked == 1; fired != c.fires {
				t.Errorf("asked %d times at %d tokens", s.asked, ctx.Tokens())
			}
			if err := ctx.Run(t.Context(), engine.InjectMessages{}); err != nil || s.asked > 1 {
				t.Errorf("it fires at other ops: %v", err)
			}
		})
	}
}

func TestWhen(t *testing.T) {
	t.Parallel()
	rules := compact.When(func(c *engine.Context) bool { return len(c.Conversation()) == 4 }, compact.SlidingWindow(2))
	c := configured(t, engine.Config{Rules: rules}, nil, turns(3)...)
	ask(t, c)
	wantShape(t, c, "msg 0|msg 1|msg 2")
	if err := c.Inject(user("new")); err != nil {
		t.Fatal(err)
	}
	ask(t, c)
	wantShape(t, c, "msg 2|new")
}

func TestObserversAreToldOfPressure(t *testing.T) {
	t.Parallel()
	s := &sink{}
	c := configured(t, engine.Config{Events: s, Rules: compact.Rule(compact.Config{Window: 100, Strategy: compact.SlidingWindow(5)})}, nil, turns(10)...)
	grow := func(n int) {
		if err := c.Inject(turns(n)...); err != nil {
			t.Fatal(err)
		}
		ask(t, c)
	}
	const told = `{"type":"context_pressure","operator":"op","fill_percent":83.33333333333333,"tokens_used":75,"tokens_available":90}`
	for i, step := range []struct{ grow, told, compacted int }{{0, 0, 0}, {5, 1, 0}, {1, 1, 0}, {1, 1, 1}, {10, 2, 1}} {
		grow(step.grow)
		if s.count("context_pressure") != step.told || s.count("compaction_complete") != step.compacted {
			t.Errorf("step %d, %d tokens: %v", i, c.Tokens(), s.lines)
		}
	}
	if s.count(told) != 2 {
		t.Errorf("got %v", s.lines)
	}
}

// What does not help is not tried again and again.
func TestVainCompactionsAreNotRepeated(t *testing.T) {
	t.Parallel()
	paid := &teller{says: []string{"sum"}}
	for name, c := range map[string]struct {
		s    engine.Strategy
		want []int // how often it was tried after each message more
	}{
		"nothing to do":    {&counted{cut: nothing}, []int{1, 2, 2, 3, 3, 3, 3, 4, 4, 4}},
		"fails":            {&counted{cut: broken}, []int{1, 2, 2, 3, 3, 3, 3, 4, 4, 4}},
		"paid, not enough": {compact.SummarizeAndReplace(compact.SummaryConfig{KeepLast: 12}), []int{1, 2, 2, 3, 3, 3, 3, 4, 4, 4}},
		"not paid":         {&counted{cut: func(all []protocol.Message) (engine.Cut, error) { return drop(all, 1), nil }}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &teller{says: paid.says}
			// Forty pinned messages are above the limit whatever is done.
			all := turns(40)
			for i := range all {
				all[i].Meta.Policy = protocol.PolicyPinned
			}
			ctx := configured(t, engine.Config{Rules: compact.Rule(compact.Config{Strategy: c.s, Messages: 10, Fill: -1})}, m, append(all, turns(14)...)...)
			for i, want := range c.want {
				ask(t, ctx)
				got := len(m.asks)
				if s, ok := c.s.(*counted); ok {
					got = s.asked
				}
				if got != want {
					t.Fatalf("tried %d times after %d messages, want %d", got, i, want)
				}
				if err := ctx.Inject(user("more")); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// drop drops the first n that are not pinned.
func drop(all []protocol.Message, n int) engine.Cut {
	keep := make([]bool, len(all))
	for i, m := range all {
		if keep[i] = m.Pinned() || n == 0; !keep[i] {
			n--
		}
	}
	return engine.Cut{Keep: keep}
}

// One large message is another situation.
func TestALargeMessageIsTriedAtOnce(t *testing.T) {
	t.Parallel()
	s := &counted{cut: nothing}
	c := configured(t, engine.Config{Rules: compact.Rule(compact.Config{Strategy: s, Messages: 3})}, nil, turns(10)...)
	ask(t, c)
	ask(t, c)
	if err := c.Inject(user(strings.Repeat("long ", 20))); err != nil {
		t.Fatal(err)
	}
	if ask(t, c); s.asked != 2 {
		t.Errorf("tried %d times", s.asked)
	}
}

func TestFailuresAndOverflow(t *testing.T) {
	t.Parallel()
	halting := func([]protocol.Message) (engine.Cut, error) { return engine.Cut{}, engine.Halt("enough") }
	stopping := func([]protocol.Message) (engine.Cut, error) {
		return engine.Cut{}, engine.Stop(protocol.Exit(protocol.ExitBudgetExhausted))
	}
	giving := func([]protocol.Message) (engine.Cut, error) {
		return engine.Cut{}, engine.Stop(protocol.Exit(protocol.ExitCircuitBreaker))
	}
	for name, c := range map[string]struct {
		cut      func([]protocol.Message) (engine.Cut, error)
		fallback engine.Strategy
		messages int // of 5 tokens, in a window of 100 with 10 for the answer
		exit     string
		left     int
	}{
		"fails and fits":                  {broken, nil, 17, "", 17},
		"a model fails and fits":          {giving, nil, 17, "", 17},
		"fails and does not fit":          {broken, nil, 19, "custom: context_overflow", 19},
		"does nothing and does not fit":   {nothing, nil, 19, "custom: context_overflow", 19},
		"falls back":                      {broken, compact.SlidingWindow(5), 19, "", 5},
		"falls back where it is too much": {nothing, compact.SlidingWindow(5), 19, "", 5},
		"needs no fallback":               {broken, compact.SlidingWindow(5), 17, "", 17},
		"falls back in vain":              {broken, compact.SlidingWindow(19), 19, "custom: context_overflow", 19},
		"halts":                           {halting, compact.SlidingWindow(5), 17, "interceptor_halt: enough", 17},
		"no money":                        {stopping, nil, 17, "budget_exhausted", 17},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			core, logs := observer.New(zapcore.WarnLevel)
			rules := compact.Rule(compact.Config{
				Window: 100, Strategy: &counted{cut: c.cut}, Fallback: c.fallback, Logger: zap.New(core),
			})
			ctx := configured(t, engine.Config{Rules: rules}, nil, turns(10)...)
			for len(ctx.Conversation()) < c.messages {
				if err := ctx.Inject(user("msg x")); err != nil {
					t.Fatal(err)
				}
			}
			err := tryAsk(t, ctx)
			got := ""
			var exit *engine.ExitError
			if errors.As(err, &exit) {
				got = exit.Reason.String()
			} else if err != nil {
				t.Fatal(err)
			}
			if got != c.exit || len(ctx.Conversation()) != c.left {
				t.Errorf("got %q with %d left", got, len(ctx.Conversation()))
			}
			failed := c.exit != "interceptor_halt: enough" && c.exit != "budget_exhausted" && name[:4] != "does" && !strings.HasSuffix(name, "too much")
			if (logs.Len() == 1) != failed {
				t.Errorf("logged %v", logs.All())
			}
		})
	}
}

func TestCancelledCompactionsEndTheRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := &counted{cut: func([]protocol.Message) (engine.Cut, error) {
		cancel()
		return engine.Cut{}, ctx.Err()
	}}
	c := configured(t, engine.Config{Rules: compact.Rule(compact.Config{Strategy: s, Messages: 1})}, nil, turns(5)...)
	if err := c.Run(ctx, &engine.Infer{Call: noAnswer}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestFlushComesFirst(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{})
	extract := func(fail error) *engine.Flush {
		return &engine.Flush{Store: store, Scope: protocol.GlobalScope(), Extract: func(c *engine.Context) (map[string]json.RawMessage, error) {
			raw, err := protocol.Marshal(shape(c.Messages()))
			return map[string]json.RawMessage{"all": raw}, errors.Join(err, fail)
		}}
	}
	rules := func(flush engine.Op) []engine.Rule {
		return compact.Rule(compact.Config{Strategy: compact.SlidingWindow(2), Messages: 2, Flush: flush})
	}
	c := configured(t, engine.Config{Rules: rules(extract(nil))}, nil, turns(3)...)
	ask(t, c)
	wantShape(t, c, "msg 1|msg 2")
	if v, err := store.Read(t.Context(), protocol.GlobalScope(), "all"); string(v) != `"msg 0|msg 1|msg 2"` || err != nil {
		t.Errorf("saved %s, %v", v, err)
	}
	c = configured(t, engine.Config{Rules: rules(extract(errors.New("no")))}, nil, turns(3)...)
	ask(t, c)
	wantShape(t, c, "msg 0|msg 1|msg 2")
}
