package model

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/skelegent/skelegent-go/actors/run"
)

// maxWalk bounds a walk.
const maxWalk = 2000

// Walk lives one life of a scenario, as the seed has it, and returns the log of each instance at its end.
func Walk(s Scenario, seed uint64) [][]run.Record {
	w, _, _ := newMachine(s, "").walk(seed)
	logs := make([][]run.Record, len(w.logs))
	for i, n := range w.logs {
		logs[i] = n.records(false)
	}
	return logs
}

// walk goes any way from world to world until nothing is left to do, or a rule is broken: then it returns which, and the way.
// It goes deeper than an exploration, and sees less.
func (m *machine) walk(seed uint64) (w *world, broken, way string) {
	rnd := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // a life must be one that can be lived again
	var lines []string
	w = m.start()
	for range maxWalk {
		to := w.stray(rnd, &lines)
		if to == nil {
			return w, w.rest(), strings.Join(lines, "\n")
		}
		if w = to; w.bad != "" {
			return w, w.bad, strings.Join(lines, "\n")
		}
	}
	return w, "it goes on for ever", strings.Join(lines, "\n")
}

// stray returns any world that may follow, nil if none must. What goes wrong does so the more seldom, the less is left of it.
func (w *world) stray(rnd *rand.Rand, lines *[]string) *world {
	due := w.due(nil)
	next := due
	if rnd.IntN(4) == 0 {
		next = w.faults(due)
	}
	rnd.Shuffle(len(next), func(i, j int) { next[i], next[j] = next[j], next[i] })
	for _, a := range next {
		label, before := w.label(a), len(*lines)
		if to := w.do(a, func(format string, args ...any) {
			*lines = append(*lines, label+fmt.Sprintf(format, args...))
		}); to != nil {
			return to
		}
		*lines = (*lines)[:before]
	}
	return nil
}
