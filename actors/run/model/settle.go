package model

import (
	"fmt"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// piece is one of the things that follow from a commit. Anything may happen between two of them.
type piece struct {
	what  string
	index int
}

// piecesOf lists what follows from a commit, in the order in which a node does it.
func piecesOf(c *run.Commit) (all []piece) {
	for i := range c.Requests {
		all = append(all, piece{"effect", i})
	}
	for i := range c.Stop {
		all = append(all, piece{"stop", i}, piece{"bar", i})
	}
	if c.Wait != nil {
		for i := range c.Wait.Timers {
			all = append(all, piece{"timer", i})
		}
		return all
	}
	if c.Parent != nil {
		all = append(all, piece{"parent", 0})
	}
	for i := range c.Inboxes {
		all = append(all, piece{"answer", i})
	}
	return all
}

// settle does the next piece.
func (w *world) settle(k *worker, d *delivery) {
	_, i := w.session(k, d)
	pieces := w.pieces(d)
	w.follow(i, d.commit, pieces[d.piece])
	if d.piece++; d.piece == len(pieces) {
		w.settled(k, d)
	}
}

func (w *world) settled(k *worker, d *delivery) {
	s, _ := w.session(k, d)
	s.settled = max(s.settled, d.commit.Seq)
	d.do, d.commit, d.piece = doDecide, nil, 0
}

func (w *world) follow(i int, c *run.Commit, p piece) {
	switch p.what {
	case "effect":
		w.publish(i, c.Requests[p.index])
	case "timer":
		w.setTimer(i, c.Run, c.Wait.Timers[p.index].Path, c.Seq)
	case "stop":
		child := c.Stop[p.index]
		w.note("tells %s to stop", child.Run)
		w.signal(w.m.instance(child.Instance), run.SignalCancel, child.Run)
	case "bar":
		child := c.Stop[p.index]
		w.note("bars %s", child.Run)
		w.wake("bar of "+string(child.Run), w.m.instance(child.Instance), run.Task{Bar: true, Input: &run.Input{
			Run: child.Run, Parent: &run.Parent{Operator: operator, Instance: w.m.tries[i].instance, Run: c.Run, Seq: child.Seq},
		}})
	case "parent":
		w.tellParent(&c.Input, answer(c))
	case "answer":
		w.answer(c.Inboxes[p.index], answer(c))
	}
}

// publish stores an effect message, whose id makes one of all attempts.
func (w *world) publish(i int, r protocol.EffectRequest) {
	id, content := effectID(r), effectContent(r)
	w.note("publishes effect %s", id)
	committed := false
	for _, q := range w.logs[i].seen.requests {
		switch {
		case q.id == id:
			committed = true
			if q.content != content {
				w.broken(fmt.Sprintf("effect %s was published with another content than was committed", id))
			}
		case committed:
		case !has(w.out, w.m.word("effect "+q.id)):
			// An earlier one that is not out: of an earlier commit, or before it in this one.
			w.broken(fmt.Sprintf("effect %s was published before %s", id, q.id))
		}
	}
	if !committed {
		w.broken(fmt.Sprintf("effect %s was published and is not committed", id))
	}
	w.out = add(w.out, w.m.word("effect "+id))
}

func (w *world) setTimer(i int, id protocol.RunID, path string, after uint64) {
	w.note("sets the timer of step %s of %s", path, id)
	t := timer{instance: i, run: id, path: path, after: after, pending: true}
	for n := range w.timers {
		if have := &w.timers[n]; have.instance == i && have.run == id && have.path == path {
			*have = t
			return
		}
	}
	w.timers = append(w.timers, t)
}

func (w *world) timer(i int, id protocol.RunID, path string) *timer {
	for n := range w.timers {
		if t := &w.timers[n]; t.instance == i && t.run == id && t.path == path {
			return t
		}
	}
	return nil
}

// answer is heard by a caller.
func (w *world) answer(inbox, text string) {
	w.note("answers %s", inbox)
	w.heard = add(w.heard, w.m.word(inbox+"="+text))
}

// answerKnown answers a task whose run is over, or will not be: out of the log.
func (w *world) answerKnown(d *delivery) {
	t := &w.m.tasks[d.task]
	in := t.read.Input
	text := conflictText
	if end, ok := w.logs[t.instance].seen.endOf(d.known.Run); ok && d.known.Kind != "" && d.known.Hash == in.Hash {
		text = end.answer
	}
	if in.Parent != nil && w.m.without != ruleRefusal {
		w.tellParent(in, text)
	}
	for _, inbox := range in.Inboxes {
		w.answer(inbox, text)
	}
	d.drv.Answered()
	d.do = doDecide
}

const conflictText = "error: the run id was given to another input"

// settledOut reports what of a commit has not followed yet, empty if all has.
func (w *world) settledOut(i int, c *run.Commit) string {
	for _, p := range piecesOf(c) {
		done := true
		switch p.what {
		case "effect":
			done = has(w.out, w.m.word("effect "+effectID(c.Requests[p.index])))
		case "timer", "parent", "bar":
			done = w.m.blunt || w.told(i, c, p)
		case "answer":
			done = has(w.heard, w.m.word(c.Inboxes[p.index]+"="+answer(c)))
		}
		if !done {
			return fmt.Sprintf("the %s of %s is not out", p.what, c.Run)
		}
	}
	return ""
}

// told reports whether a piece that is heard of by a task was done.
func (w *world) told(i int, c *run.Commit, p piece) bool {
	switch p.what {
	case "timer":
		return w.timer(i, c.Run, c.Wait.Timers[p.index].Path) != nil
	case "bar":
		return w.has("bar of " + string(c.Stop[p.index].Run))
	}
	return w.has(parentWake(&c.Input))
}

// unanswered says which caller has not heard of a commit, empty if all have.
func (w *world) unanswered(c *run.Commit) string {
	for _, inbox := range c.Inboxes {
		if c.Wait == nil && !has(w.heard, w.m.word(inbox+"="+answer(c))) {
			return inbox + " has not heard of the end of " + string(c.Run)
		}
	}
	return ""
}
