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

// alone looks for a step that comes to the same whenever it is taken, as long as its worker lives: nobody else's steps change
// it or are changed by it, and it breaks no rule sooner or later than now. Then no other step need be tried before it.
// That leaves out orders, not outcomes, and makes the worlds with children ten times smaller.
func (w *world) alone(all []action) []action {
	for k := range w.workers {
		holds := w.workers[k].holds
		for d := range holds {
			h, ok := &holds[d], false
			switch h.do { //nolint:exhaustive // the others matter to somebody
			case doSettle: // what others hear of only by a task that may be late anyway
				p := w.pieces(h)[h.piece].what
				ok = p == "timer" || p == "stop" || p == "bar" || p == "parent"
			case doRun:
				ok = len(holds) == 1 && w.left.Listen == 0 && w.unseen(&w.workers[k], h)
			case doAck: // on a stable fact; without a second delivery nobody can make it another
				ok = w.m.Faults.Expire == 0 && w.m.Faults.Trouble == 0
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

// do returns the world after an action, nil if it cannot happen.
func (w *world) do(a action, tell func(string, ...any)) *world {
	c := w.clone()
	c.tell = tell
	ok := true
	switch a.kind {
	case actStep:
		ok = c.step(a.a, a.b, a.v)
	case actSignal:
		s := c.m.Signals[c.signals]
		c.signals++
		c.note("signal %s %s is stored", s.Type, s.Run)
		c.signal(c.m.instance(orHome(s.In)), s.Type, s.Run)
	case actTimer, actTimerTwice:
		c.fire(a.a, a.kind == actTimerTwice)
	case actJanitor:
		c.clean()
	case actDeliver, actRemembered:
		ok = c.deliver(a.a, a.b, a.kind == actRemembered)
	case actCrash:
		c.crash(a.a)
	case actExpire:
		c.left.Expire--
		c.msgs[a.a].state = ready
		c.note("the time to acknowledge %s passes", c.m.tasks[c.msgs[a.a].task].name)
	case actTwice:
		c.left.Twice--
		t := c.m.tasks[c.msgs[a.a].task]
		c.note("%s comes twice", t.name)
		c.wake(t.name, t.instance, t.read)
	case actListen:
		ok = c.listen(a.a, a.b)
	case actLook:
		ok = c.look()
	}
	c.tell = nil
	if !ok {
		return nil
	}
	return c
}

func (w *world) deliver(msg, k int, remembered bool) bool {
	m := &w.msgs[msg]
	t := &w.m.tasks[m.task]
	s := &w.workers[k].sessions[t.instance]
	busy := false
	for _, d := range w.workers[k].holds {
		busy = busy || w.m.tasks[d.task].instance == t.instance
	}
	how := ""
	switch {
	case remembered:
		w.left.Stale--
		if s.at == nil {
			s.at = w.m.tries[t.instance].root
		}
		if busy || s.at == w.logs[t.instance] {
			return false
		}
		how = ", which takes the log for: " + s.at.String()
	case !busy && s.at != w.logs[t.instance]:
		*s = session{at: w.logs[t.instance]}
	}
	m.state, m.late = out, false
	m.n++
	read := t.read
	if read.Carrier.Delivery = uint64(m.n); w.m.without == ruleNewest {
		read.Carrier.Delivery = 1
	}
	holds := append(w.workers[k].holds, delivery{task: m.task, n: m.n, drv: run.Driver{Task: read, Policy: w.m.Policy}})
	w.workers[k].holds = holds
	w.note("%s goes to worker %d%s", t.name, k+1, how)
	d := &holds[len(holds)-1]
	w.decide(&w.workers[k], d)
	if d.do == doAck && w.calm() {
		w.perform(&w.workers[k], d, plain)
	}
	if d.do == doEnd {
		w.end(&w.workers[k], len(holds)-1)
	}
	return true
}

func (w *world) crash(k int) {
	w.left.Crash--
	w.note("worker %d crashes", k+1)
	for i := range w.workers[k].holds {
		w.back(&w.workers[k].holds[i], false)
	}
	w.workers[k].holds = nil
	clear(w.workers[k].sessions)
}

// fire makes a task of a timer that is due.
func (w *world) fire(i int, twice bool) {
	t := &w.timers[i]
	if twice {
		w.left.Twice--
	}
	t.pending = false
	w.note("the timer of step %s of %s is due", t.path, t.run)
	after := t.after
	if w.m.without == ruleBehind {
		after = 0
	}
	w.wake(fmt.Sprintf("timer %s/%s@%d", t.run, t.path, t.after), t.instance,
		run.Task{Timer: &run.Timer{Run: t.run, Path: t.path, After: after}})
}

// listen lets a worker fold in what others appended.
func (w *world) listen(k, instance int) bool {
	s := &w.workers[k].sessions[instance]
	if s.at == nil || s.at == w.logs[instance] {
		return false
	}
	for _, d := range w.workers[k].holds {
		if w.m.tasks[d.task].instance == instance && d.do == doRun {
			w.left.Listen--
			w.note("worker %d hears of %s", k+1, w.logs[instance])
			s.at = w.logs[instance]
			return true
		}
	}
	return false
}

// look is where the janitor finds that an instance is over: nothing is open, every effect is out, and nobody holds its carrier.
func (w *world) look() bool {
	f := w.fold(0)
	if f.Open != nil || len(f.Queue) > 0 || len(f.Known) == 0 || f.Closed {
		return false
	}
	for _, q := range w.logs[0].seen.requests {
		if !has(w.out, w.m.word("effect "+q.id)) {
			return false
		}
	}
	for _, m := range w.msgs {
		if t := &w.m.tasks[m.task]; m.state != gone && t.instance == 0 && t.read.Carrier.ID == f.Carrier.ID && w.m.without != ruleHeld {
			return false
		}
	}
	w.left.Janitor--
	w.janitor = w.logs[0]
	w.note("the janitor finds the instance idle")
	return true
}

// clean closes the instance, if it is as the janitor saw it.
func (w *world) clean() {
	if at := w.janitor; at == w.logs[0] || w.m.without == ruleJanitorFence {
		w.commit(0, fmt.Sprintf("janitor@%d", at.record.Seq), []run.Item{w.remember(at.fold.Close())})
		w.note("the janitor closes the instance")
	} else {
		w.note("the janitor cannot close the instance: conflict")
	}
	w.janitor = nil
}

// label names what is about to happen.
func (w *world) label(a action) string {
	if a.kind != actStep {
		return ""
	}
	d := w.workers[a.a].holds[a.b]
	return fmt.Sprintf("worker %d, %s: ", a.a+1, w.m.tasks[d.task].name)
}
