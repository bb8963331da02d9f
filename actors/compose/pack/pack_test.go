package pack_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/actors/compose/pack"
)

func TestItemsAreRenderedByRank(t *testing.T) {
	t.Parallel()
	p := pack.Plan([]pack.Item{item("c", "third", 2), item("a", "first", 0), item("b", "second", 1)}, pack.Config{})
	wantText(t, p, "first\nsecond\nthird")
	wantLeft(t, p, "")
	if want := len("first\nsecond\nthird"); p.TotalChars != want || p.OmittedLen() != 0 {
		t.Errorf("got %d chars, %d omitted", p.TotalChars, p.OmittedLen())
	}
}

func TestRanksAreStableAndTheScoreOrdersNothing(t *testing.T) {
	t.Parallel()
	p := pack.Plan([]pack.Item{
		item("z", "z", 1), item("a", "a", 0).WithScore(0.1), item("b", "b", 0).WithScore(99), item("y", "y", -5),
	}, pack.Config{})
	wantText(t, p, "y\na\nb\nz")
}

func TestTooLongIsOverBudget(t *testing.T) {
	t.Parallel()
	p := pack.Plan([]pack.Item{item("a", "too long", 0)}, pack.Config{MaxChars: 3})
	wantText(t, p, "")
	wantLeft(t, p, "a:OverBudget ")
}

func TestMaxItemsLeavesOutTheSecond(t *testing.T) {
	t.Parallel()
	p := pack.Plan([]pack.Item{item("a", "x", 0), item("b", "y", 1)}, pack.Config{MaxItems: 1})
	wantText(t, p, "x")
	wantLeft(t, p, "b:MaxItems ")
}

func TestMaxItemsIsLookedAtBeforeTheSize(t *testing.T) {
	t.Parallel()
	p := pack.Plan([]pack.Item{item("a", "x", 0), item("b", strings.Repeat("y", 100), 1)}, pack.Config{MaxItems: 1, MaxChars: 10})
	wantLeft(t, p, "b:MaxItems ")
	p = pack.Plan([]pack.Item{item("b", strings.Repeat("y", 100), 0), item("a", "x", 1), item("c", "z", 2)}, pack.Config{MaxItems: 1, MaxChars: 10})
	wantLeft(t, p, "b:OverBudget c:MaxItems ")
}

func TestSeparatorsAreCounted(t *testing.T) {
	t.Parallel()
	items := []pack.Item{item("a", "alpha", 0), item("b", "bravo", 1)}
	whole := "alpha | bravo"
	p := pack.Plan(items, pack.Config{MaxChars: len(whole), Separator: new(" | ")})
	wantText(t, p, whole)
	if p.TotalChars != len(whole) {
		t.Errorf("got %d", p.TotalChars)
	}
	p = pack.Plan(items, pack.Config{MaxChars: len(whole) - 1, Separator: new(" | ")})
	wantText(t, p, "alpha")
	wantLeft(t, p, "b:OverBudget ")
	p = pack.Plan(items, pack.Config{MaxChars: 10, Separator: new("")})
	wantText(t, p, "alphabravo")
}

func TestReserveIsKeptFree(t *testing.T) {
	t.Parallel()
	items := []pack.Item{item("a", "alpha", 0)}
	wantText(t, pack.Plan(items, pack.Config{MaxChars: 10, ReserveChars: 5}), "alpha")
	p := pack.Plan(items, pack.Config{MaxChars: 4, ReserveChars: 40})
	wantText(t, p, "")
	wantLeft(t, p, "a:OverBudget ")
	if got := (pack.Config{MaxChars: 4, ReserveChars: 40}).Budget(); got != 0 {
		t.Errorf("got a budget of %d", got)
	}
}

func TestKindsAreMixedByRankAndCountTogether(t *testing.T) {
	t.Parallel()
	items := []pack.Item{
		pack.NewItem(pack.Resource, "r", "resource").WithRank(2), pack.NewItem(pack.ToolResult, "t", "tool").WithRank(0),
		pack.NewItem(pack.Memory, "m", "memory").WithRank(1),
	}
	wantText(t, pack.Plan(items, pack.Config{}), "tool\nmemory\nresource")
	p := pack.Plan(items, pack.Config{MaxItems: 2})
	wantText(t, p, "tool\nmemory")
	wantLeft(t, p, "r:MaxItems ")
}

func TestAnItemThatDoesNotFitStopsNoLaterOne(t *testing.T) {
	t.Parallel()
	p := pack.Plan([]pack.Item{item("a", "aaaa", 0), item("b", "bbbbbbbb", 1), item("c", "cc", 2)}, pack.Config{MaxChars: 8})
	wantText(t, p, "aaaa\ncc")
	wantLeft(t, p, "b:OverBudget ")
}

func TestCharactersAreUnicodeAndTheGreaterCountCounts(t *testing.T) {
	t.Parallel()
	p := pack.Plan([]pack.Item{item("a", "äöü", 0)}, pack.Config{MaxChars: 3})
	wantText(t, p, "äöü")
	wantLeft(t, pack.Plan([]pack.Item{item("a", "abc", 0).WithEstimate(4)}, pack.Config{MaxChars: 3}), "a:OverBudget ")
	wantText(t, pack.Plan([]pack.Item{item("a", "abc", 0).WithEstimate(1)}, pack.Config{MaxChars: 3}), "abc")
	wantLeft(t, pack.Plan([]pack.Item{item("a", "abc", 0).WithEstimate(-9)}, pack.Config{MaxChars: 2}), "a:OverBudget ")
}

