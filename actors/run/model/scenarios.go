package model

import (
	"slices"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

type code = map[protocol.RunID]string

var (
	alice = []string{"alice"}
	bob   = []string{"bob"}

	inputA   = Input{Task: "A", Run: "r1", Inboxes: alice}
	inputB   = Input{Task: "B", Run: "r2", Inboxes: bob}
	one      = []Input{inputA}
	two      = []Input{inputA, inputB}
	twice    = []Input{inputA, {Task: "A'", Run: "r1", Inboxes: bob}}
	forAWord = []Signal{{Type: "s"}}
	waiting  = []protocol.RunID{"r1"} // for a signal that concerned nobody, say
)

func asks(mode run.Mode) []Input {
	return []Input{inputA, {Task: "B", Run: "r2", Inboxes: bob, Mode: mode}}
}

func tell(types ...string) (all []Signal) {
	for _, t := range types {
		all = append(all, Signal{Type: t, Run: "r1"})
	}
	return all
}

// Scenarios returns every scenario, in the order of their concerns.
func Scenarios() []Scenario { return slices.Concat(claims, modes, waits, controls, families, closings) }

// claims are about who may begin, who goes on, and what is settled when.
var claims = []Scenario{
	{
		Name: "one input", Inputs: one, Runs: code{"r1": "pay a; pay b; emit x"},
		Faults: Faults{Crash: 2, Expire: 1}, Long: Faults{Crash: 2, Expire: 2, LoseAck: 1},
		Ends: "r1 completed",
	},
	{
		Name: "two inputs, crash", Inputs: two, Runs: code{"r1": "pay a; emit x", "r2": "pay b; emit x"},
		Faults: Faults{Crash: 2}, Long: Faults{Crash: 2, LoseAck: 1, Stale: 1},
		Ends: "r1 completed, r2 completed",
	},
	{
		Name: "two inputs, zombie", Inputs: two, Runs: code{"r1": "pay a; emit x", "r2": "pay b"},
		Faults: Faults{Expire: 1, Crash: 1}, Long: Faults{Expire: 2, Crash: 1},
		Ends: "r1 completed, r2 completed",
	},
	{
		Name: "two inputs, stale", Inputs: two, Runs: code{"r1": "pay a; emit x", "r2": "pay b"},
		Faults: Faults{Stale: 2, Crash: 1}, Long: Faults{Stale: 2, Crash: 1, Expire: 1},
		Ends: "r1 completed, r2 completed",
	},
	{
		Name: "two inputs, lost acknowledgements", Inputs: two, Runs: code{"r1": "pay a; emit x", "r2": "pay b"},
		Faults: Faults{LoseAck: 2, Stale: 1}, Long: Faults{LoseAck: 2, Stale: 1, Expire: 1},
		Ends: "r1 completed, r2 completed",
	},
	{
		Name: "two inputs, unknown outcomes", Inputs: two, Runs: code{"r1": "pay a; emit x", "r2": "pay b"},
		Faults: Faults{Unknown: 2}, Long: Faults{Unknown: 2, Crash: 1, Expire: 1},
		Ends: "r1 completed, r2 completed",
	},
	{
		Name: "unknown outcome, zombie", Inputs: one, Runs: code{"r1": "pay a; emit x"},
		Faults: Faults{Unknown: 1, Expire: 1}, Long: Faults{Unknown: 2, Expire: 1, Crash: 1},
		Ends: "r1 completed",
	},
	{
		Name: "two inputs in one process", Inputs: two, Runs: code{"r1": "pay a; emit x", "r2": "pay b"}, Hold: 2,
		Faults: Faults{Crash: 1}, Long: Faults{Crash: 2},
		Ends: "r1 completed, r2 completed",
	},
	{
		Name: "trouble, and nodes that leave", Inputs: two, Runs: code{"r1": "pay a; pay c; emit x", "r2": "pay b"},
		Faults: Faults{Trouble: 1, Leave: 1}, Long: Faults{Trouble: 1, Leave: 1, Crash: 1, Stale: 1},
		Ends: "r1 completed, r2 completed",
	},
	{
		Name: "effects of two families", Inputs: two, Runs: code{"r1": "emit x; emit y other", "r2": "pay b; emit x"},
		Faults: Faults{Crash: 1}, Long: Faults{Crash: 2, Expire: 1},
		Ends: "r1 completed, r2 completed",
	},
	{
		Name: "duplicate dispatch", Inputs: append(twice, Input{Task: "A''", Run: "r1"}), Runs: code{"r1": "pay a; emit x"},
		Faults: Faults{Crash: 1}, Long: Faults{Crash: 1, Expire: 1, Stale: 1},
		Ends: "r1 completed",
	},
	{
		Name: "duplicate dispatch, zombie", Inputs: twice, Runs: code{"r1": "pay a; emit x"},
		Faults: Faults{Expire: 1, LoseAck: 1}, Long: Faults{Expire: 2, Crash: 1},
		Ends: "r1 completed",
	},
	{
		Name: "duplicate with two inboxes", Runs: code{"r1": "pay a"},
		Inputs: []Input{inputA, {Task: "A'", Run: "r1", Inboxes: []string{"bob", "carol"}}},
		Faults: Faults{Crash: 1},
		Ends:   "r1 completed",
	},
	{
		Name: "duplicate of a suspended run", Inputs: twice, Runs: code{"r1": "await s; pay b"}, Signals: tell("s"),
		Faults: Faults{Crash: 1},
		Ends:   "r1 completed",
	},
	{
		Name: "one run id, two inputs", Runs: code{"r1": "pay a"},
		Inputs: []Input{inputA, {Task: "A'", Run: "r1", Inboxes: bob, Body: "something else"}},
		Faults: Faults{Crash: 1, LoseAck: 1},
		Ends:   "r1 completed",
	},
	{
		Name: "attempts", Inputs: two, Runs: code{"r1": "pay a; pay c", "r2": "pay b"}, Policy: run.Policy{Attempts: 1},
		Faults: Faults{Crash: 2}, Long: Faults{Crash: 3},
		Ends: "r1 completed, r1 failed, r2 completed, r2 failed",
	},
}

// modes are about inputs that come while a run is open.
var modes = []Scenario{
	{
		Name: "reject", Inputs: asks(run.Reject), Runs: code{"r1": "pay a", "r2": "pay b"},
		Faults: Faults{Crash: 1, LoseAck: 1}, Long: Faults{Crash: 1, LoseAck: 1, Expire: 1},
		Ends: "r1 completed, r2 completed, r2 refused",
	},
	{
		Name: "a bounded queue", Inputs: append(two, Input{Task: "C", Run: "r3", Inboxes: []string{"carol"}}),
		Runs: code{"r1": "pay a", "r2": "", "r3": ""}, Policy: run.Policy{Queue: 1},
		Faults: Faults{Crash: 1},
		Ends:   "r1 completed, r1 refused, r2 completed, r2 refused, r3 completed, r3 refused",
	},
	{
		Name: "steer", Inputs: asks(run.Steer), Runs: code{"r1": "pay a; hear; pay b", "r2": "pay c"},
		Faults: Faults{Crash: 1, LoseAck: 1}, Long: Faults{Crash: 2, Expire: 1},
		Ends: "r1 completed, r2 completed, r2 heard by r1",
	},
	{
		Name: "steer, twice", Runs: code{"r1": "pay a; hear; pay b", "r2": "pay c"},
		Inputs: append(asks(run.Steer), Input{Task: "B'", Run: "r2", Inboxes: []string{"carol"}, Mode: run.Steer}),
		Ends:   "r1 completed, r2 completed, r2 heard by r1",
	},
	{
		Name: "steer, and be cancelled", Inputs: asks(run.Steer), Runs: code{"r1": "pay a; hear; pay b", "r2": "pay c"},
		Signals: []Signal{{Type: run.SignalCancel, Run: "r2"}}, Long: Faults{Crash: 1},
		Ends: "r1 completed, r2 cancelled, r2 completed, r2 heard by r1",
	},
	{
		Name: "interrupt", Inputs: asks(run.Interrupt), Runs: code{"r1": "pay a; pay c", "r2": "pay b"},
		Faults: Faults{Crash: 1}, Long: Faults{Crash: 1, Expire: 1},
		Ends: "r1 cancelled, r1 completed, r2 completed",
	},
	{
		// The carrier of the suspended run must not resume it: its acknowledgement may be on its way.
		Name: "interrupt a suspended run", Inputs: asks(run.Interrupt), Runs: code{"r1": "await s", "r2": "pay b"},
		Stay: waiting, Faults: Faults{Expire: 1, Crash: 1}, Long: Faults{Expire: 1, Crash: 1, LoseAck: 1},
		Ends: "r1 cancelled, r1 waits, r2 completed",
	},
}
