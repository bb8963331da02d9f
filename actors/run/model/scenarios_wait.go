package model

import (
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// waits are about runs that wait, and what ends that.
var waits = []Scenario{
	{
		Name: "a signal for this run", Inputs: one, Runs: code{"r1": "pay a; await s; pay b"}, Signals: tell("s"),
		Faults: Faults{Crash: 1}, Long: Faults{Crash: 1, Expire: 1, Stale: 1},
		Ends: "r1 completed",
	},
	{
		Name: "a signal, zombie", Inputs: one, Runs: code{"r1": "await s; pay a"}, Signals: tell("s"),
		Faults: Faults{Expire: 1, LoseAck: 1}, Long: Faults{Expire: 2, Crash: 1},
		Ends: "r1 completed",
	},
	{
		Name: "a signal, stale", Inputs: one, Runs: code{"r1": "await s; pay a"}, Signals: tell("s"),
		Faults: Faults{Stale: 2, Crash: 1}, Long: Faults{Stale: 2, Expire: 1, Crash: 1},
		Ends: "r1 completed",
	},
	{
		Name: "a signal, unknown outcomes", Inputs: one, Runs: code{"r1": "await s; pay a"}, Signals: tell("s"),
		Faults: Faults{Unknown: 2, Twice: 1}, Long: Faults{Unknown: 2, Crash: 1},
		Ends: "r1 completed",
	},
	{
		Name: "a signal for whoever is open", Inputs: one, Runs: code{"r1": "await s; pay a"}, Signals: forAWord, Stay: waiting,
		Faults: Faults{Crash: 1, Twice: 1}, Long: Faults{Crash: 1, Twice: 1, Expire: 1},
		Ends: "r1 completed, r1 waits",
	},
	{
		Name: "a signal when the run is over", Inputs: two, Runs: code{"r1": "pay a", "r2": "await s"},
		Signals: append(tell("s"), forAWord...), Stay: []protocol.RunID{"r2"}, Long: Faults{Crash: 1},
		Ends: "r1 completed, r2 completed, r2 waits",
	},
	{
		Name: "signals in their order", Inputs: one, Runs: code{"r1": "await s; pay a; await s"}, Signals: tell("s", "s"),
		Faults: Faults{Crash: 1}, Long: Faults{Crash: 1, Expire: 1},
		Ends: "r1 completed",
	},
	{
		Name: "a signal for what waits its turn", Inputs: two, Runs: code{"r1": "pay a", "r2": "await s; pay b"},
		Signals: []Signal{{Type: "s", Run: "r2"}}, Long: Faults{Crash: 1},
		Ends: "r1 completed, r2 completed",
	},
	{
		Name: "approval", Inputs: one, Runs: code{"r1": "ask; pay a; emit x"}, Signals: []Signal{{Type: run.SignalApprove}}, Stay: waiting,
		Faults: Faults{Crash: 1, Expire: 1}, Long: Faults{Crash: 2, Expire: 1},
		Ends: "r1 completed, r1 waits",
	},
	{
		// The second click on the button is not the answer to the next question.
		Name: "approval, twice", Inputs: one, Runs: code{"r1": "ask; pay a; ask"}, Stay: waiting,
		Signals: []Signal{{Type: run.SignalApprove}, {Type: run.SignalApprove}}, Long: Faults{Crash: 1},
		Ends: "r1 completed, r1 waits",
	},
	{
		Name: "sleep", Inputs: one, Runs: code{"r1": "pay a; sleep; pay b"},
		Faults: Faults{Crash: 1, Twice: 1}, Long: Faults{Crash: 1, Twice: 1, Expire: 1},
		Ends: "r1 completed",
	},
	{
		Name: "sleep, zombie", Inputs: one, Runs: code{"r1": "sleep; pay b"},
		Faults: Faults{Expire: 1, Stale: 1}, Long: Faults{Expire: 1, Stale: 1, Crash: 1},
		Ends: "r1 completed",
	},
	{
		Name: "a deadline", Inputs: one, Runs: code{"r1": "await s or time; pay a"}, Signals: tell("s"),
		Faults: Faults{Crash: 1}, Long: Faults{Crash: 1, Expire: 1},
		Ends: "r1 completed",
	},
	{
		Name: "timers of two runs", Inputs: two, Runs: code{"r1": "await s or time", "r2": "sleep; pay b"}, Signals: tell("s"),
		Alone: true, Faults: Faults{Crash: 1},
		Ends: "r1 completed, r2 completed",
	},
	{
		Name: "behind its own effects", Inputs: one, Runs: code{"r1": "behind; pay a"},
		Faults: Faults{Crash: 1, Expire: 1}, Long: Faults{Crash: 1, Expire: 2},
		Ends: "r1 completed",
	},
	{
		Name: "retry", Inputs: one, Runs: code{"r1": "pay a; retry; pay b"}, Policy: run.Policy{Attempts: 3},
		Faults: Faults{Crash: 1, Expire: 1}, Long: Faults{Crash: 2, Expire: 1},
		Ends: "r1 completed",
	},
}

// controls are about signals that every run understands.
var controls = []Scenario{
	{
		Name: "cancel", Inputs: one, Runs: code{"r1": "pay a; await s; pay b"}, Signals: append(tell(run.SignalCancel), tell("s")...),
		Faults: Faults{Crash: 1}, Long: Faults{Crash: 1, Expire: 1},
		Ends: "r1 cancelled, r1 completed",
	},
	{
		Name: "cancel, and listen", Inputs: one, Runs: code{"r1": "pay a; pay b"}, Signals: tell(run.SignalCancel),
		Faults: Faults{Listen: 1, Crash: 1}, Long: Faults{Listen: 2, Crash: 1, Expire: 1},
		Ends: "r1 cancelled, r1 completed",
	},
	{
		Name: "cancel what waits its turn", Inputs: two, Runs: code{"r1": "pay a", "r2": "pay b"},
		Signals: []Signal{{Type: run.SignalCancel, Run: "r2"}}, Faults: Faults{Crash: 1}, Long: Faults{Crash: 1, Expire: 1},
		Ends: "r1 completed, r2 cancelled, r2 completed",
	},
	{
		Name: "cancel what is to be retried", Inputs: one, Runs: code{"r1": "retry; pay a"}, Policy: run.Policy{Attempts: 3},
		Signals: tell(run.SignalCancel), Faults: Faults{Crash: 1}, Long: Faults{Crash: 1, Expire: 1},
		Ends: "r1 cancelled, r1 completed",
	},
	{
		Name: "pause and resume", Inputs: one, Runs: code{"r1": "pay a; pay b"}, Signals: tell(run.SignalPause, run.SignalResume),
		Faults: Faults{Crash: 1}, Long: Faults{Crash: 1, Twice: 1},
		Ends: "r1 completed",
	},
	{
		Name: "pause while it waits", Inputs: one, Runs: code{"r1": "await s; pay a"},
		Signals: tell(run.SignalPause, "s", run.SignalResume), Long: Faults{Crash: 1},
		Ends: "r1 completed",
	},
	{
		Name: "pause and cancel", Inputs: one, Runs: code{"r1": "pay a; pay b"}, Signals: tell(run.SignalPause, run.SignalCancel),
		Faults: Faults{Crash: 1}, Long: Faults{Crash: 1, Expire: 1},
		Ends: "r1 cancelled, r1 completed",
	},
}

// families are about runs that begin runs.
var families = []Scenario{
	{
		Name: "child", Inputs: one, Runs: code{"r1": "call c; pay a", "r1.1": "pay k; emit x"},
		Faults: Faults{Crash: 1}, Long: Faults{Crash: 1, Expire: 1},
		Ends: "r1 completed, r1.1 completed",
	},
	{
		Name: "child, zombie", Inputs: one, Runs: code{"r1": "call c", "r1.1": "pay k"},
		Faults: Faults{Expire: 1}, Long: Faults{Expire: 1, LoseAck: 1, Stale: 1},
		Ends: "r1 completed, r1.1 completed",
	},
	{
		Name: "child that is turned away", Inputs: append(one, Input{Task: "X", Run: "x", In: "c"}),
		Runs: code{"r1": "call c reject; pay a", "r1.1": "pay k", "x": "pay x"}, Long: Faults{Crash: 1},
		Ends: "r1 completed, r1.1 completed, r1.1 refused, x completed",
	},
	{
		Name: "child that would steer", Inputs: append(one, Input{Task: "X", Run: "x", In: "c"}),
		Runs: code{"r1": "call c steer; pay a", "r1.1": "pay k", "x": "pay x; hear; pay y"}, Long: Faults{Crash: 1},
		Ends: "r1 completed, r1.1 completed, x completed",
	},
	{
		Name: "child whose run was asked for before", Inputs: append(one, Input{Task: "S", Run: "r1.1", In: "c", Body: "child", Inboxes: bob}),
		Runs: code{"r1": "call c; pay a", "r1.1": "pay k"}, Faults: Faults{Crash: 1},
		Ends: "r1 completed, r1.1 completed",
	},
	{
		Name: "child whose run was heard before", Runs: code{"r1": "call c", "r1.1": "", "x": "pay x; hear; pay y"},
		Inputs: append(one, Input{Task: "X", Run: "x", In: "c"}, Input{Task: "S", Run: "r1.1", In: "c", Body: "child", Mode: run.Steer}),
		Ends:   "r1 completed, r1.1 completed, r1.1 heard by x, x completed",
	},
	{
		Name: "child of a cancelled run", Inputs: one, Runs: code{"r1": "call c; pay a", "r1.1": "pay k"}, Signals: tell(run.SignalCancel),
		Ends: "r1 cancelled, r1 completed, r1.1 cancelled, r1.1 completed, r1.1 refused",
	},
	{
		// Its start was recorded, its input never sent: nobody but the bar ends the wait of the parent.
		Name: "child that never began", Inputs: one, Runs: code{"r1": "call c", "r1.1": ""}, Signals: tell(run.SignalCancel),
		Alone: true, Faults: Faults{Crash: 1}, Long: Faults{Crash: 2},
		Ends: "r1 cancelled, r1 completed, r1.1 cancelled, r1.1 completed, r1.1 refused",
	},
	{
		Name: "child of a dead run", Inputs: one, Runs: code{"r1": "call c", "r1.1": "await s"}, Policy: run.Policy{Attempts: 1},
		Alone: true, Faults: Faults{Crash: 2}, Stay: append(waiting, "r1.1"),
		Ends: "r1 completed, r1 failed, r1 waits, r1.1 cancelled, r1.1 failed, r1.1 refused, r1.1 waits",
	},
	{
		Name: "child of an interrupted run", Inputs: asks(run.Interrupt), Runs: code{"r1": "call c", "r1.1": "pay k", "r2": "pay b"},
		Ends: "r1 cancelled, r1 completed, r1.1 cancelled, r1.1 completed, r1.1 refused, r2 completed",
	},
	{
		Name: "detached child", Inputs: one, Runs: code{"r1": "spawn c; await child; pay a", "r1.1": "pay k"},
		Faults: Faults{Crash: 1}, Long: Faults{Crash: 1, Expire: 1},
		Ends: "r1 completed, r1.1 completed",
	},
}

// closings are about what is folded and put away.
var closings = []Scenario{
	{
		Name: "snapshots", Inputs: two, Runs: code{"r1": "pay a; emit x", "r2": "pay b; emit x"}, Policy: run.Policy{Snapshot: 3},
		Faults: Faults{Crash: 1, LoseAck: 1}, Long: Faults{Crash: 1, Expire: 1, LoseAck: 1},
		Ends: "r1 completed, r2 completed",
	},
	{
		Name: "janitor", Inputs: two, Runs: code{"r1": "pay a; emit x", "r2": "pay b; emit x"},
		Faults: Faults{Janitor: 2, Crash: 1}, Long: Faults{Janitor: 2, Crash: 2, LoseAck: 1},
		Ends: "r1 completed, r2 completed",
	},
	{
		Name: "janitor, and a signal that came early", Inputs: two, Runs: code{"r1": "", "r2": "await s"},
		Signals: []Signal{{Type: "s", Run: "r2"}}, Faults: Faults{Janitor: 1}, Long: Faults{Janitor: 1, Crash: 1},
		Ends: "r1 completed, r2 completed",
	},
	{
		Name: "janitor, lost acknowledgement", Inputs: one, Runs: code{"r1": "await s; pay a"}, Signals: tell("s"),
		Faults: Faults{Janitor: 1, LoseAck: 1, Stale: 1}, Long: Faults{Janitor: 1, LoseAck: 1, Stale: 1, Expire: 1},
		Ends: "r1 completed",
	},
}
