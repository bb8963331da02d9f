package model

import (
	"fmt"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// doubt is an append that was not answered.
type doubt struct {
	id    string
	at    *node // that it was to be behind
	items []run.Item
	fact  bool
}

// append tries to put items into the log.
func (w *world) append(k *worker, d *delivery, items []run.Item, fact bool, v variant) bool {
	s, i := w.session(k, d)
	id := fmt.Sprintf("%d.%d@%d", d.task, d.n, s.at.record.Seq)
	fits := s.at == w.logs[i] || w.m.without == ruleFence
	switch {
	case v == landed && !fits:
		return false
	case v == landed || v == vanished:
		w.left.Unknown--
		d.doubt = &doubt{id: id, at: s.at, items: items, fact: fact}
		if v == landed {
			w.commit(i, id, items)
		}
		w.note("appends %s, and hears nothing of it (it is %s)", kinds(items), [...]string{landed: "in the log", vanished: "lost"}[v])
		d.do = doUnsure
		w.noAnswer(d)
	case fits:
		s.at = w.commit(i, id, items)
		w.note("appends %s", w.logs[i])
		w.appended(d, s.at, items, id, fact)
	default:
		w.note("cannot append %s: conflict", kinds(items))
		s.at = w.logs[i]
		w.conflict(d, items)
	}
	return true
}

// again repeats an append with the same id. Where that is in the log already, it is told so.
func (w *world) again(k *worker, d *delivery) bool {
	s, i := w.session(k, d)
	b := d.doubt
	d.doubt, d.do = nil, doDecide
	if b.fact {
		d.do = doRun
	}
	there := w.logs[i].find(b.id, b.at)
	blind := w.m.without == ruleSameID || w.m.without == ruleDecideAnew
	switch {
	case there != nil && !blind:
		w.note("hears that %s is in the log", kinds(b.items))
		s.at = w.logs[i]
		w.appended(d, there, b.items, b.id, b.fact)
	case w.logs[i] == b.at || blind:
		s.at = w.commit(i, b.id+"'", b.items)
		w.note("appends %s once more", w.logs[i])
		w.appended(d, s.at, b.items, b.id+"'", b.fact)
	default:
		w.note("cannot append %s once more: conflict", kinds(b.items))
		s.at = w.logs[i]
		w.conflict(d, b.items)
	}
	return true
}

func (w *world) commit(instance int, id string, items []run.Item) *node {
	w.seqs[instance]++
	n := w.m.tries[instance].append(w.logs[instance], w.seqs[instance], id, items)
	w.logs[instance] = n
	if n.bad != "" {
		w.broken(n.bad)
	}
	return n
}

func (w *world) appended(d *delivery, n *node, items []run.Item, id string, fact bool) {
	d.drv.Appended(items, id)
	switch items[0].Kind { //nolint:exhaustive // the commits
	case protocol.EventSuspended, protocol.EventCompleted, protocol.EventFailed, protocol.EventCancelled:
		d.own = n.record.Seq
	}
	if fact {
		d.fact = nil
		d.do = doRun
	}
}
