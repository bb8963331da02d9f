package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// The operator's code is a list of steps, journaled as those of package step are:
//
//	pay x             does something that costs, which the world counts
//	await s           waits for a signal of the type s; await s or deadline: or until a timer
//	sleep             waits for a timer
//	call c            begins a child in instance c, run <run>.<path>, and waits for its end
//	hear              takes up the inputs that steer
//	emit x            declares an effect; emit x y: of the family y
//	retry             fails once in a way that may pass
//	fail              fails
//
// At its end it gives an output, which says what the steps returned.

// execute does what the code does next.
func (w *world) execute(k *worker, d *delivery, v variant) bool {
	s, _ := w.session(k, d)
	if d.fact == nil {
		r, paid, ok := w.advance(k, d, s.at.fold, v)
		switch {
		case !ok:
			return false
		case paid:
			return v == plain
		case r != nil && (v == landed || v == vanished):
			return false
		case r != nil:
			d.drv.Ran(*r)
			d.do = doDecide
			return true
		}
	} else if v == leave || v == heardReply {
		return false
	}
	return w.record(k, d, v)
}

// record appends the fact that a delivery has.
func (w *world) record(k *worker, d *delivery, v variant) bool {
	s, _ := w.session(k, d)
	cmd := d.drv.Fact(s.at.fold, d.fact.Item(d.run))
	if cmd.Append == nil {
		if v == landed || v == vanished {
			return false
		}
		w.note("finds that the run is not its own any more")
		d.fact, d.do = nil, doDecide
		d.drv.Ran(run.Result{Lost: true})
		return true
	}
	return w.append(k, d, cmd.Append, true, v)
}

// advance finds the first step that is not recorded. It either is done, and then there is a fact or it was paid for, or the
// code ends with a result.
func (w *world) advance(k *worker, d *delivery, f *run.Fold, v variant) (result *run.Result, paid, ok bool) {
	if !d.drv.Claimed(f) {
		return &run.Result{Lost: true}, false, v == plain
	}
	o := f.Open
	for _, step := range w.m.programs[o.Run] {
		e := o.Journal[step.path]
		if step.kind == "emit" || e != nil && !e.Begun {
			continue
		}
		if step.kind == "hear" && len(steering(f)) == 0 {
			continue
		}
		if e == nil { // the boundary before a step that is not recorded
			switch {
			case f.Stopping():
				return &run.Result{Cancelled: true}, false, v == plain
			case o.Paused:
				return &run.Result{Wait: &run.Wait{Reason: run.WaitPaused, Paused: true}}, false, v == plain
			case v == leave:
				w.left.Leave--
				w.note("leaves")
				return &run.Result{Released: true}, false, true
			}
		}
		if v == leave || v == heardReply && step.kind != "call" {
			return nil, false, false
		}
		return w.begin(k, d, f, step, v)
	}
	if v == leave || v == heardReply {
		return nil, false, false
	}
	return &run.Result{Output: w.output(f)}, false, true
}

// begin does a step that is not recorded.
func (w *world) begin(k *worker, d *delivery, f *run.Fold, step op, v variant) (result *run.Result, paid, ok bool) {
	o := f.Open
	d.run = o.Run
	fact := run.Entry{Path: step.path, Step: run.StepCode, Name: step.name}
	switch step.kind {
	case "pay":
		w.pay(k, d, f, step)
		fact.Result = []byte(strconv.Itoa(int(w.paid[step.paid])))
		one := protocol.MustDecimal("1")
		fact.Cost = &one
		d.fact = &fact
		return nil, true, true
	case "await", "sleep":
		fact.Step = run.StepAwait
		wait := run.Wait{Reason: run.WaitSignal, Path: step.path}
		if step.kind == "await" {
			wait.Signals = []string{step.name}
			for _, s := range o.Mailbox {
				if s.Type == step.name {
					fact.Signals, fact.Result = []uint64{s.Seq}, []byte(`"signal"`)
					d.fact = &fact
					return nil, false, true
				}
			}
		}
		if step.kind == "sleep" || step.or {
			wait.Timers = []run.Due{{Path: step.path, At: epoch}}
			if o.Fired[step.path] {
				fact.Result = []byte(`"timer"`)
				d.fact = &fact
				return nil, false, true
			}
		}
		return &run.Result{Wait: &wait}, false, true
	case "call":
		return w.call(k, d, f, step, fact, v)
	case "hear":
		fact.Step = run.StepSteer
		for _, in := range steering(f) {
			fact.Inputs = append(fact.Inputs, in.Run)
		}
		d.fact = &fact
		return nil, false, true
	case "retry":
		if o.Attempt > 1 {
			fact.Result = []byte(`"retried"`)
			d.fact = &fact
			return nil, false, true
		}
		return &run.Result{Error: protocol.NewError(protocol.CodeUnavailable, "later"), Retry: epoch}, false, true
	}
	return &run.Result{Error: protocol.NewError(protocol.CodeToolError, "it failed")}, false, true
}

