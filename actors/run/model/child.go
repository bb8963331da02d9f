package model

import (
	"fmt"
	"slices"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// call begins a child, dispatches it once in each execution, and waits.
func (w *world) call(d *delivery, f *run.Fold, step op, fact run.Entry, v variant) (result *run.Result, paid, ok bool) {
	id := protocol.RunID(string(f.Open.Run) + "." + step.path)
	child := run.Child{Operator: operator, Instance: step.name, Run: id, Detached: step.kind == "spawn"}
	fact.Step = run.StepCall
	switch c := f.Open.Children[id]; {
	case c == nil:
		if v == heardReply {
			return nil, false, false
		}
		fact.Begun, fact.Child = true, &child
		d.fact = &fact
		d.begun = append(slices.Clip(d.begun), string(id))
		return nil, false, true
	case !slices.Contains(d.sent, string(id)):
		if v != plain {
			return nil, false, false
		}
		d.sent = append(slices.Clip(d.sent), string(id))
		w.dispatch(f, *c, step, slices.Contains(d.begun, string(id)) && !c.Detached)
		return nil, true, true
	case c.Detached: // not before: its start alone does not say that it was dispatched
		fact.Result = []byte(`"spawned"`)
		d.fact = &fact
		return nil, false, true
	}
	if v == heardReply {
		replies := w.replies("call " + string(id))
		if len(replies) == 0 || !slices.Contains(d.begun, string(id)) {
			return nil, false, false
		}
		if e, failed := cutError(replies[0]); failed {
			fact.Error = protocol.NewError(protocol.CodeCancelled, e)
		} else {
			var out protocol.OperatorOutput
			must(protocol.Unmarshal([]byte(replies[0]), &out))
			fact.Result, fact.Cost = []byte(replies[0]), &out.Metadata.Cost
		}
		w.note("hears the end of its child %s itself", id)
		d.fact = &fact
		return nil, false, true
	}
	return &run.Result{Wait: &run.Wait{Reason: run.WaitChild, Children: []protocol.RunID{id}, Path: step.path}}, false, true
}

// dispatch enqueues the input of a child.
func (w *world) dispatch(f *run.Fold, c run.Child, step op, first bool) {
	in := run.Input{
		Mode: step.mode,
		Run:  c.Run, Hash: "#child", Body: body("child"),
		Parent: &run.Parent{Operator: operator, Instance: f.Instance, Run: f.Open.Run, Seq: c.Seq},
	}
	if first {
		in.Inboxes = []string{"call " + string(c.Run)}
	}
	w.note("dispatches %s", c.Run)
	w.wake(fmt.Sprintf("input of %s (%v)", c.Run, first), w.m.instance(c.Instance), run.Task{Input: &in})
}

// tellParent wakes the run that waits for the end of this one.
func (w *world) tellParent(in *run.Input, answer string) {
	w.note("tells %s that %s is over", in.Parent.Run, in.Run)
	w.wake(parentWake(in), w.m.instance(in.Parent.Instance), run.Task{Child: childEnd(in.Run, answer), After: in.Parent.Seq})
}

func parentWake(in *run.Input) string { return fmt.Sprintf("end of %s", in.Run) }

func childEnd(id protocol.RunID, answer string) *run.ChildEnd {
	if text, failed := cutError(answer); failed {
		return &run.ChildEnd{Run: id, Error: protocol.NewError(protocol.CodeCancelled, text)}
	}
	return &run.ChildEnd{Run: id, Output: []byte(answer)}
}
