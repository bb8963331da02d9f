package model

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Report is what an exploration came to.
type Report struct {
	Scenario string
	States   int  // different worlds
	Steps    int  // ways from one to another
	Rests    int  // worlds in which nothing is left to do
	Logs     int  // different logs
	Cut      bool // not every world was visited
	// Ends are how the runs end, in some world or other.
	Ends string
	// Broken is the rule that some world breaks, empty if none does; Trace is a shortest way there.
	Broken string
	Trace  []string
}

func (r Report) String() string {
	s := fmt.Sprintf("%-34s %8d states %9d steps %6d rests %6d logs; %s", r.Scenario, r.States, r.Steps, r.Rests, r.Logs, r.Ends)
	if r.Cut {
		s += " (cut short)"
	}
	if r.Broken != "" {
		s += "\n  BROKEN: " + r.Broken + "\n  " + strings.Join(r.Trace, "\n  ")
	}
	return s
}

// explorer visits every world, those first that take the fewest actions.
type explorer struct {
	m       *machine
	visited map[[16]byte]int32
	from    []int32  // by world: the one it was first come to from,
	by      []action // and how
	ends    map[string]bool
	then    []int32 // the world that follows where nothing goes wrong and the order of due is kept; -1 if none
	report  Report
}

// Explore visits every world that a scenario can come to, until a rule is broken.
func Explore(s Scenario) Report { return newMachine(s, "").explore() }

func (m *machine) explore() Report {
	x := &explorer{m: m, visited: map[[16]byte]int32{}, ends: map[string]bool{}}
	x.report.Scenario = m.Name
	first := x.m.start()
	x.visit(first, -1, action{})
	level := []*world{first}
	for base := int32(0); len(level) > 0 && x.report.Broken == ""; {
		if m.limit > 0 && len(x.from) > m.limit {
			x.report.Cut = true
			break
		}
		var next []*world
		for i, w := range level {
			next = x.leave(w, base+int32(i), next)
			if x.report.Broken != "" {
				break
			}
		}
		base += int32(len(level))
		level = next
	}
	if x.report.Broken == "" && !x.report.Cut {
		x.endless()
	}
	x.report.States = len(x.from)
	x.report.Ends = strings.Join(slices.Sorted(maps.Keys(x.ends)), ", ")
	for _, t := range x.m.tries {
		x.report.Logs += t.nodes
	}
	return x.report
}

// maxStates bounds an exploration.
const maxStates = 3_000_000

// visit returns the number of a world, and whether it is new.
func (x *explorer) visit(w *world, from int32, by action) (int32, bool) {
	sum := sha256.Sum256(w.key(make([]byte, 0, 1024)))
	key := [16]byte(sum[:16])
	if id, ok := x.visited[key]; ok {
		return id, false
	}
	id := int32(len(x.from))
	x.visited[key] = id
	x.from, x.by, x.then = append(x.from, from), append(x.by, by), append(x.then, -1)
	if w.bad != "" {
		x.broken(w.bad, id)
	}
	if len(x.from) > maxStates {
		x.broken("the scenario is too large", id)
	}
	return id, true
}

// leave goes every way from a world, and appends the new ones to next.
func (x *explorer) leave(w *world, id int32, next []*world) []*world {
	var buf [64]action
	all, n := buf[:0], 1
	if all = w.onlyWay(all); len(all) == 0 {
		all = w.due(all)
		n = len(all)
		all = w.faults(all)
	}
	moved := false
	for i, a := range all {
		c := w.do(a, nil)
		if c == nil {
			continue
		}
		x.report.Steps++
		to, fresh := x.visit(c, id, a)
		if i < n && !moved {
			x.then[id], moved = to, true
		}
		if fresh {
			next = append(next, c)
		}
		if x.report.Broken != "" {
			return next
		}
	}
	if !moved {
		x.report.Rests++
		w.ends(x.ends)
		if bad := w.rest(); bad != "" {
			x.broken(bad, id)
		}
	}
	return next
}

// endless looks for a world from which, with nothing more going wrong, there is no end.
func (x *explorer) endless() {
	const unknown, onWay, ends = 0, 1, 2
	state := make([]byte, len(x.then))
	for id := range x.then {
		var way []int32
		at := int32(id)
		for at >= 0 && state[at] == unknown {
			state[at] = onWay
			way = append(way, at)
			at = x.then[at]
		}
		if at >= 0 && state[at] == onWay {
			x.broken("it goes on for ever", at)
			return
		}
		for _, w := range way {
			state[w] = ends
		}
	}
}

// broken reports the way to a world.
func (x *explorer) broken(rule string, id int32) {
	if x.report.Broken != "" {
		return
	}
	x.report.Broken = rule
	var way []action
	for ; x.from[id] >= 0; id = x.from[id] {
		way = append(way, x.by[id])
	}
	slices.Reverse(way)
	w := x.m.start()
	for i, a := range way {
		label := fmt.Sprintf("%2d %s", i+1, w.label(a))
		w = w.do(a, func(format string, args ...any) {
			x.report.Trace = append(x.report.Trace, label+fmt.Sprintf(format, args...))
		})
	}
}