func TestHugeEstimatesDoNotOverflow(t *testing.T) {
	t.Parallel()
	p := pack.Plan([]pack.Item{
		item("a", "x", 0).WithEstimate(math.MaxInt), item("b", "y", 1).WithEstimate(math.MaxInt), item("c", "z", 2),
	}, pack.Config{MaxChars: math.MaxInt, MaxItems: math.MaxInt})
	wantText(t, p, "x")
	wantLeft(t, p, "b:OverBudget c:OverBudget ")
	p = pack.Plan([]pack.Item{item("a", "x", math.MaxInt), item("b", "y", math.MinInt)}, pack.Config{})
	wantText(t, p, "y\nx")
}

func TestScoresThatAreNoNumberDoNoHarm(t *testing.T) {
	t.Parallel()
	items := []pack.Item{item("b", "b", 1).WithScore(math.NaN()), item("a", "a", 0).WithScore(math.Inf(1)), item("c", "c", 1).WithScore(math.Inf(-1))}
	p := pack.Plan(items, pack.Config{MaxItems: 2})
	wantText(t, p, "a\nb")
	if got := encode(t, p); !strings.Contains(got, `"score":null`) {
		t.Errorf("got %s", got)
	}
}

func TestDefaultsAndHowToSayNone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cfg  pack.Config
		want string
	}{
		"zero":          {pack.Config{}, `{"max_chars":4000,"max_items":16,"reserve_chars":0,"separator":"\n"}`},
		"none at all":   {pack.Config{MaxChars: -1, MaxItems: -7, ReserveChars: -3}, `{"max_chars":0,"max_items":0,"reserve_chars":0,"separator":"\n"}`},
		"no separator":  {pack.Config{Separator: new("")}, `{"max_chars":4000,"max_items":16,"reserve_chars":0,"separator":""}`},
		"what was said": {pack.Config{MaxChars: 5, MaxItems: 6, ReserveChars: 7}, `{"max_chars":5,"max_items":6,"reserve_chars":7,"separator":"\n"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw := encode(t, test.cfg)
			if raw != test.want {
				t.Errorf("got %s, want %s", raw, test.want)
			}
			var back pack.Config
			if err := json.Unmarshal([]byte(raw), &back); err != nil || encode(t, back) != raw {
				t.Errorf("read back as %s, %v", encode(t, back), err)
			}
		})
	}
	var absent pack.Config
	if err := json.Unmarshal([]byte(`{}`), &absent); err != nil || absent.MaxChars != 0 || absent.Budget() != pack.DefaultMaxChars {
		t.Errorf("got %+v, %v", absent, err)
	}
	items := []pack.Item{item("a", "x", 0), item("b", "", 1)}
	wantLeft(t, pack.Plan(items, pack.Config{MaxItems: -1}), "a:MaxItems b:MaxItems ")
	wantLeft(t, pack.Plan(items, pack.Config{MaxChars: -1}), "a:OverBudget ")
	many := slices.Repeat([]pack.Item{item("a", "x", 0)}, 20)
	if p := pack.Plan(many, pack.Config{}); len(p.Selected) != pack.DefaultMaxItems || p.OmittedLen() != 4 {
		t.Errorf("selected %d, omitted %d", len(p.Selected), p.OmittedLen())
	}
}

func TestNoItems(t *testing.T) {
	t.Parallel()
	for _, items := range [][]pack.Item{nil, {}} {
		p := pack.Plan(items, pack.Config{})
		wantText(t, p, "")
		want := `{"config":{"max_chars":4000,"max_items":16,"reserve_chars":0,"separator":"\n"},"selected":[],"omitted":[],"total_estimated_chars":0}`
		if got := encode(t, p); got != want {
			t.Errorf("got %s", got)
		}
	}
}

// reference is the rule in its plainest words.
func reference(items []pack.Item, budget, most int, separator string) (text, omitted string) {
	order := slices.Clone(items)
	slices.SortStableFunc(order, func(a, b pack.Item) int {
		switch {
		case a.Rank < b.Rank:
			return -1
		case a.Rank > b.Rank:
			return 1
		}
		return 0
	})
	used, count := 0, 0
	for _, i := range order {
		size := max(i.EstimatedChars, utf8.RuneCountInString(i.Text()))
		if count > 0 {
			size += utf8.RuneCountInString(separator)
		}
		switch {
		case count >= most:
			omitted += i.SourceID + ":MaxItems "
		case used+size > budget:
			omitted += i.SourceID + ":OverBudget "
		default:
			if count > 0 {
				text += separator
			}
			text += i.Text()
			used += size
			count++
		}
	}
	return text, omitted
}

func TestPlanIsTheRuleOfTheReference(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		items := make([]pack.Item, r.IntN(40))
		for n := range items {
			items[n] = item(string(rune('a'+n%26))+string(rune('0'+n/26)), strings.Repeat("ä", r.IntN(12)), r.IntN(6)-2)
			if r.IntN(4) == 0 {
				items[n] = items[n].WithEstimate(r.IntN(30))
			}
		}
		budget, most, separator := 1+r.IntN(80), 1+r.IntN(12), strings.Repeat("-", r.IntN(4))
		p := pack.Plan(items, pack.Config{MaxChars: budget, MaxItems: most, Separator: &separator})
		text, omitted := reference(items, budget, most, separator)
		wantText(t, p, text)
		wantLeft(t, p, omitted)
		if p.TotalChars > budget || len(p.Selected)+p.OmittedLen() != len(items) {
			t.Fatalf("%d chars of %d, %d selected and %d left out of %d", p.TotalChars, budget, len(p.Selected), p.OmittedLen(), len(items))
		}
	}
}
