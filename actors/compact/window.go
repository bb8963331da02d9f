package compact

import (
	"slices"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
)

// SlidingWindow keeps the last n messages beside the pinned ones; none if n is not positive. Calls with their results that do not fit
// wholly go, but for the last.
func SlidingWindow(n int) engine.Strategy {
	return &chooser{"sliding_window", func(_ *engine.Context, _ []protocol.Message, list []unit, keep []bool) {
		keepLast(list, keep, n)
	}}
}

// keepLast sets keep of the last units that are not kept anyway, up to n messages.
func keepLast(list []unit, keep []bool, n int) {
	taken := 0
	for i, u := range slices.Backward(list) {
		if keep[i] {
			continue
		}
		if taken+u.size() > n && (taken > 0 || n <= 0) {
			return
		}
		keep[i] = true
		taken += u.size()
	}
}

// defaultTiered is how many messages Tiered keeps unless told otherwise.
const defaultTiered = 10

// Tiered drops what is marked to go first (discard_when_done, compress_first), and of the rest keeps the last n messages, ten if n
// is not positive, beside the pinned ones. The very last message stays also if it is marked: the model has not seen it.
func Tiered(n int) engine.Strategy {
	if n <= 0 {
		n = defaultTiered
	}
	return &chooser{"tiered", func(_ *engine.Context, _ []protocol.Message, list []unit, keep []bool) {
		var normal []unit
		var index []int
		for i, u := range list {
			if u.policy == protocol.PolicyNormal && !keep[i] {
				normal, index = append(normal, u), append(index, i)
			}
		}
		some := make([]bool, len(normal))
		keepLast(normal, some, n)
		for j, i := range index {
			keep[i] = some[j]
		}
		keepEnd(keep)
	}}
}

// keepEnd keeps the last unit.
func keepEnd(keep []bool) {
	if len(keep) > 0 {
		keep[len(keep)-1] = true
	}
}

// Halve keeps the first message and the last ones up to half of the tokens of all, one at least, beside the pinned ones. It leaves
// two and fewer alone.
func Halve() engine.Strategy {
	return &chooser{"halve", func(_ *engine.Context, _ []protocol.Message, list []unit, keep []bool) {
		var free []int
		half := 0
		for i, u := range list {
			if !keep[i] {
				free, half = append(free, i), half+u.tokens
			}
		}
		half /= 2
		if len(free) == 0 {
			return
		}
		keep[free[0]] = true
		used := list[free[0]].tokens
		for n, i := range slices.Backward(free[1:]) {
			if used += list[i].tokens; used > half && n < len(free)-2 {
				return
			}
			keep[i] = true
		}
	}}
}
