package model

import (
	"math/rand/v2"

	"github.com/skelegent/skelegent-go/actors/run"
)

// maxWalk bounds a walk.
const maxWalk = 400

// Walk lives one life of a scenario, as the seed has it, and returns the log of each instance at its end.
func Walk(s Scenario, seed uint64) [][]run.Record {
	rnd := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // a life must be one that can be lived again
	w := newMachine(s, "").start()
	for range maxWalk {
		next := w.faults(w.due(nil))
		rnd.Shuffle(len(next), func(i, j int) { next[i], next[j] = next[j], next[i] })
		var to *world
		for _, a := range next {
			if to = w.do(a, nil); to != nil {
				break
			}
		}
		if to == nil {
			break
		}
		w = to
	}
	logs := make([][]run.Record, len(w.logs))
	for i, n := range w.logs {
		logs[i] = n.records(false)
	}
	return logs
}
