package engine_test

import (
	"context"
	"testing"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestAnAskCountsMoreThanAWaiver(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do            func(*engine.ToolCall)
		asked, waived bool
	}{
		"nothing": {func(*engine.ToolCall) {}, false, false},
		"ask":     {func(o *engine.ToolCall) { o.Ask(protocol.PolicyPredicate("a")); o.Ask(protocol.PolicyPredicate("b")) }, true, false},
		"waive":   {func(o *engine.ToolCall) { o.Waive() }, false, true},
		"both":    {func(o *engine.ToolCall) { o.Ask(protocol.PolicyPredicate("a")); o.Waive() }, true, false},
	} {
		o := &engine.ToolCall{}
		test.do(o)
		reason, asked, waived := o.Approval()
		if asked != test.asked || waived != test.waived || asked && reason.Detail() != "a" {
			t.Errorf("%s: got %v, %v, %v", name, reason, asked, waived)
		}
	}
}

func TestRulesChangeTheContextOfACall(t *testing.T) {
	t.Parallel()
	type key struct{}
	add := func(s string) func(context.Context) context.Context {
		return func(ctx context.Context) context.Context {
			had, _ := ctx.Value(key{}).(string)
			return context.WithValue(ctx, key{}, had+s)
		}
	}
	o := &engine.ToolCall{}
	if o.Context(t.Context()) != t.Context() {
		t.Error("it is another one")
	}
	o.With(add("a"))
	o.With(add("b"))
	if got := o.Context(t.Context()).Value(key{}); got != "ab" {
		t.Errorf("got %v", got)
	}
}

func TestSetPolicy(t *testing.T) {
	t.Parallel()
	c := with(t, user("a"), calls("1"), result("1"), user("b"))
	if err := c.InjectSystem("b"); err != nil {
		t.Fatal(err)
	}
	is := func(text string) func(protocol.Message) bool {
		return func(m protocol.Message) bool { return m.Text() == text }
	}
	if err := c.SetPolicy(protocol.PolicyPinned, is("result 1")); err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context(), &engine.Compaction{Strategy: strategy(func(all []protocol.Message) engine.Cut {
		return engine.Cut{Keep: make([]bool, len(all))}
	})}); err != nil {
		t.Fatal(err)
	}
	wantShape(t, c, "b|call 1|result 1")
	kept := with(t, user("a"))
	kept.Watch(noInject{})
	if err := kept.SetPolicy(protocol.PolicyPinned, is("a")); err == nil || kept.Messages()[0].Pinned() {
		t.Errorf("got %v", err)
	}
}

type noInject struct{ protocol.NopWatcher }

func (noInject) OnInject(protocol.Message, protocol.Position) error { return context.Canceled }
