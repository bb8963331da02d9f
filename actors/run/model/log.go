package model

import (
	"fmt"
	"slices"
	"time"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

const operator protocol.OperatorID = "op"

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// trie holds every log of an instance that was ever come to: a log is a node, the records those on the way to it. So equal
// logs are one pointer, and each is folded once.
type trie struct {
	instance string
	root     *node
	nodes    int
}

// node is a log, by its last record.
type node struct {
	id     int
	up     *node
	record run.Record
	next   map[string]*node

	fold *run.Fold
	seen seen
	bad  string // the rule that the log itself breaks
}

func newTrie(instance string) *trie {
	return &trie{instance: instance, root: &node{fold: run.New(operator, instance)}}
}

// append returns the log with one more record.
func (t *trie) append(at *node, seq uint64, id string, items []run.Item) *node {
	e := protocol.Event{ID: id, Kind: items[0].Kind, Operator: operator, Instance: t.instance, Run: items[0].Run, Time: epoch, Data: data(items[0])}
	for _, i := range items[1:] {
		e.Also = append(e.Also, protocol.EventPart{Kind: i.Kind, Data: data(i)})
	}
	key, err := protocol.Marshal(e)
	must(err)
	key = fmt.Append(key, seq)
	if have := at.next[string(key)]; have != nil {
		return have
	}
	t.nodes++
	n := &node{id: t.nodes, up: at, record: run.Record{Seq: seq, Event: e}}
	if at.next == nil {
		at.next = map[string]*node{}
	}
	at.next[string(key)] = n
	if n.fold, err = load(t.instance, n); err != nil {
		n.bad = "the log cannot be folded: " + err.Error()
		return n
	}
	n.seen, n.bad = at.seen.and(at.fold, n, items)
	return n
}

// load folds a log as a node does that never saw it: from the last snapshot.
func load(instance string, n *node) (*run.Fold, error) {
	f := run.New(operator, instance)
	for _, r := range n.records(true) {
		if err := f.Apply(r); err != nil {
			return f, err
		}
	}
	return f, nil
}

// records returns the log, or what is left of it behind the last snapshot.
func (n *node) records(short bool) []run.Record {
	var all []run.Record
	for ; n.up != nil; n = n.up {
		all = append(all, n.record)
		if k := n.record.Event.Kind; short && (k == protocol.EventSnapshot || k == protocol.EventClosed) {
			break
		}
	}
	slices.Reverse(all)
	return all
}

// find looks for a record by its event id, behind the log before.
func (n *node) find(id string, before *node) *node {
	for ; n != nil && n != before; n = n.up {
		if n.up != nil && n.record.Event.ID == id {
			return n
		}
	}
	return nil
}

func (n *node) String() string {
	if n.up == nil {
		return "empty"
	}
	e := n.record.Event
	s := fmt.Sprintf("%d %s %s", n.record.Seq, e.Kind, e.Run)
	for _, p := range e.Also {
		s += " + " + string(p.Kind)
	}
	return s
}

func data(i run.Item) []byte {
	d, err := protocol.Marshal(i.Data)
	must(err)
	return d
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
