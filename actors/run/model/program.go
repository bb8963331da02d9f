package model

import (
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
//	call c            begins a child in instance c, run <run>.<path>, and waits for its end; call c reject: it will not queue
//	spawn c           begins a child and goes on; await child waits for its end
//	ask               asks a person, until approve or deny
//	hear              takes up the inputs that steer
//	emit x            declares an effect; emit x y: of the family y
//	behind            waits twice, at a timer of no step, until what an earlier turn wrote can be read
//	retry             fails once in a way that may pass
//	fail              fails
//
// At its end it gives an output, which says what the steps returned.

// execute does what the code does next.
func (w *world) execute(k *worker, d *delivery, v variant) bool {
	s, _ := w.session(k, d)
	if d.fact == nil {
		r, paid, ok := w.advance(d, s.at, v)
		switch {
		case !ok:
			return false
		case paid:
			return v == plain
		case r != nil && (v == landed || v == vanished):
			return false
		case r != nil:
			w.note("its code ends: %s", ending(r))
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
func (w *world) advance(d *delivery, at *node, v variant) (result *run.Result, paid, ok bool) {
	f := at.fold
	if !d.drv.Claimed(f) {
		return &run.Result{Lost: true}, false, v == plain
	}
	o := f.Open
	for _, step := range w.m.programs[o.Run] {
		e := o.Journal[step.path]
		if step.kind == "emit" || e != nil && !e.Begun {
			continue
		}
		if step.kind == "hear" && len(f.Steering()) == 0 {
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
		if v == leave || v == heardReply && step.kind != "call" { // only a call has a reply
			return nil, false, false
		}
		return w.begin(d, at, step, v)
	}
	if v == leave || v == heardReply {
		return nil, false, false
	}
	return &run.Result{Output: w.output(f)}, false, true
}

// unseen reports whether the next thing that a delivery's code does is of no account to others: it pays, or dispatches.
func (w *world) unseen(k *worker, d *delivery) bool {
	s, _ := w.session(k, d)
	f := s.at.fold
	if d.fact != nil || !d.drv.Claimed(f) || f.Stopping() || f.Open.Paused {
		return false
	}
	for _, step := range w.m.programs[f.Open.Run] {
		e := f.Open.Journal[step.path]
		if step.kind == "emit" || step.kind == "hear" && len(f.Steering()) == 0 || e != nil && !e.Begun {
			continue
		}
		return step.kind == "pay" ||
			(step.kind == "call" || step.kind == "spawn") && e != nil && !slices.Contains(d.sent, string(f.Open.Run)+"."+step.path)
	}
	return false
}

// begin does a step that is not recorded.
func (w *world) begin(d *delivery, at *node, step op, v variant) (result *run.Result, paid, ok bool) {
	f, o := at.fold, at.fold.Open
	d.run = o.Run
	fact := run.Entry{Path: step.path, Step: run.StepCode, Name: step.name}
	switch step.kind {
	case "pay":
		w.pay(at, w.m.tasks[d.task].instance, step)
		fact.Result = []byte(strconv.Itoa(int(w.paid[step.paid])))
		one := protocol.MustDecimal("1")
		fact.Cost = &one
		d.fact = &fact
		return nil, true, true
	case "await", "sleep", "ask":
		return wait(d, o, step, fact), false, true
	case "call", "spawn":
		return w.call(d, f, step, fact, v)
	case "hear":
		fact.Step = run.StepSteer
		for _, in := range f.Steering() {
			fact.Inputs = append(fact.Inputs, in.Run)
		}
		d.fact = &fact
		return nil, false, true
	case "behind":
		if o.Attempt > 2 {
			fact.Result = []byte(`"there"`)
			d.fact = &fact
			return nil, false, true
		}
		return &run.Result{Wait: &run.Wait{Reason: run.WaitEffects, Timers: []run.Due{{Path: "memory", At: epoch}}}}, false, true
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

// asking is the name of the steps that ask a person.
const asking = "approval"

// wait finds what a step waits for, or returns that the run has to wait.
func wait(d *delivery, o *run.Open, step op, fact run.Entry) *run.Result {
	fact.Step = run.StepAwait
	w := run.Wait{Reason: run.WaitSignal, Path: step.path}
	switch step.kind {
	case "await":
		w.Signals = []string{step.name}
	case "ask":
		fact.Name = asking
		w.Reason, w.Signals = run.WaitApproval, []string{run.SignalApprove, run.SignalDeny}
		w.Approval = &protocol.ApprovalRequest{RunID: o.Run, WaitPoint: step.path, Pending: []protocol.PendingToolCall{
			{CallID: step.path, ToolName: "tool", ToolInput: []byte("{}")},
		}}
	}
	for _, s := range o.Mailbox {
		if slices.Contains(w.Signals, s.Type) && (fact.Signals == nil || step.kind == "ask") {
			fact.Signals, fact.Result = append(fact.Signals, s.Seq), []byte(`"signal"`)
		}
	}
	if fact.Signals != nil {
		d.fact = &fact
		return nil
	}
	if step.kind == "sleep" || step.or {
		w.Timers = []run.Due{{Path: step.path, At: epoch}}
		if o.Fired[step.path] {
			fact.Result = []byte(`"timer"`)
			d.fact = &fact
			return nil
		}
	}
	return &run.Result{Wait: &w}
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

func ending(r *run.Result) string {
	switch {
	case r.Output != nil:
		return "an output"
	case r.Wait != nil:
		return "it waits for " + string(r.Wait.Reason)
	case r.Cancelled:
		return "it was told to stop"
	case r.Lost:
		return "it is another's"
	case r.Released:
		return "it leaves"
	}
	return r.Error.Message
}
