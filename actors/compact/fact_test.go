package compact_test

import (
	"slices"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/compact"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestD4Fact1SlidingWindow(t *testing.T) {
	t.Parallel()
	c := with(t, nil, turns(10)...)
	cut(t, c, compact.SlidingWindow(3))
	wantShape(t, c, "msg 7|msg 8|msg 9")
	c = with(t, nil, slices.Concat([]protocol.Message{pinned("a")}, turns(10)[:5], []protocol.Message{pinned("b")}, turns(10)[5:])...)
	cut(t, c, compact.SlidingWindow(3))
	wantShape(t, c, "a|b|msg 7|msg 8|msg 9")
}

func mixed(names ...string) (all []protocol.Message) {
	policies := map[string]protocol.CompactionPolicy{
		"d": protocol.PolicyDiscardWhenDone, "c": protocol.PolicyCompressFirst, "n": protocol.PolicyNormal, "p": protocol.PolicyPinned,
	}
	for _, name := range names {
		all = append(all, as(policies[name[:1]], user(name)))
	}
	return all
}

func TestD4Fact2PolicyTrim(t *testing.T) {
	t.Parallel()
	c := with(t, nil, mixed("discard-a", "discard-b", "compress-a", "normal-a", "normal-b", "pinned")...)
	cut(t, c, compact.PolicyTrim(3))
	wantShape(t, c, "normal-a|normal-b|pinned")
}

func TestD4Fact3PolicyTrimInOrder(t *testing.T) {
	t.Parallel()
	c := with(t, nil, mixed("discard-a", "compress-a", "compress-b", "normal-a", "normal-b")...)
	cut(t, c, compact.PolicyTrim(2))
	wantShape(t, c, "normal-a|normal-b")
}

func TestD4Fact4PolicyTrimKeepsPinned(t *testing.T) {
	t.Parallel()
	c := with(t, nil, mixed("pinned-a", "normal-a", "normal-b", "pinned-b", "normal-c")...)
	cut(t, c, compact.PolicyTrim(0))
	wantShape(t, c, "pinned-a|pinned-b")
}

func TestD4Fact5RuleFiresAboveItsNumber(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{5: "msg 3|msg 4|msg 5|msg 6|msg 7", 50: "msg 0|msg 1|msg 2|msg 3|msg 4|msg 5|msg 6|msg 7"} {
		c := configured(t, engine.Config{Rules: compact.Rule(compact.Config{Strategy: compact.SlidingWindow(n), Messages: n})}, nil, turns(8)...)
		ask(t, c)
		wantShape(t, c, want)
	}
}

func TestD4Fact6Summarize(t *testing.T) {
	t.Parallel()
	m := &teller{says: []string{"They said much."}}
	c := with(t, m, turns(9)...)
	s := compact.SummarizeAndReplace(compact.SummaryConfig{Model: "small", KeepLast: 2})
	cut(t, c, s)
	wantShape(t, c, "msg 0|They said much.|msg 7|msg 8")
	sum := c.Messages()[1]
	if sum.Role != protocol.RoleAssistant || !sum.Pinned() || *sum.Meta.Source != "summary:"+s.Name() {
		t.Errorf("got %+v", sum)
	}
	if req := m.asks[0]; *req.MaxTokens != 2048 || req.Model != "small" || req.System != compact.DefaultSummaryPrompt {
		t.Errorf("asked %+v", req)
	}
	for _, empty := range []string{"", " \n"} {
		c = with(t, &teller{says: []string{empty}}, turns(9)...)
		err := c.Run(t.Context(), &engine.Compaction{Strategy: s})
		wantHalt(t, err, "summarization produced empty response")
		wantShape(t, c, shape(turns(9)))
	}
}

func TestD4Fact7Fences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"```json\n{\"a\": 1}\n```": `{"a": 1}`, "```\n{\"a\": 1}\n```": `{"a": 1}`, `{"a": 1}`: `{"a": 1}`, "plain": "plain",
	} {
		if got := compact.StripFences(text); got != want {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

func TestD4Fact8Compactor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		all  []protocol.Message
		want string
	}{
		"two":            {turns(2), "msg 0|msg 1"},
		"none":           {nil, ""},
		"pinned and two": {slices.Concat(mixed("pinned"), turns(2)), "pinned|msg 0|msg 1"},
		"three":          {turns(3), "msg 0|msg 2"},
		"eight":          {turns(8), "msg 0|msg 5|msg 6|msg 7"},
		"pinned stays":   {slices.Concat(turns(4), mixed("pinned"), turns(8)[4:]), "msg 0|pinned|msg 5|msg 6|msg 7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := with(t, nil, c.all...)
			cut(t, ctx, compact.Halve())
			wantShape(t, ctx, c.want)
		})
	}
}

func TestD4Fact9Scores(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, c := range map[string]struct{ got, want float64 }{
		"identical":          {compact.Jaccard("a b c", "c b a"), 1},
		"disjoint":           {compact.Jaccard("a b", "c d"), 0},
		"empty":              {compact.Jaccard("", ""), 0},
		"half":               {compact.Jaccard("a b c", "b c d"), 0.5},
		"new":                {compact.Recency(0, day), 1},
		"one half-life":      {compact.Recency(day, day), 0.5},
		"two half-lives":     {compact.Recency(2*day, day), 0.25},
		"no half-life":       {compact.Recency(day, 0), 0.5},
		"negative half-life": {compact.Recency(0, -day), 0.5},
		"future":             {compact.Recency(-day, day), 1},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %v, want %v", name, c.got, c.want)
		}
	}
	for _, c := range []struct{ in, want []float64 }{
		{[]float64{3, 3, 3}, []float64{0.5, 0.5, 0.5}}, {[]float64{7}, []float64{0.5}}, {nil, []float64{}}, {[]float64{1, 2, 3}, []float64{0, 0.5, 1}},
	} {
		if got := compact.MinMax(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v", c.in, got)
		}
	}
}
