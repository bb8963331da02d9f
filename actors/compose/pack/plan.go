package pack

import (
	"cmp"
	"iter"
	"slices"
	"sync"
)

// Plan selects what fits of items, the lowest rank first and then in the order of items:
//
//   - once Config.MaxItems are selected the rest is left out as MaxItems, whatever its size;
//   - an item that has no room left, with the separator before it unless it is the first, is left out as OverBudget, and later
//     ones are still looked at.
//
// The Pack keeps items, which must not change meanwhile, and allocates for what is selected only.
func Plan(items []Item, cfg Config) *Pack {
	p := &Pack{Config: cfg, items: items}
	if items == nil {
		p.items = []Item{}
	}
	room := room{limits: cfg.limits()}
	if ordered(items) {
		for i := range items {
			if room.full() {
				break
			}
			if room.take(&items[i]) == "" {
				p.Selected = append(p.Selected, items[i])
			}
		}
		p.TotalChars = room.used
		return p
	}
	s := scratches.Get().(*scratch)
	defer s.release()
	for i := range s.candidates(items, &room) {
		if room.take(&items[i]) == "" {
			p.Selected = append(p.Selected, items[i])
		}
	}
	p.TotalChars = room.used
	return p
}

// room is what is left of the window.
type room struct {
	limits

	count, used int
}

// full reports whether nothing more is selected, whatever its size.
func (r *room) full() bool { return r.count >= r.items }

// left is how many characters the next item may have, negative if not even the separator fits.
func (r *room) left() int {
	if r.count == 0 {
		return r.chars
	}
	return r.chars - r.used - r.gap
}

// take selects the item, or says why it does not.
func (r *room) take(item *Item) Reason {
	size := item.Chars()
	switch {
	case item.unfit != "":
		return item.unfit
	case r.full():
		return ReasonMaxItems
	case size > r.left():
		return ReasonOverBudget
	}
	r.used = r.chars - r.left() + size
	r.count++
	return ""
}

func ordered(items []Item) bool {
	for i := 1; i < len(items); i++ {
		if items[i].Rank < items[i-1].Rank {
			return false
		}
	}
	return true
}

// scratch is the memory in which items are ordered, without moving them.
type scratch struct{ places []place }

// place is an item by its index.
type place struct{ rank, index int }

func (p place) before(o place) bool {
	return p.rank < o.rank || p.rank == o.rank && p.index < o.index
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// maxScratch is how many places are kept for the next plan.
const maxScratch = 1 << 16

func (s *scratch) release() {
	if cap(s.places) <= maxScratch {
		scratches.Put(s)
	}
}

// ordered gives out the indexes of all items in the order of a plan.
func (s *scratch) ordered(items []Item) iter.Seq[int] {
	s.places = slices.Grow(s.places[:0], len(items))
	for i := range items {
		s.places = append(s.places, place{items[i].Rank, i})
	}
	if !ordered(items) {
		slices.SortFunc(s.places, func(a, b place) int {
			return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.index, b.index))
		})
	}
	return func(yield func(int) bool) {
		for _, p := range s.places {
			if !yield(p.index) {
				return
			}
		}
	}
}

// candidates gives out the indexes of those items that may be selected in the order of a plan, until there is room for none
// of the rest. A few of many are to be found, so it keeps a heap and does not sort.
func (s *scratch) candidates(items []Item, r *room) iter.Seq[int] {
	heap := slices.Grow(s.places[:0], len(items))
	least := r.chars
	for i := range items {
		if size := items[i].Chars(); size <= r.chars && items[i].unfit == "" { // another one never fits
			heap = append(heap, place{items[i].Rank, i})
			least = min(least, size)
		}
	}
	s.places = heap
	for i := len(heap)/2 - 1; i >= 0; i-- {
		sink(heap, i)
	}
	return func(yield func(int) bool) {
		for len(heap) > 0 && !r.full() && least <= r.left() {
			next := heap[0].index
			last := len(heap) - 1
			heap[0], heap = heap[last], heap[:last]
			sink(heap, 0)
			if !yield(next) {
				return
			}
		}
	}
}

// sink puts the place at i below those that come before it.
func sink(heap []place, i int) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if right := child + 1; right < len(heap) && heap[right].before(heap[child]) {
			child = right
		}
		if !heap[child].before(heap[i]) {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}
