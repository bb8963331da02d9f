package model

import (
	"fmt"

	"github.com/skelegent/skelegent-go/actors/run"
)

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
