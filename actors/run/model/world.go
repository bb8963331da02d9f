package model

import (
	"encoding/binary"
	"slices"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// world is everything that there is at a moment. Its steps are in step.go and event.go.
type world struct {
	m       *machine
	logs    []*node  // by instance
	seqs    []uint64 // the last sequence of each: of its log, or of a signal to it
	msgs    []message
	workers [2]worker
	timers  []timer
	paid    []uint8  // how often, by payment
	heard   []uint16 // words: which inbox got which answer
	out     []uint16 // words: which effects were published
	signals int      // how many of the scenario's are stored
	janitor *node    // the log of the first instance as the janitor saw it, who is to close it; else nil
	left    Faults   // what may still go wrong
	bad     string   // the rule that is broken

	tell func(format string, args ...any) // what happens, for a trace; may be nil
}

// message is a task in the stream.
type message struct {
	task  int
	state state
	late  bool  // it was given back, and is in no hurry
	n     uint8 // how often it was delivered
}

type state uint8

const (
	ready state = iota
	out         // delivered and not acknowledged
	gone        // acknowledged
)

// worker is a process: what it remembers of each instance, and the tasks that it sees through.
type worker struct {
	sessions []session
	holds    []delivery
}

// session is what a worker knows of an instance; nil is nothing.
type session struct {
	at      *node
	settled uint64
}

// timer is one that was set.
type timer struct {
	instance int
	run      protocol.RunID
	path     string
	after    uint64
	pending  bool
}

func (m *machine) start() *world {
	w := &world{m: m, left: m.Faults, paid: make([]uint8, len(m.payments))}
	for _, t := range m.tries {
		w.logs = append(w.logs, t.root)
	}
	w.seqs = make([]uint64, len(w.logs))
	for i := range w.workers {
		w.workers[i].sessions = make([]session, len(m.tries))
	}
	for _, in := range m.Inputs {
		w.enqueue(m.inputTask(in))
	}
	return w
}

func (w *world) clone() *world {
	c := *w
	c.logs = slices.Clone(w.logs)
	c.seqs = slices.Clone(w.seqs)
	c.msgs = slices.Clone(w.msgs)
	c.timers = slices.Clone(w.timers)
	c.paid = slices.Clone(w.paid)
	c.heard = slices.Clone(w.heard)
	c.out = slices.Clone(w.out)
	for i := range c.workers {
		c.workers[i].sessions = slices.Clone(w.workers[i].sessions)
		c.workers[i].holds = slices.Clone(w.workers[i].holds)
	}
	return &c
}

// fold is what the log of an instance says, whoever knows of it.
func (w *world) fold(instance int) *run.Fold { return w.logs[instance].fold }

func (w *world) note(format string, args ...any) {
	if w.tell != nil {
		w.tell(format, args...)
	}
}

// broken remembers the first rule that is broken.
func (w *world) broken(rule string) {
	if w.bad == "" {
		w.bad = rule
	}
}

// key tells worlds apart. The workers have no names, so those that differ only in them are one.
func (w *world) key(buf []byte) []byte {
	b := buf
	for i, n := range w.logs {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(n.id)), w.seqs[i])
	}
	b = append(b, byte(len(w.msgs)))
	for _, m := range w.msgs {
		b = append(binary.AppendUvarint(b, uint64(m.task)), byte(m.state), bit(m.late), m.n)
	}
	b = append(b, byte(len(w.timers)))
	for _, t := range w.timers {
		b = append(binary.AppendUvarint(b, t.after), byte(t.instance), bit(t.pending))
		b = append(append(append(b, t.run...), '/'), t.path...)
	}
	b = append(b, w.paid...)
	for _, set := range [][]uint16{w.heard, w.out} {
		b = append(b, byte(len(set)))
		for _, id := range set {
			b = binary.AppendUvarint(b, uint64(id))
		}
	}
	b = appendNode(append(b, byte(w.signals)), w.janitor)
	l := w.left
	b = append(b, l.Crash, l.Expire, l.LoseAck, l.Unknown, l.Stale, l.Twice, l.Trouble, l.Leave, l.Listen, l.Janitor)
	first, second := w.workers[0].key(nil), w.workers[1].key(nil)
	if slices.Compare(first, second) > 0 {
		first, second = second, first
	}
	return append(append(b, first...), second...)
}

func (k *worker) key(b []byte) []byte {
	for _, s := range k.sessions {
		b = binary.AppendUvarint(appendNode(b, s.at), s.settled)
	}
	b = append(b, byte(len(k.holds)))
	for i := range k.holds {
		b = k.holds[i].key(b)
	}
	return append(b, 0xff)
}

func appendNode(b []byte, n *node) []byte {
	if n == nil {
		return append(b, 0)
	}
	return binary.AppendUvarint(b, uint64(n.id)+1)
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// add puts a word into a sorted set.
func add(set []uint16, word uint16) []uint16 {
	i, have := slices.BinarySearch(set, word)
	if have {
		return set
	}
	return slices.Insert(set, i, word)
}

func has(set []uint16, word uint16) bool {
	_, have := slices.BinarySearch(set, word)
	return have
}
