package compact_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compact"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
)

// Calls and results are one, the user's words come first, and the last message is one that the model has not seen.
func TestStrategies(t *testing.T) {
	t.Parallel()
	work := []protocol.Message{
		user("task"), calls("1"), result("1"), calls("2", "3"), result("2"), result("3"), calls("4"), as(protocol.PolicyDiscardWhenDone, result("4")),
	}
	chat := []protocol.Message{user("a"), assistant("b"), user("c"), assistant("d"), user("e")}
	memory := as(protocol.PolicyCompressFirst, protocol.NewMessage(protocol.RoleSystem, protocol.TextContent("memory")))
	for name, c := range map[string]struct {
		all  []protocol.Message
		s    engine.Strategy
		want string
	}{
		"window of whole calls":        {work, compact.SlidingWindow(5), "task|call 2call 3|result 2|result 3|call 4|result 4"},
		"window that cuts through":     {work, compact.SlidingWindow(4), "task|call 4|result 4"},
		"window smaller than its last": {work, compact.SlidingWindow(1), "task|call 4|result 4"},
		"window of nothing":            {work, compact.SlidingWindow(0), "task"},
		"window before the model":      {chat, compact.SlidingWindow(2), "c|d|e"},
		"window behind memory":         {append([]protocol.Message{memory}, chat...), compact.SlidingWindow(1), "e"},
		"trim of calls":                {work, compact.PolicyTrim(6), "task|call 2call 3|result 2|result 3|call 4|result 4"},
		"trim to the last":             {work, compact.PolicyTrim(1), "task|call 4|result 4"},
		"trim to nothing":              {work, compact.PolicyTrim(0), "task"},
		"trim leaves":                  {work, compact.PolicyTrim(8), shape(work)},
		"budget":                       {work, compact.TokenBudget(30), "task|call 4|result 4"},
		"budget leaves":                {work, compact.TokenBudget(1000), shape(work)},
		"budget drops memory first":    {append([]protocol.Message{memory}, chat...), compact.TokenBudget(24), "a|b|c|d|e"},
		"tiered":                       {append([]protocol.Message{memory}, work...), compact.Tiered(2), "task|call 4|result 4"},
		"tiered by default":            {append(mixed("discard"), turns(13)...), compact.Tiered(0), "msg 3|msg 4|msg 5|msg 6|msg 7|msg 8|msg 9|msg 10|msg 11|msg 12"},
		"tiered, its last is marked":   {append(turns(3), mixed("discard")...), compact.Tiered(1), "msg 2|discard"},
		"halve":                        {work, compact.Halve(), "task|call 4|result 4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := with(t, nil, c.all...)
			if err := ctx.InjectSystem("s"); err != nil {
				t.Fatal(err)
			}
			cut(t, ctx, c.s)
			wantShape(t, ctx, "s|"+c.want)
		})
	}
}

// The tools and the system prompt are in the budget too.
func TestTokenBudgetCountsAll(t *testing.T) {
	t.Parallel()
	c := with(t, nil, turns(10)...)
	if err := c.InjectSystem(strings.Repeat("word ", 40)); err != nil {
		t.Fatal(err)
	}
	c.Params.Tools = []protocol.ToolSchema{{Name: "tool", Description: strings.Repeat("word ", 40)}}
	all := c.Tokens()
	cut(t, c, compact.TokenBudget(all-10))
	if c.Tokens() > all-10 || len(c.Conversation()) != 8 {
		t.Errorf("%d tokens of %d: %s", c.Tokens(), all, shape(c.Conversation()))
	}
}

func TestSalience(t *testing.T) {
	t.Parallel()
	worth := func(text string, salience float64) protocol.Message {
		m := user(text)
		m.Meta.Salience = &salience
		return m
	}
	for name, c := range map[string]struct {
		cfg  compact.SalienceConfig
		all  []protocol.Message
		want string
	}{
		"what matters": {
			compact.SalienceConfig{Tokens: 17},
			[]protocol.Message{worth("one", 0.1), worth("two", 0.9), worth("three", 0.8), user("last")},
			"two|three|last",
		},
		"what is new": {
			compact.SalienceConfig{Tokens: 18},
			[]protocol.Message{worth("red fox", 0.9), worth("red fox", 0.9), worth("owl", 0.6), user("last")},
			"red fox|owl|last",
		},
		"repetition does not count": {
			compact.SalienceConfig{Tokens: 18, Lambda: new(1.0)},
			[]protocol.Message{worth("red fox", 0.9), worth("red fox", 0.9), worth("owl", 0.6), user("last")},
			"red fox|red fox|last",
		},
		"too large is left out": {
			compact.SalienceConfig{Tokens: 18},
			[]protocol.Message{worth(strings.Repeat("long ", 40), 1), worth("two", 0.2), user("last")},
			"two|last",
		},
		"the newer of equals": {compact.SalienceConfig{Tokens: 9}, []protocol.Message{user("x"), user("y"), user("z")}, "y|z"},
		"pinned take all":     {compact.SalienceConfig{Tokens: 5}, append(mixed("pinned one", "pinned two"), turns(3)...), "pinned one|pinned two|msg 2"},
		"room for all":        {compact.SalienceConfig{}, turns(5), "msg 0|msg 1|msg 2|msg 3|msg 4"},
		"a score of one's own": {
			compact.SalienceConfig{Tokens: 9, Score: func(m protocol.Message) float64 { return float64(len(m.Text())) / 10 }},
			[]protocol.Message{user("abc"), user("a"), user("z")},
			"abc|z",
		},
		"whole calls": {
			compact.SalienceConfig{Tokens: 20}, []protocol.Message{user("a"), calls("1"), result("1"), worth("b", 0.9), user("z")}, "a|b|z",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := with(t, nil, c.all...)
			cut(t, ctx, compact.Salience(c.cfg))
			wantShape(t, ctx, c.want)
		})
	}
}

func TestNothingToDoIsNoCompaction(t *testing.T) {
	t.Parallel()
	m := &teller{says: []string{"x"}}
	for _, s := range []engine.Strategy{
		compact.SlidingWindow(3), compact.PolicyTrim(3), compact.TokenBudget(100), compact.Halve(), compact.Tiered(3),
		compact.Salience(compact.SalienceConfig{}), compact.SummarizeAndReplace(compact.SummaryConfig{}),
		compact.Extract[compact.CognitiveState](compact.ExtractConfig{}),
	} {
		for _, all := range [][]protocol.Message{nil, mixed("pinned", "pinned"), turns(2)} {
			c := with(t, m, all...)
			cut(t, c, s)
			if len(c.Snapshot().Compactions) != 0 || !slices.EqualFunc(c.Messages(), all, func(a, b protocol.Message) bool { return a.Text() == b.Text() }) {
				t.Errorf("%s: %s", s.Name(), shape(c.Messages()))
			}
		}
	}
	if len(m.asks) > 0 {
		t.Errorf("asked %d times", len(m.asks))
	}
}
