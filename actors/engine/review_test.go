package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
)

func everything(protocol.Message) bool { return true }

// The results of calls that are under way will need the answer that asks for them.
func TestAnAnswerWhoseCallsAreOpenIsNotRemoved(t *testing.T) {
	t.Parallel()
	c := with(t, user("a"))
	if err := c.AppendResponse(protocol.InferResponse{ToolCalls: []protocol.ToolCall{{ID: "x", Name: "t", Input: []byte(`{}`)}}}); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Remove(everything); n != 1 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	if err := c.CloseCalls(result("x")); err != nil {
		t.Fatal(err)
	}
	wantShape(t, c, "call x|result x")
	if n, err := c.Remove(everything); n != 2 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
}

// What a flush, or the strategy, adds to the conversation stays in it, and what is there stays once.
func TestACompactionKeepsWhatIsAddedMeanwhile(t *testing.T) {
	t.Parallel()
	last := strategy(func(all []protocol.Message) engine.Cut {
		keep := make([]bool, len(all))
		keep[len(all)-1] = true
		return engine.Cut{Keep: keep}
	})
	flush := engine.OpFunc("flush", func(_ context.Context, c *engine.Context) error { return c.Inject(user("flushed")) })
	c := with(t, user("a"), user("b"), user("c"))
	if err := c.InjectSystem("s"); err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context(), &engine.Compaction{Strategy: last, Flush: flush}); err != nil {
		t.Fatal(err)
	}
	wantShape(t, c, "s|c|flushed")
	drop := engine.OpFunc("flush", func(_ context.Context, c *engine.Context) error {
		_, err := c.Remove(func(m protocol.Message) bool { return m.Text() == "a" })
		return err
	})
	c = with(t, user("a"), user("b"), user("c"))
	if err := c.Run(t.Context(), &engine.Compaction{Strategy: last, Flush: drop}); err == nil {
		t.Error("what was decided on is not there any more")
	}
	wantShape(t, c, "b|c")
}

func TestTheSystemPromptStaysAtTheFront(t *testing.T) {
	t.Parallel()
	c := with(t, user("a"))
	if err := c.InjectSystem("s"); err != nil {
		t.Fatal(err)
	}
	if err := c.InjectAt(user("b"), protocol.At(0)); err != nil {
		t.Fatal(err)
	}
	wantShape(t, c, "s|b|a")
	var beyond *protocol.OutOfBoundsError
	for _, i := range []int{-1, 4} {
		if err := c.InjectAt(user("x"), protocol.At(i)); !errors.As(err, &beyond) {
			t.Errorf("at %d: got %v", i, err)
		}
	}
}

func TestASnapshotTellsMemoryFromTheSystemPrompt(t *testing.T) {
	t.Parallel()
	m := protocol.NewMessage(protocol.RoleSystem, protocol.TextContent("likes tea"))
	m.Meta.Source = new(engine.SourceMemory + "drink")
	c := with(t, m, user("a"))
	if s := c.Snapshot(); s.HasSystem || s.Sections[engine.SectionSystem] != 0 {
		t.Errorf("got %+v", s)
	}
	if err := c.InjectSystem("s"); err != nil {
		t.Fatal(err)
	}
	if s := c.Snapshot(); !s.HasSystem || s.Sections[engine.SectionSystem] == 0 {
		t.Errorf("got %+v", s)
	}
}
