package model

import (
	"encoding/binary"
	"fmt"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// delivery is a task that a worker sees through, by a driver of package run.
type delivery struct {
	task int
	n    uint8 // which delivery of the task
	drv  run.Driver

	do     todo
	commit *run.Commit    // that is being settled
	piece  int            // what is next of it
	known  run.Known      // what is to be answered
	fact   *run.Entry     // what happened and is not in the log
	run    protocol.RunID // in which it did
	begun  []string       // children that this execution began itself
	sent   []string       // children that it dispatched
	doubt  *doubt         // the append whose outcome is not known
	own    uint64         // the last commit that this delivery made
}

// todo is what a delivery does next.
type todo uint8

const (
	doDecide todo = iota // ask the driver
	doAppend             // what the driver says, asked once more
	doUnsure             // append again what was not answered
	doSettle
	doRun
	doAnswer
	doAck
	doBack
	doBackLate
	doEnd // nothing any more
)

// variant is how a step goes.
type variant uint8

const (
	plain      variant = iota
	landed             // an append gets into the log, and nobody says so
	vanished           // an append does not, and nobody says so
	ackLost            // an acknowledgement does not arrive
	trouble            // the task is given up for now
	leave              // the run is given away
	heardReply         // the end of a child is heard at once, not by a wake
)

// step does the next thing that others can notice, and what follows from it in memory. False says that it cannot go that way.
func (w *world) step(wi, di int, v variant) bool {
	k := &w.workers[wi]
	d := &k.holds[di]
	if v == trouble {
		if d.fact != nil || d.doubt != nil {
			return false
		}
		w.left.Trouble--
		w.note("gives it up for now")
		w.back(d, false)
		d.do = doEnd
	} else if !w.perform(k, d, v) {
		return false
	}
	if d.do == doDecide {
		w.decide(k, d)
	}
	if d.do == doEnd {
		w.end(k, di)
	}
	return true
}

func (w *world) perform(k *worker, d *delivery, v variant) bool {
	if v == ackLost && d.do != doAck || v == leave && d.do != doRun || v == heardReply && d.do != doRun {
		return false
	}
	uncertain := v == landed || v == vanished
	switch d.do {
	case doAppend:
		cmd := w.next(k, d)
		if cmd.Append == nil { // somebody in the same process appended meanwhile
			d.do = doDecide
			return !uncertain
		}
		d.do = doDecide
		return w.append(k, d, cmd.Append, false, v)
	case doUnsure:
		return !uncertain && w.again(k, d)
	case doRun:
		return w.execute(k, d, v)
	default:
		if uncertain {
			return false
		}
		w.carry(k, d, v)
		return true
	}
}

// carry does what is no append and none of the operator's code.
func (w *world) carry(k *worker, d *delivery, v variant) {
	switch d.do {
	case doSettle:
		w.settle(k, d)
	case doAnswer:
		w.answerKnown(d)
	case doAck:
		if d.do = doEnd; v == ackLost {
			w.left.LoseAck--
			w.note("acknowledges, and the acknowledgement is lost")
			w.back(d, false)
			return
		}
		w.note("acknowledges")
		w.remove(d.task)
	case doBack, doBackLate:
		w.note("gives it back")
		w.back(d, d.do == doBackLate)
		d.do = doEnd
	default:
	}
}

// decide asks the driver, whose answer is what the next step does. What is no step for others is done here.
func (w *world) decide(k *worker, d *delivery) {
	for d.do == doDecide {
		cmd := w.next(k, d)
		switch {
		case cmd.Append != nil:
			d.do = doAppend
		case cmd.Settle != nil:
			d.do, d.commit, d.piece = doSettle, cmd.Settle, 0
			if len(w.pieces(d)) == 0 {
				w.settled(k, d)
			}
		case cmd.Run:
			d.do, d.begun, d.sent = doRun, nil, nil
		case cmd.Answer != nil:
			d.do, d.known = doAnswer, *cmd.Answer
		case cmd.Ack:
			if d.do = doAck; w.message(d.task).state == gone {
				d.do = doEnd
			}
		case cmd.GiveBack:
			if d.do = doBack; cmd.Delay > 0 {
				d.do = doBackLate
			}
		default:
			w.note("lets go of it")
			w.back(d, false)
			d.do = doEnd
		}
	}
}

// session is what the worker knows of the instance that a delivery is for.
func (w *world) session(k *worker, d *delivery) (*session, int) {
	i := w.m.tasks[d.task].instance
	return &k.sessions[i], i
}

// end forgets a delivery, and what is known of its instance if nobody is to remember that.
func (w *world) end(k *worker, di int) {
	i := w.m.tasks[k.holds[di].task].instance
	k.holds = append(k.holds[:di], k.holds[di+1:]...)
	for _, d := range k.holds {
		if w.m.tasks[d.task].instance == i {
			return
		}
	}
	if w.left.Stale == 0 {
		k.sessions[i] = session{}
	}
}

func kinds(items []run.Item) string {
	s := fmt.Sprintf("%s %s", items[0].Kind, items[0].Run)
	for _, i := range items[1:] {
		s += " + " + string(i.Kind)
	}
	return s
}

func (d *delivery) key(b []byte) []byte {
	b = append(binary.AppendUvarint(b, uint64(d.task)), d.n, byte(d.do), byte(d.piece))
	if d.commit != nil && d.do == doSettle {
		b = binary.AppendUvarint(b, d.commit.Seq)
	}
	b = binary.AppendUvarint(b, d.own)
	if d.do == doAnswer {
		b = append(append(b, d.known.Run...), d.known.Kind...)
	}
	if d.fact != nil {
		b = append(append(append(b, d.fact.Path...), '='), d.fact.Result...)
	}
	for _, list := range [][]string{d.begun, d.sent} {
		for _, s := range list {
			b = append(append(b, s...), ',')
		}
		b = append(b, ';')
	}
	if d.doubt != nil {
		b = append(append(b, d.doubt.id...), '?')
	}
	return appendDriver(b, &d.drv)
}
