package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// trail is what happened, in order.
type trail []string

func (t *trail) op(name string) engine.Op {
	return engine.OpFunc(name, func(context.Context, *engine.Context) error {
		*t = append(*t, name)
		return nil
	})
}

func (t *trail) want(tb testing.TB, want ...string) {
	tb.Helper()
	if !slices.Equal(*t, want) {
		tb.Errorf("got %v, want %v", *t, want)
	}
	*t = nil
}

func TestD3Fact8RulesFireAroundAnOp(t *testing.T) {
	t.Parallel()
	var log trail
	holds := false
	c := engine.New(engine.Config{Rules: []engine.Rule{
		engine.After("a", "after a", 0, log.op("after a")),
		engine.Before("a", "before a", 0, log.op("before a")),
		engine.When("when", 0, func(*engine.Context) bool { return holds }, log.op("when")),
		engine.BeforeAny("before any", 5, log.op("before any")),
		engine.AfterAny("after any", -5, log.op("after any")),
	}})
	run := func(name string) error { return c.Run(t.Context(), log.op(name)) }
	if err := run("a"); err != nil {
		t.Fatal(err)
	}
	log.want(t, "before any", "before a", "a", "after a", "after any")
	holds = true
	if err := run("b"); err != nil {
		t.Fatal(err)
	}
	log.want(t, "before any", "when", "b", "after any")
	broken := errors.New("broken")
	c.AddRule(engine.Before("a", "breaks", 9, engine.OpFunc("x", func(context.Context, *engine.Context) error { return broken })))
	if err := run("a"); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	log.want(t) // nothing, also not the op
}

func TestRulesOfOnePriorityFireInTheirOrder(t *testing.T) {
	t.Parallel()
	var log trail
	c := engine.New(engine.Config{})
	for _, r := range []struct {
		name     string
		priority int
	}{{"1", 0}, {"2", 7}, {"3", 0}, {"4", 7}, {"5", -1}} {
		c.AddRule(engine.BeforeAny(r.name, r.priority, log.op(r.name)))
	}
	if err := c.Run(t.Context(), log.op("op")); err != nil {
		t.Fatal(err)
	}
	log.want(t, "2", "4", "1", "3", "5", "op")
}

// All predicates are asked before the first rule with one runs.
func TestPredicatesAreAskedFirst(t *testing.T) {
	t.Parallel()
	var log trail
	n := 0
	isZero := func(*engine.Context) bool { return n == 0 }
	count := engine.OpFunc("count", func(context.Context, *engine.Context) error {
		log = append(log, "count")
		n++
		return nil
	})
	c := engine.New(engine.Config{Rules: []engine.Rule{engine.When("1", 0, isZero, count), engine.When("2", 0, isZero, count)}})
	if err := c.Run(t.Context(), log.op("op")); err != nil {
		t.Fatal(err)
	}
	log.want(t, "count", "count", "op")
}

func TestAfterRulesDoNotFireBehindAnOpThatFailed(t *testing.T) {
	t.Parallel()
	var log trail
	c := engine.New(engine.Config{Rules: []engine.Rule{engine.AfterAny("after", 0, log.op("after"))}})
	fails := engine.OpFunc("fails", func(context.Context, *engine.Context) error { return errors.New("no") })
	if err := c.Run(t.Context(), fails); err == nil {
		t.Error("no error")
	}
	log.want(t)
}

// The known defect of the specification's implementation: a rule that failed switched all rules off for good, so the loop lost
// its bounds.
func TestB2RulesFireAgainBehindOneThatFailed(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]func() error{
		"error": func() error { return errors.New("no") },
		"panic": func() error { panic("no") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log trail
			fail := true
			c := engine.New(engine.Config{Rules: []engine.Rule{engine.BeforeAny("r", 0, engine.OpFunc("r", func(context.Context, *engine.Context) error {
				log = append(log, "rule")
				if fail {
					return bad()
				}
				return nil
			}))}})
			for range 2 {
				func() {
					defer func() { _ = recover() }()
					if err := c.Run(t.Context(), log.op("op")); err == nil {
						t.Error("no error")
					}
				}()
				if c.Current() != nil {
					t.Errorf("%v is still under way", c.Current())
				}
			}
			fail = false
			if err := c.Run(t.Context(), log.op("op")); err != nil {
				t.Fatal(err)
			}
			log.want(t, "rule", "rule", "rule", "op")
		})
	}
}

func TestRulesFireNoRules(t *testing.T) {
	t.Parallel()
	var log trail
	c := engine.New(engine.Config{})
	c.AddRule(engine.BeforeAny("r", 0, engine.OpFunc("r", func(ctx context.Context, c *engine.Context) error {
		log = append(log, "rule around "+c.Current().Name())
		return c.Run(ctx, log.op("inner"))
	})))
	if err := c.Run(t.Context(), log.op("op")); err != nil {
		t.Fatal(err)
	}
	log.want(t, "rule around op", "inner", "op")
}

// A compaction that a rule does has the rules that name it, and these fire nothing more.
func TestRulesThatNameACompactionFireWhereARuleCompacts(t *testing.T) {
	t.Parallel()
	var log trail
	compaction := &engine.Compaction{Strategy: strategy(func([]protocol.Message) engine.Cut { return engine.Cut{} })}
	c := engine.New(engine.Config{Rules: []engine.Rule{
		engine.Before("op", "compacts", 0, engine.OpFunc("r", func(ctx context.Context, c *engine.Context) error { return c.Run(ctx, compaction) })),
		engine.Before(engine.OpCompact, "before", 0, engine.OpFunc("r", func(ctx context.Context, c *engine.Context) error {
			log = append(log, "before compaction")
			return c.Run(ctx, compaction)
		})),
		engine.After(engine.OpCompact, "after", 0, log.op("after compaction")),
		engine.BeforeAny("any", -1, log.op("any")),
	}})
	if err := c.Run(t.Context(), log.op("op")); err != nil {
		t.Fatal(err)
	}
	log.want(t, "before compaction", "after compaction", "any", "op")
}

func TestConditionalRule(t *testing.T) {
	t.Parallel()
	var log trail
	on := false
	c := engine.New(engine.Config{Rules: []engine.Rule{
		engine.Before("op", "r", 0, log.op("rule")).If(func(*engine.Context) bool { return on }),
	}})
	for range 2 {
		if err := c.Run(t.Context(), log.op("op")); err != nil {
			t.Fatal(err)
		}
		on = true
	}
	log.want(t, "op", "rule", "op")
}

// A rule may add rules; they do not fire around the op that is under way.
func TestRulesAddedByRules(t *testing.T) {
	t.Parallel()
	var log trail
	c := engine.New(engine.Config{})
	c.AddRule(engine.BeforeAny("adds", 0, engine.OpFunc("adds", func(_ context.Context, c *engine.Context) error {
		c.AddRule(engine.BeforeAny("added", 10, log.op("added")))
		return nil
	})))
	for range 2 {
		if err := c.Run(t.Context(), log.op("op")); err != nil {
			t.Fatal(err)
		}
	}
	log.want(t, "op", "added", "op")
}

type strategy func([]protocol.Message) engine.Cut

func (strategy) Name() string { return "test" }

func (s strategy) Cut(_ context.Context, _ *engine.Context, all []protocol.Message) (engine.Cut, error) {
	return s(all), nil
}
