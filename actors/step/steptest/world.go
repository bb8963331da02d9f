package steptest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// KillBefore ends the process at the nth record of the instance, counted from 1: what it says happened, and is not in the log.
// Whatever the code asks for from then on gives an *step.Unwind that is Lost, and so does Execute. It holds once.
func (r *Run) KillBefore(n int) { r.killAt(kill{before: n}) }

// KillAfter is KillBefore, but the record is in the log.
func (r *Run) KillAfter(n int) { r.killAt(kill{after: n}) }

func (r *Run) killAt(k kill) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kill = k
}

// Release has the run stop at its next boundary, as a node does that is drained. It holds once.
func (r *Run) Release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.release = true
}

// Signal stores a signal. Its body is data as JSON: a text is a string, nil is no body. It concerns the open run, is heard
// where that asks for it, and resumes the run if it waits for it: Execute then goes on.
func (r *Run) Signal(kind string, data any) { r.SignalAt(kind, data, time.Now()) }

// SignalAt is a Signal that was stored at another time.
func (r *Run) SignalAt(kind string, data any, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	s := run.Signal{Seq: r.seq, Type: kind, Time: at.UTC()}
	if data != nil {
		s.Data = marshal(data)
	}
	r.deliver(run.Task{Signal: &s})
}

// Fire makes the earliest timer due that is set, and returns the path of the step that it belongs to; empty if there is none.
func (r *Run) Fire() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.fold.Open
	if o == nil {
		return ""
	}
	first := ""
	for path, at := range o.Timers {
		if !o.Fired[path] && (first == "" || at.Before(o.Timers[first]) || at.Equal(o.Timers[first]) && path < first) {
			first = path
		}
	}
	if first != "" {
		r.deliver(run.Task{Timer: &run.Timer{Run: o.Run, Path: first, After: o.WaitSeq}})
	}
	return first
}

// EndChild ends a child that the open run began, with an output or an error.
func (r *Run) EndChild(id protocol.RunID, out protocol.OperatorOutput, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fold.Open == nil || r.fold.Open.Children[id] == nil {
		panic(fmt.Sprintf("steptest: no child %s", id))
	}
	r.endChild(childEnd(id, out, err))
}

func (r *Run) endChild(end run.ChildEnd) {
	r.deliver(run.Task{Child: &end, After: r.fold.Open.Children[end.Run].Seq})
}

func childEnd(id protocol.RunID, out protocol.OperatorOutput, err error) run.ChildEnd {
	if err != nil {
		return run.ChildEnd{Run: id, Error: protocol.AsError(err).Clip()}
	}
	return run.ChildEnd{Run: id, Output: json.RawMessage(marshal(out))}
}
