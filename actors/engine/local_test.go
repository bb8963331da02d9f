package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestWhatARuleKeepsIsItsOwn(t *testing.T) {
	t.Parallel()
	type seen struct{ n int }
	type rule struct{ name string }
	a, b, c := &rule{"a"}, &rule{"b"}, engine.New(engine.Config{})
	engine.Local[seen](c, a).n++
	engine.Local[seen](c, a).n++
	if engine.Local[seen](c, a).n != 2 || engine.Local[seen](c, b).n != 0 || engine.Local[seen](engine.New(engine.Config{}), a).n != 0 {
		t.Error("it is shared")
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	c := with(t, user("a"), calls("1"), result("1"), user("b"), protocol.PinnedMessage(protocol.RoleUser, protocol.TextContent("c")))
	if err := c.InjectSystem("b"); err != nil {
		t.Fatal(err)
	}
	is := func(texts ...string) func(protocol.Message) bool {
		return func(m protocol.Message) bool {
			return strings.Contains(strings.Join(texts, "|"), m.Text()) && m.Text() != ""
		}
	}
	if n, err := c.Remove(is("b", "c", "result 1")); n != 2 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	wantShape(t, c, "b|a|call 1|result 1")
	if n, err := c.Remove(func(protocol.Message) bool { return true }); n != 3 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	wantShape(t, c, "b")
	kept := with(t, user("a"))
	kept.Watch(keeps{})
	if n, err := kept.Remove(is("a")); n != 0 || err == nil {
		t.Errorf("removed %d, %v", n, err)
	}
	wantShape(t, kept, "a")
}

type keeps struct{ protocol.NopWatcher }

func (keeps) OnRemove(int) error { return errors.New("no") }

// The rules behind an answer with calls see it before its results: what they inject waits, and what they compact does not.
func TestNothingComesBehindAnAnswerWithCalls(t *testing.T) {
	t.Parallel()
	c := with(t, user("hi"))
	if err := c.AppendResponse(protocol.InferResponse{ToolCalls: []protocol.ToolCall{{ID: "1", Name: "t", Input: []byte(`{}`)}}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Inject(user("remember")); err != nil {
		t.Fatal(err)
	}
	all := strategy(func(all []protocol.Message) engine.Cut { return engine.Cut{Keep: make([]bool, len(all))} })
	if err := c.Run(t.Context(), &engine.Compaction{Strategy: all}); err != nil {
		t.Fatal(err)
	}
	wantShape(t, c, "hi|call 1")
	if err := c.CloseCalls(result("1")); err != nil {
		t.Fatal(err)
	}
	wantShape(t, c, "hi|call 1|result 1|remember")
}

// A summary takes the place of the pinned ones that were there from the same source, and of no other pinned message.
func TestASummaryReplacesEarlierOnes(t *testing.T) {
	t.Parallel()
	summary := func(text, source string) protocol.Message {
		m := protocol.PinnedMessage(protocol.RoleAssistant, protocol.TextContent(text))
		m.Meta.Source = &source
		return m
	}
	for want, source := range map[string]string{"new|b|other": "summary:a", "new|old|other": "summary:c"} {
		c := with(t, user("a"), summary("old", "summary:a"), user("b"), summary("other", "summary:b"))
		cut := strategy(func([]protocol.Message) engine.Cut {
			m := summary("new", source)
			return engine.Cut{Keep: []bool{false, false, source == "summary:a", false}, Summary: &m}
		})
		if err := c.Run(t.Context(), &engine.Compaction{Strategy: cut}); err != nil {
			t.Fatal(err)
		}
		wantShape(t, c, want)
	}
}
