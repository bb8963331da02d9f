package compact_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compact"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
)

// said is what a model was shown.
func said(req protocol.InferRequest) string { return req.Messages[0].Text() }

// grow adds messages and compacts.
func grow(t testing.TB, c *engine.Context, s engine.Strategy, messages ...protocol.Message) {
	t.Helper()
	if err := c.Inject(messages...); err != nil {
		t.Fatal(err)
	}
	cut(t, c, s)
}

// The second summary is of what was said, not of the first, and takes its place.
func TestSummariesAreMadeAnew(t *testing.T) {
	t.Parallel()
	m := &teller{says: []string{"first sum", "second sum", "third sum"}}
	s := compact.SummarizeAndReplace(compact.SummaryConfig{KeepLast: 1, MaxInput: 60})
	c := with(t, m, user("task"), calls("1"), result("1"), user("apple"), user("last a"))
	cut(t, c, s)
	wantShape(t, c, "task|first sum|last a")
	grow(t, c, s, user("pear"), user("last b"))
	wantShape(t, c, "task|second sum|last b")
	for _, want := range []string{"(calls t with {})", "[result of t]\nresult 1", "[user]\napple", "[user]\nlast a", "[user]\npear"} {
		if !strings.Contains(said(m.asks[1]), want) {
			t.Errorf("no %q in %s", want, said(m.asks[1]))
		}
	}
	if strings.Contains(said(m.asks[1]), "first sum") || strings.Contains(said(m.asks[1]), "last b") {
		t.Errorf("asked %s", said(m.asks[1]))
	}
	// Beyond MaxInput the summary stands for what came before.
	grow(t, c, s, user(strings.Repeat("plum ", 30)), user("last c"))
	wantShape(t, c, "task|third sum|last c")
	third := said(m.asks[2])
	if !strings.HasPrefix(third, "What came before, summarized:\n\nsecond sum\n\nThe conversation:") || strings.Contains(third, "apple") ||
		!strings.Contains(third, "last b") || !strings.Contains(third, "plum") {
		t.Errorf("asked %s", third)
	}
	if meta := c.Messages()[1].Meta; meta.Version != 2 {
		t.Errorf("got %+v", meta)
	}
	if c.Metrics().Turns != 0 || c.Metrics().Cost.String() != "0.03" {
		t.Errorf("got %+v", c.Metrics())
	}
}

// A summary that was rejected leaves what is known of the one before.
func TestARejectedSummaryIsForgotten(t *testing.T) {
	t.Parallel()
	m := &teller{says: []string{"first sum", "rejected sum", "third sum"}}
	s := compact.SummarizeAndReplace(compact.SummaryConfig{KeepLast: 1, MaxInput: 1000})
	c := with(t, m, user("task"), user("apple"), user("last"))
	cut(t, c, s)
	if err := c.Inject(user("pear"), user("end")); err != nil {
		t.Fatal(err)
	}
	failing := engine.OpFunc("flush", func(context.Context, *engine.Context) error { return errors.New("no") })
	if err := c.Run(t.Context(), &engine.Compaction{Strategy: s, Flush: failing}); err == nil {
		t.Fatal("the flush did not fail")
	}
	wantShape(t, c, "task|first sum|last|pear|end")
	cut(t, c, s)
	wantShape(t, c, "task|third sum|end")
	if third := said(m.asks[2]); third != said(m.asks[1]) || !strings.Contains(third, "apple") || strings.Contains(third, "sum\n") {
		t.Errorf("asked %s", third)
	}
}

// A summary that this run did not make, from an earlier turn of the session for instance, is summed up with the rest.
func TestSummariesOfOthers(t *testing.T) {
	t.Parallel()
	old := as(protocol.PolicyPinned, assistant("old sum"))
	s := compact.SummarizeAndReplace(compact.SummaryConfig{KeepLast: 1})
	old.Meta.Source = new(engine.SourceSummary + s.Name())
	m := &teller{says: []string{"new sum"}}
	c := with(t, m, user("task"), old, user("apple"), user("last"))
	cut(t, c, s)
	wantShape(t, c, "task|new sum|last")
	if got := said(m.asks[0]); !strings.Contains(got, "old sum") || !strings.Contains(got, "apple") {
		t.Errorf("asked %s", got)
	}
}

// Where a summary stands at the beginning it is the user's, since providers want a conversation to begin with the user.
func TestASummaryAtTheBeginning(t *testing.T) {
	t.Parallel()
	m := &teller{says: []string{"sum a", "sum b"}}
	s := compact.SummarizeAndReplace(compact.SummaryConfig{KeepLast: 1, Prompt: "Be brief.", MaxTokens: 99})
	c := with(t, m, user(strings.Repeat("large ", 200)), assistant("b"), user("c"), assistant("d"))
	for _, want := range []string{"sum a|d", "sum b|f"} {
		cut(t, c, s)
		wantShape(t, c, want)
		if first := c.Messages()[0]; first.Role != protocol.RoleUser || !first.Pinned() {
			t.Errorf("got %+v", first)
		}
		if err := c.Inject(user("e"), assistant("f")); err != nil {
			t.Fatal(err)
		}
	}
	if m.asks[0].System != "Be brief." || *m.asks[0].MaxTokens != 99 {
		t.Errorf("asked %+v", m.asks[0])
	}
}

// What a model is shown to sum up is bounded, and no file is in it.
func TestWhatIsSummedUpIsBounded(t *testing.T) {
	t.Parallel()
	m := &teller{says: []string{"sum"}}
	s := compact.SummarizeAndReplace(compact.SummaryConfig{KeepLast: 1, MaxInput: 30_000})
	image := protocol.NewMessage(protocol.RoleUser, protocol.BlockContent(
		protocol.ImageBlock{Source: protocol.Base64Source("aGlkZGVu"), MediaType: "image/png"}, protocol.TextBlock{Text: "see"},
		protocol.ThinkingBlock{Thinking: "hidden"}))
	c := with(t, m, user("task"), user("oldest "+strings.Repeat("a", 100_000)), user(strings.Repeat("b", 100_000)+"end"), image, user("last"))
	cut(t, c, s)
	got := said(m.asks[0])
	if len(got) > 20_000 || strings.Contains(got, "oldest") || !strings.Contains(got, "without its first 1 messages") ||
		!strings.Contains(got, "bend") || !strings.Contains(got, "bytes are left out") || !strings.Contains(got, "(an image)\nsee") ||
		strings.Contains(got, "hidden") || strings.Contains(got, "aGlk") {
		t.Errorf("asked with %d bytes: %.200s", len(got), got)
	}
}

func TestAFailedSummaryChangesNothing(t *testing.T) {
	t.Parallel()
	m := &teller{fail: protocol.NewError(protocol.CodeUnavailable, "down")}
	c := with(t, m, turns(9)...)
	err := c.Run(t.Context(), &engine.Compaction{Strategy: compact.SummarizeAndReplace(compact.SummaryConfig{})})
	if protocol.CodeOf(err) != protocol.CodeUnavailable {
		t.Errorf("got %v", err)
	}
	wantShape(t, c, shape(turns(9)))
}
