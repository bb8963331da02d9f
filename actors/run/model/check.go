package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// pay counts a payment, if nothing speaks against it.
func (w *world) pay(at *node, i int, step op) {
	f := at.fold
	w.paid[step.paid]++
	what := w.m.payments[step.paid]
	w.note("pays for %s", what)
	excuses := w.m.Faults.Crash - w.left.Crash + w.m.Faults.Expire - w.left.Expire
	if n := w.paid[step.paid]; n > 1+excuses {
		w.broken(fmt.Sprintf("%s was paid %d times with %d crashes and expiries", what, n, excuses))
	}
	if slices.Contains(w.logs[i].seen.steps, string(f.Open.Run)+"/"+step.path) && excuses == 0 {
		w.broken(what + " was paid although it is recorded")
	}
	for _, q := range at.seen.requests {
		if !has(w.out, w.m.word("effect "+q.id)) {
			w.broken(fmt.Sprintf("%s was paid before effect %s of an earlier commit was published", what, q.id))
		}
	}
	if f.Last != nil {
		if left := w.unanswered(f.Last); left != "" {
			w.broken(fmt.Sprintf("%s was paid before the last commit was settled: %s", what, left))
		}
	}
}

// unstable says why a task must not be acknowledged, empty if it may: everything in it is in the log, and what has to be done
// about it is done, or is somebody else's to do.
func (w *world) unstable(t *task) string {
	if w.m.blunt {
		return ""
	}
	f := w.fold(t.instance)
	if f.Claim != "" && f.Carrier.ID == t.read.Carrier.ID {
		switch {
		case f.Open != nil && f.Open.Wait == nil:
			return "it carries a run that goes on"
		case f.Open == nil && len(f.Queue) > 0:
			return "inputs wait for it to carry them"
		}
		if f.Last != nil {
			if left := w.settledOut(t.instance, f.Last); left != "" {
				return left
			}
		}
	}
	switch r := t.read; {
	case r.Input != nil && !recorded(f, r.Input.Run):
		return "its run is not in the log"
	case r.Signal != nil && !slices.Contains(w.logs[t.instance].seen.signals, r.Signal.Seq):
		return "the signal is not in the log"
	case r.Timer != nil && f.Open != nil && f.Open.Run == r.Timer.Run && !f.Open.Fired[r.Timer.Path]:
		if behind, waits := f.Open.Behind[r.Timer.Path]; waits && r.Timer.After >= behind { // an older one is set again
			return "a step waits for the timer, which is not in the log"
		}
	case r.Child != nil && f.Open != nil:
		if c := f.Open.Children[r.Child.Run]; c != nil && !c.Done {
			return "the run waits for the child, whose end is not in the log"
		}
	}
	return ""
}

func recorded(f *run.Fold, id protocol.RunID) bool {
	_, over := f.Ended(id)
	return over || f.Open != nil && f.Open.Run == id ||
		slices.ContainsFunc(f.Queue, func(w run.Waiting) bool { return w.Run == id })
}

// rest checks a world in which nothing is left to do.
func (w *world) rest() string {
	for i, n := range w.logs {
		f := n.fold
		name := w.m.tries[i].instance
		switch {
		case f.Open != nil && f.Open.Wait == nil:
			return fmt.Sprintf("%s is open in %s, and nobody goes on with it", f.Open.Run, name)
		case f.Open == nil && len(f.Queue) > 0:
			return fmt.Sprintf("%s waits in %s, and nobody goes on with it", f.Queue[0].Run, name)
		case f.Open != nil && f.Satisfied(f.Open.Wait):
			return fmt.Sprintf("what %s waits for has come, and nobody goes on with it", f.Open.Run)
		case f.Open != nil && !slices.Contains(w.m.Stay, f.Open.Run):
			return fmt.Sprintf("%s waits for ever (%s)", f.Open.Run, f.Open.Wait.Reason)
		}
		if f.Last != nil {
			if left := w.settledOut(i, f.Last); left != "" {
				return left
			}
		}
		for _, q := range n.seen.requests {
			if !has(w.out, w.m.word("effect "+q.id)) {
				return fmt.Sprintf("effect %s was never published", q.id)
			}
		}
	}
	for _, m := range w.msgs {
		t := &w.m.tasks[m.task]
		if m.state != gone {
			return t.name + " is never acknowledged"
		}
		if t.read.Signal != nil && !slices.Contains(w.logs[t.instance].seen.signals, t.read.Signal.Seq) {
			return t.name + " was lost"
		}
	}
	for _, in := range w.m.Inputs {
		if bad := w.caller(in); bad != "" {
			return bad
		}
	}
	return ""
}

// ends adds how every run ended.
func (w *world) ends(all map[string]bool) {
	for _, n := range w.logs {
		for _, e := range n.seen.ended {
			what := string(e.kind)
			if e.into != "" {
				what = "heard by " + string(e.into)
			}
			all[string(e.run)+" "+what] = true
		}
		if o := n.fold.Open; o != nil {
			all[string(o.Run)+" waits"] = true
		}
	}
}

// caller checks that an input ended, and that who asked for it heard what the log says, and nothing else.
func (w *world) caller(in Input) string {
	log := w.logs[w.m.instance(orHome(in.In))]
	end, over := log.seen.endOf(in.Run)
	for over && end.into != "" {
		end, over = log.seen.endOf(end.into)
	}
	if !over && !slices.ContainsFunc(w.m.Stay, func(id protocol.RunID) bool {
		return id == in.Run || log.fold.Open != nil && log.fold.Open.Run == id
	}) {
		return fmt.Sprintf("%s was accepted and never ended", in.Run)
	}
	for _, inbox := range in.Inboxes {
		replies := w.replies(inbox)
		if len(replies) == 0 {
			if over {
				return inbox + " was never answered"
			}
			continue
		}
		text := replies[0]
		switch {
		case len(replies) > 1:
			return fmt.Sprintf("%s heard %q, and %q", inbox, brief(text), brief(replies[1]))
		case text == conflictText && w.disputed(in.Run):
		case !over:
			return fmt.Sprintf("%s heard %q of %s, which has not ended", inbox, brief(text), in.Run)
		case text != end.answer:
			return fmt.Sprintf("%s heard %q, the log says %q", inbox, brief(text), brief(end.answer))
		}
	}
	return ""
}

// disputed reports whether two inputs have one run id.
func (w *world) disputed(id protocol.RunID) bool {
	bodies := map[string]bool{}
	for _, in := range w.m.Inputs {
		if in.Run == id {
			bodies[in.Body] = true
		}
	}
	return len(bodies) > 1
}

// replies returns the different answers that an inbox heard.
func (w *world) replies(inbox string) (all []string) {
	for _, id := range w.heard {
		if answer, ok := strings.CutPrefix(w.m.words[id], inbox+"="); ok {
			all = append(all, answer)
		}
	}
	return all
}

// brief is an answer without what is the same in all.
func brief(answer string) string {
	var out protocol.OperatorOutput
	if protocol.Unmarshal([]byte(answer), &out) != nil {
		return answer
	}
	text, _ := out.Message.AsText()
	return text
}

func cutError(answer string) (string, bool) { return strings.CutPrefix(answer, "error: ") }
