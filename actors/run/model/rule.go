package model

import (
	"slices"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// Rule is a rule of the protocol that the played world can do without, to see what comes of it.
type Rule string

// The rules.
const (
	ruleFence        Rule = "every append is fenced"
	ruleJanitorFence Rule = "the janitor's too"
	ruleCarrier      Rule = "a duplicate does not take over"
	ruleNewest       Rule = "an older delivery does not take over from a newer one"
	ruleCommitFirst  Rule = "no acknowledgement before the commit"
	ruleQueue        Rule = "the carrier is kept while inputs wait"
	rulePrevious     Rule = "who claims settles the commit before"
	ruleSettleFirst  Rule = "settle before the acknowledgement"
	ruleConflict     Rule = "a conflict is not lost ownership"
	ruleDecideAnew   Rule = "a suspension that conflicts is decided anew"
	ruleUnknown      Rule = "an unknown outcome is not lost ownership"
	ruleSameID       Rule = "an unknown outcome is settled by the same id"
	ruleNote         Rule = "a wake is noted before it is acknowledged"
	ruleOneMessage   Rule = "what ends a wait and the claim are one message"
	ruleAttach       Rule = "a further caller is attached"
	ruleEarly        Rule = "a signal holds for a run that has not begun"
	ruleTimersAfter  Rule = "timers are set after the commit"
	ruleTimersAgain  Rule = "timers are set again by whoever comes next"
	ruleOlder        Rule = "a timer that was set again is of no account"
	ruleBehind       Rule = "who is behind gives a wake back"
	ruleEffectsAfter Rule = "effects are published after the commit"
	ruleAnswerAfter  Rule = "callers are answered after the commit"
	ruleBar          Rule = "a child that may never begin is barred"
	ruleRefusal      Rule = "a parent hears of a refusal"
	ruleHeld         Rule = "the janitor waits for the carrier"
	ruleKnown        Rule = "a closed instance knows its last runs"
)

// next asks a driver what to do, and does without a rule.
func (w *world) next(k *worker, d *delivery) run.Command {
	s, i := w.session(k, d)
	f := s.at.fold
	d.drv.Settled(s.settled)
	if t := d.drv.Task.Timer; t != nil && w.m.without == ruleOlder && f.Open != nil {
		newer := *t
		newer.After = max(t.After, f.Open.Behind[t.Path])
		d.drv.Task.Timer = &newer
	}
	c := d.drv.Next(f)
	switch w.m.without {
	case ruleCarrier:
		t := &w.m.tasks[d.task].read
		if o := f.Open; c.Append == nil && t.Input != nil && o != nil && o.Run == t.Input.Run && o.Wait == nil && f.Carrier.ID != t.Carrier.ID {
			return run.Command{Append: []run.Item{{Kind: protocol.EventInvocationStarted, Run: o.Run, Data: run.Started{
				Carrier: d.drv.Task.Carrier, Node: w.m.Policy.Node, Attempt: o.Attempt + 1,
			}}}}
		}
	case ruleCommitFirst:
		if c.Run {
			w.remove(d.task)
		}
	case ruleQueue:
		if f.Carrier.ID == d.drv.Task.Carrier.ID && c.Append != nil && f.Open == nil && len(f.Queue) > 0 {
			return run.Command{Ack: true}
		}
	case rulePrevious:
		if c.Settle != nil && c.Settle.Seq != d.own {
			d.drv.Settled(c.Settle.Seq)
			return d.drv.Next(f)
		}
	case ruleNote:
		if isKind(c, protocol.EventNoted) && f.Open != nil && f.Open.Wait == nil {
			return run.Command{Ack: true}
		}
	case ruleSettleFirst:
		if c.Settle != nil && c.Settle.Seq == d.own {
			w.remove(d.task)
		}
	case ruleOneMessage:
		if isKind(c, protocol.EventInvocationStarted) && len(c.Append) > 1 {
			return run.Command{Append: c.Append[1:]}
		}
	case ruleAttach:
		if isKind(c, protocol.EventAttached) {
			return run.Command{Ack: true}
		}
	case ruleTimersAfter:
		if isKind(c, protocol.EventSuspended) {
			for _, t := range c.Append[0].Data.(run.Suspended).Wait.Timers { //nolint:forcetypeassert // its kind says so
				if w.timer(i, c.Append[0].Run, t.Path) == nil {
					w.setTimer(i, c.Append[0].Run, t.Path, f.Seq)
				}
			}
		}
	case ruleEarly:
		if isKind(c, protocol.EventNoted) {
			return forgetEarly(f, c)
		}
	case ruleEffectsAfter, ruleAnswerAfter:
		if isKind(c, protocol.EventCompleted) {
			w.tooEarly(s, i, c)
		}
	default: // it is missed elsewhere
	}
	return c
}

func isKind(c run.Command, kind protocol.EventKind) bool {
	return len(c.Append) > 0 && c.Append[0].Kind == kind
}

// forgetEarly ignores a signal for a run that is not open.
func forgetEarly(f *run.Fold, c run.Command) run.Command {
	note := c.Append[0].Data.(run.Noted) //nolint:forcetypeassert // its kind says so
	if note.Signal != nil && (f.Open == nil || f.Open.Run != note.Signal.Run) {
		note.Ignored = true
		c.Append = slices.Clone(c.Append)
		c.Append[0].Data = note
	}
	return c
}

// tooEarly does what follows from a commit before that is one.
func (w *world) tooEarly(s *session, i int, c run.Command) {
	n := w.m.tries[i].append(s.at, s.at.record.Seq+1, "too early", c.Append)
	for _, p := range piecesOf(n.fold.Last) {
		if p.what == "effect" && w.m.without == ruleEffectsAfter || p.what == "answer" && w.m.without == ruleAnswerAfter {
			w.follow(i, n.fold.Last, p)
		}
	}
}

// pieces are those of the commit that a delivery settles.
func (w *world) pieces(d *delivery) []piece {
	return slices.DeleteFunc(piecesOf(d.commit), func(p piece) bool {
		switch p.what {
		case "timer":
			return w.m.without == ruleTimersAfter || w.m.without == ruleTimersAgain && d.commit.Seq != d.own
		case "bar":
			return w.m.without == ruleBar
		}
		return false
	})
}

// remember is what the record of a closed instance keeps.
func (w *world) remember(i run.Item) run.Item {
	if w.m.without == ruleKnown {
		f := *i.Data.(*run.Fold) //nolint:forcetypeassert // see Fold.Close
		f.Known = nil
		i.Data = &f
	}
	return i
}

// conflict is what a worker makes of a conflict: it has read the tail, and decides anew; facts it appends again.
func (w *world) conflict(d *delivery, items []run.Item) {
	switch {
	case w.m.without == ruleConflict:
		w.back(d, false)
		d.do = doEnd
	case w.m.without == ruleDecideAnew && items[0].Kind == protocol.EventSuspended:
		d.doubt, d.do = &doubt{id: "blind", items: items}, doUnsure
	}
}

// noAnswer is what a worker makes of an append that was not answered: it will repeat it.
func (w *world) noAnswer(d *delivery) {
	if w.m.without == ruleUnknown {
		w.back(d, false)
		d.do, d.doubt = doEnd, nil
	}
}
