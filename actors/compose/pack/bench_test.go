package pack_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/skelegent/skelegent-go/actors/compose/pack"
)

const many = 10_000

func shuffled(n int) []pack.Item {
	r := rand.New(rand.NewPCG(3, 4))
	items := make([]pack.Item, n)
	for i := range items {
		items[i] = item(fmt.Sprint(i), "some words of context that are about as long as a line of a file", r.IntN(n))
	}
	return items
}

// BenchmarkPlan has beside it what it takes to sort a copy of the same items.
func BenchmarkPlan(b *testing.B) {
	items := shuffled(many)
	sorted := slices.SortedStableFunc(slices.Values(items), byRank)
	tight := slices.Clone(items) // all fit alone, one fits, and a small one keeps the rest from being skipped
	for i := range tight {
		tight[i] = tight[i].WithEstimate(60)
	}
	tight[len(tight)-1] = item("small", "", many)
	for name, test := range map[string]struct {
		items []pack.Item
		cfg   pack.Config
	}{
		"shuffled": {items, pack.Config{}},
		"sorted":   {sorted, pack.Config{}},
		"all":      {items, pack.Config{MaxChars: 1 << 30, MaxItems: many}},
		"tight":    {tight, pack.Config{MaxChars: 100, MaxItems: many}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				pack.Plan(test.items, test.cfg)
			}
		})
	}
	b.Run("floor", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			slices.SortStableFunc(slices.Clone(items), byRank)
		}
	})
}

func byRank(a, b pack.Item) int { return cmp.Compare(a.Rank, b.Rank) }

// What is allocated follows what is selected. The race detector drops what is pooled, so there only items that are in order
// already are looked at.
func TestPlanAllocatesForWhatItSelects(t *testing.T) { //nolint:paralleltest // it counts what the process allocates
	few, lots := shuffled(100), shuffled(many)
	inOrder := slices.SortedStableFunc(slices.Values(lots), byRank)
	check := func(name string, items []pack.Item, most uint64) {
		t.Helper()
		pack.Plan(items, pack.Config{})
		if allocs := testing.AllocsPerRun(100, func() { pack.Plan(items, pack.Config{}) }); allocs > 12 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
		if bytes := bytesPerRun(100, func() { pack.Plan(items, pack.Config{}) }); bytes > most {
			t.Errorf("%s: %d bytes", name, bytes)
		}
	}
	const selected = 16 * 1024 // sixteen items, grown into
	check("in order", inOrder, selected)
	if underRace {
		return
	}
	check("few", few, selected)
	check("many", lots, selected)
}

// bytesPerRun is what f allocates, in the median.
func bytesPerRun(runs int, f func()) uint64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	all := make([]uint64, runs)
	var before, after runtime.MemStats
	for i := range all {
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		all[i] = after.TotalAlloc - before.TotalAlloc
	}
	slices.Sort(all)
	return all[runs/2]
}
