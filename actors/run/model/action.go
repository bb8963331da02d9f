package model

import (
	"fmt"

	"github.com/skelegent/skelegent-go/actors/run"
)

// action is something that can happen next.
type action struct {
	kind kind
	a, b int // which worker, task or timer
	v    variant
}

type kind uint8

const (
	actStep kind = iota
	actSignal
	actTimer
	actJanitor
	actDeliver
	actRemembered // deliver, and decide on what the worker remembers
	// Those above may be put off, and happen in the end. What is below is what may go wrong.
	actCrash
	actExpire
	actTwice
	actTimerTwice
	actListen
	actLook
)

// due lists what must happen sooner or later, in an order that, kept to, leaves nothing undone.
func (w *world) due(all []action) []action {
	for k := range w.workers {
		for d := range w.workers[k].holds {
			all = append(all, action{actStep, k, d, plain})
		}
	}
	if w.janitor != nil {
		all = append(all, action{kind: actJanitor})
	}
	if w.signals < len(w.m.Signals) {
		all = append(all, action{kind: actSignal})
	}
	for i, t := range w.timers {
		if t.pending {
			all = append(all, action{kind: actTimer, a: i})
		}
	}
	for _, late := range []bool{false, true} {
		for i, m := range w.msgs {
			if m.state != ready || m.late != late {
				continue
			}
			for k := range w.workers {
				if w.free(k, m.task) {
					all = append(all, action{actDeliver, i, k, plain})
				}
			}
		}
	}
	return all
}

// faults lists what may go wrong.
func (w *world) faults(all []action) []action {
	l := w.left
	for k := range w.workers {
		for d := range w.workers[k].holds {
			all = w.stepFaults(all, k, d)
		}
		all = w.crashes(all, k)
		if l.Listen > 0 {
			for i := range w.workers[k].sessions {
				all = append(all, action{kind: actListen, a: k, b: i})
			}
		}
	}
	for i, m := range w.msgs {
		t := &w.m.tasks[m.task]
		if m.state == out && l.Expire > 0 {
			all = append(all, action{kind: actExpire, a: i})
		}
		if m.state != ready && l.Twice > 0 && t.read.Signal != nil {
			all = append(all, action{kind: actTwice, a: i})
		}
		if m.state == ready && l.Stale > 0 {
			for k := range w.workers {
				if w.free(k, m.task) {
					all = append(all, action{actRemembered, i, k, plain})
				}
			}
		}
	}
	for i, t := range w.timers {
		if !t.pending && l.Twice > 0 {
			all = append(all, action{kind: actTimerTwice, a: i})
		}
	}
	if l.Janitor > 0 && w.janitor == nil {
		all = append(all, action{kind: actLook})
	}
	return all
}

// stepFaults lists the ways in which a step may go wrong.
func (w *world) stepFaults(all []action, k, d int) []action {
	l := w.left
	for v, left := range [...]uint8{
		landed: l.Unknown, vanished: l.Unknown, ackLost: l.LoseAck, trouble: l.Trouble, leave: l.Leave, heardReply: 1,
	} {
		if left > 0 {
			all = append(all, action{actStep, k, d, variant(v)})
		}
	}
	return all
}

func (w *world) crashes(all []action, k int) []action {
	if w.left.Crash > 0 && len(w.workers[k].holds) > 0 {
		all = append(all, action{kind: actCrash, a: k})
	}
	return all
}

// onlyWay looks for a step that comes to the same whenever it is taken, as long as its worker lives: nobody else's steps change
// it or are changed by it, and it breaks no rule sooner or later than now. Then nothing else need be tried before it. That
// leaves out orders, not logs, as a test sees to; and the larger worlds are three times smaller.
func (w *world) onlyWay(all []action) []action {
	if w.m.every {
		return all
	}
	single := w.m.Faults.Expire == 0 && w.m.Faults.Trouble == 0 // nobody else works on the same task
	for k := range w.workers {
		holds := w.workers[k].holds
		for d := range holds {
			h, ok := &holds[d], false
			switch h.do {
			case doSettle: // what others hear of only by a task that may be late anyway
				p := w.pieces(h)[h.piece].what
				ok = p == "timer" || p == "stop" || p == "bar" || p == "parent"
			case doRun:
				ok = single && len(holds) == 1 && w.left.Listen == 0 && w.unseen(&w.workers[k], h)
			case doAck: // on a stable fact
				ok = single
			default: // it matters to somebody
			}
			if ok {
				return w.crashes(w.stepFaults(append(all, action{actStep, k, d, plain}), k, d), k)
			}
		}
	}
	for i, m := range w.msgs {
		if m.state == ready && w.calm() && w.stale(m) {
			for k := range w.workers {
				if w.free(k, m.task) {
					return append(all, action{actDeliver, i, k, plain})
				}
			}
		}
	}
	return all
}

// calm reports whether an acknowledgement comes at once, without anything in between.
func (w *world) calm() bool {
	f := w.m.Faults
	return f.Expire == 0 && f.LoseAck == 0 && f.Trouble == 0 && f.Stale == 0
}

// stale reports whether a task has nothing new to say.
func (w *world) stale(m message) bool {
	t := &w.m.tasks[m.task]
	d := run.Driver{Task: t.read, Policy: w.m.Policy}
	d.Task.Carrier.Delivery = uint64(m.n) + 1
	return d.Next(w.fold(t.instance)).Ack
}

// free reports whether a worker can take a task. One that works on it already only gets a newer handle, which is no news.
func (w *world) free(k, task int) bool {
	holds := w.workers[k].holds
	if k > 0 && w.m.Alone {
		return false
	}
	for _, d := range holds {
		if d.task == task {
			return false
		}
	}
	return len(holds) < w.m.Hold
}

// label names what is about to happen.
func (w *world) label(a action) string {
	if a.kind != actStep {
		return ""
	}
	d := w.workers[a.a].holds[a.b]
	return fmt.Sprintf("worker %d, %s: ", a.a+1, w.m.tasks[d.task].name)
}
