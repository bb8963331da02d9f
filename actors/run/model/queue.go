package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// task is a message of the task stream: what it says, and for whom.
type task struct {
	id       int
	name     string
	instance int
	read     run.Task
}

// intern returns the task that says this under this name, which it makes if need be. So a task has the same id on whatever
// way it comes to be.
func (m *machine) intern(name string, instance int, read run.Task) int {
	says, err := json.Marshal(read)
	must(err)
	key := name + string(says)
	if id, ok := m.taskIDs[key]; ok {
		return id
	}
	id := len(m.tasks)
	read.Carrier.ID = run.TaskID{Seq: uint64(id) + 1}
	if read.Input != nil {
		in := *read.Input
		in.Task = read.Carrier.ID
		read.Input = &in
	}
	m.tasks = append(m.tasks, task{id: id, name: name, instance: instance, read: read})
	m.taskIDs[key] = id
	return id
}

func (m *machine) inputTask(in Input) int {
	return m.intern(in.Task, m.instance(orHome(in.In)), run.Task{Input: &run.Input{
		Run: in.Run, Hash: "#" + in.Body, Body: body(in.Body), Mode: in.Mode, Inboxes: in.Inboxes,
	}})
}

func body(text string) []byte {
	b, err := protocol.Marshal(protocol.Text(text).WithSession("s"))
	must(err)
	return b
}

// enqueue puts a task into the stream.
func (w *world) enqueue(id int) {
	i, _ := slices.BinarySearchFunc(w.msgs, id, func(m message, id int) int { return cmp.Compare(m.task, id) })
	w.msgs = slices.Insert(w.msgs, i, message{task: id})
}

// wake puts a wake into the stream. One that says the same and was never delivered is enough.
func (w *world) wake(name string, instance int, read run.Task) {
	for n := 1; ; n++ {
		full := name
		if n > 1 {
			full = fmt.Sprintf("%s, again (%d)", name, n)
		}
		id := w.m.intern(full, instance, read)
		m := w.message(id)
		switch {
		case m == nil:
			w.enqueue(id)
			return
		case m.state == ready && m.n == 0:
			return
		case m.state == gone && !w.remembered(id):
			m.state = ready // another message that nobody can tell from it
			return
		}
	}
}

// remembered reports whether somebody may know a task by its id.
func (w *world) remembered(id int) bool {
	t := &w.m.tasks[id]
	carries := func(n *node) bool { return n != nil && n.fold.Carrier.ID == t.read.Carrier.ID }
	if carries(w.logs[t.instance]) {
		return true
	}
	for _, k := range w.workers {
		if carries(k.sessions[t.instance].at) {
			return true
		}
		for _, d := range k.holds {
			if d.task == id {
				return true
			}
		}
	}
	return false
}

// message returns the message of a task, nil if it never was in the stream.
func (w *world) message(task int) *message {
	for i := range w.msgs {
		if w.msgs[i].task == task {
			return &w.msgs[i]
		}
	}
	return nil
}

// has reports whether a task of that name ever was in the stream.
func (w *world) has(name string) bool {
	return slices.ContainsFunc(w.msgs, func(m message) bool { return w.m.tasks[m.task].name == name })
}

// signal stores a signal; the server makes a wake of it.
func (w *world) signal(instance int, typ string, to protocol.RunID) {
	w.seqs[instance]++
	seq := w.seqs[instance]
	name := fmt.Sprintf("signal %s %s@%d in %s", typ, to, seq, w.m.tries[instance].instance)
	w.wake(name, instance, run.Task{Signal: &run.Signal{Seq: seq, Type: typ, Run: to, Time: epoch}})
}

// remove is an acknowledgement that arrived: from whomever, the message is gone.
func (w *world) remove(id int) {
	m := w.message(id)
	if m.state == gone {
		return
	}
	m.state, m.late, m.n = gone, false, 0
	if bad := w.unstable(&w.m.tasks[id]); bad != "" {
		w.broken(fmt.Sprintf("%s was acknowledged although %s", w.m.tasks[id].name, bad))
	}
}

// back has a task delivered again, if this delivery is the last one and nobody acknowledged it.
func (w *world) back(d *delivery, late bool) {
	if m := w.message(d.task); m.state == out && m.n == d.n {
		m.state, m.late = ready, late
	}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