// call begins a child, dispatches it once in each execution, and waits.
func (w *world) call(k *worker, d *delivery, f *run.Fold, step op, fact run.Entry, v variant) (result *run.Result, paid, ok bool) {
	id := protocol.RunID(string(f.Open.Run) + "." + step.path)
	child := run.Child{Operator: operator, Instance: step.name, Run: id}
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
		w.dispatch(f, *c, slices.Contains(d.begun, string(id)))
		return nil, true, true
	}
	if v == heardReply {
		reply, heard := w.reply("call " + string(id))
		if !heard || !slices.Contains(d.begun, string(id)) {
			return nil, false, false
		}
		if e, failed := strings.CutPrefix(reply, "error: "); failed {
			fact.Error = protocol.NewError(protocol.CodeCancelled, e)
		} else {
			var out protocol.OperatorOutput
			must(protocol.Unmarshal([]byte(reply), &out))
			fact.Result, fact.Cost = []byte(reply), &out.Metadata.Cost
		}
		w.note("hears the end of its child %s itself", id)
		d.fact = &fact
		return nil, false, true
	}
	return &run.Result{Wait: &run.Wait{Reason: run.WaitChild, Children: []protocol.RunID{id}, Path: step.path}}, false, true
}

// dispatch enqueues the input of a child.
func (w *world) dispatch(f *run.Fold, c run.Child, first bool) {
	in := run.Input{
		Run: c.Run, Hash: "#child", Body: body("child"),
		Parent: &run.Parent{Operator: operator, Instance: f.Instance, Run: f.Open.Run, Seq: c.Seq},
	}
	if first {
		in.Inboxes = []string{"call " + string(c.Run)}
	}
	w.note("dispatches %s", c.Run)
	w.wake(fmt.Sprintf("input of %s (%v)", c.Run, first), w.m.instance(c.Instance), run.Task{Input: &in})
}

// output is what the code gives at its end: it depends on what every step returned.
func (w *world) output(f *run.Fold) *run.Completed {
	o := f.Open
	var said []string
	var effects protocol.Effects
	for _, step := range w.m.programs[o.Run] {
		if e := o.Journal[step.path]; e != nil && step.kind == "pay" {
			said = append(said, string(e.Result))
		}
	}
	text := string(o.Run) + ":" + strings.Join(said, ",")
	for _, step := range w.m.programs[o.Run] {
		switch {
		case step.kind == "emit" && step.or:
			effects = append(effects, protocol.CustomEffect{EffectType: step.name, Data: []byte(strconv.Quote(text))})
		case step.kind == "emit":
			effects = append(effects, protocol.Log{Level: "info", Message: step.name + " " + text})
		}
	}
	out := protocol.Reply(text)
	out.Effects, out.Metadata.Cost = effects, o.Cost
	data, err := protocol.Marshal(out)
	must(err)
	return &run.Completed{Output: data}
}

// steering are the queued inputs that want to be heard.
func steering(f *run.Fold) (found []run.Waiting) {
	for _, in := range f.Queue {
		if in.Mode == run.Steer {
			found = append(found, in)
		}
	}
	return found
}
