package run

import (
	"slices"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// Task is a message of the task stream, read: an input, or a wake.
type Task struct {
	Carrier Carrier
	// Exactly one of them.
	Input  *Input
	Signal *Signal
	Timer  *Timer
	Child  *ChildEnd
	// After is the record of this instance's log that a child's end answers to; 0 if none.
	After uint64
	// Bar says that Input, of which only run and parent count, must not begin any more: see Commit.Stop.
	Bar bool
}

// Policy is what an operator is run by.
type Policy struct {
	Node string
	Made Made
	// Attempts is how often a run is begun without getting anywhere before it fails.
	Attempts int
	// Claims is how often it is begun without getting anywhere for whatever reason, also since nodes left; Attempts if 0.
	Claims int
	// Queue bounds how many inputs of an instance wait.
	Queue int
	// Snapshot is after how many records an idle instance is folded into one; 0 is never.
	Snapshot int
}

// Result is what the operator's code came to.
type Result struct {
	// Exactly one of them.
	Output    *Completed
	Error     *protocol.Error
	Wait      *Wait
	Cancelled bool // it stopped, as it was told
	Released  bool // it stopped at a boundary, for another node to go on
	Lost      bool // the run is somebody else's now
	// Retry, beside an Error, is when the run may be tried again; zero for never.
	Retry time.Time
}

// Command is what to do next; exactly one of its members says what.
type Command struct {
	// Append these events under the fence, in one message. On a conflict read the tail and ask again.
	Append []Item
	// Settle what the commit says: publish its effects, answer, set timers, tell children and the parent.
	Settle *Commit
	// Run the operator's code from the top.
	Run bool
	// Answer the task's own inboxes, and the parent if it names one, for a run that is over or will not run.
	Answer *Known
	// Ack or GiveBack (after Delay) the task; Drop does neither. Each ends it.
	Ack, GiveBack, Drop bool
	Delay               time.Duration
}

// Delays before a task is tried again.
const (
	unknownDelay = 30 * time.Second // for a newer program to take it
	staleDelay   = 50 * time.Millisecond
)

// Driver sees one task through. Its owner tells it what was done: see Appended, Settled, Ran and Answered.
type Driver struct {
	Task   Task
	Policy Policy

	mine     string // the last claim made for this task
	settled  uint64 // the last commit that this process settled
	result   *Result
	answered bool
}

// Appended tells that the items of the last command are in the log, under the event id.
func (d *Driver) Appended(items []Item, id string) {
	if slices.ContainsFunc(items, func(i Item) bool { return i.Kind == protocol.EventInvocationStarted }) {
		d.mine, d.result = id, nil
	}
}

// Settled tells that the commit with that sequence was settled by this process.
func (d *Driver) Settled(seq uint64) { d.settled = max(d.settled, seq) }

// Ran tells what the operator's code came to.
func (d *Driver) Ran(r Result) { d.result = &r }

// Answered tells that the task's inbox has its answer.
func (d *Driver) Answered() { d.answered = true }

// Claimed reports whether this task carries the claim of f's open run.
func (d *Driver) Claimed(f *Fold) bool { return d.mine != "" && d.mine == f.Claim && f.Open != nil }

// Fact returns the append of what happened in the run that this task carries; it is repeated after a conflict. Where the run
// is not this task's any more, the command is to drop it.
func (d *Driver) Fact(f *Fold, items ...Item) Command {
	if !d.Claimed(f) || f.Open.Wait != nil || f.Unknown != "" {
		return Command{Drop: true}
	}
	for _, i := range items {
		if i.Run != f.Open.Run { // of an earlier run that the same task carried
			return Command{Drop: true}
		}
	}
	return Command{Append: items}
}

// Next says what to do, f being what is known of the log: it may be stale, but never wrong.
func (d *Driver) Next(f *Fold) Command {
	switch {
	case f.Unknown != "":
		return Command{GiveBack: true, Delay: unknownDelay}
	case d.mine != "":
		return d.owner(f)
	case f.Claim != "" && f.Carrier.ID == d.Task.Carrier.ID:
		return d.carrier(f)
	case d.Task.Input != nil:
		return d.input(f, d.Task.Input)
	}
	return d.wake(f)
}

// unsettled returns the last commit unless this process knows that it was settled.
func (d *Driver) unsettled(f *Fold) *Commit {
	if f.Last == nil || f.Last.Seq <= d.settled {
		return nil
	}
	return f.Last
}

// carrier is the redelivery of the task that the last claim holds: its claimant is gone, or slow.
func (d *Driver) carrier(f *Fold) Command {
	if d.Task.Carrier.Delivery < f.Carrier.Delivery {
		return Command{Drop: true} // it is this delivery that was slow
	}
	if f.Open != nil && f.Open.Wait == nil {
		return d.claim(f)
	}
	return d.after(f)
}

// owner goes on behind a claim of this very task.
func (d *Driver) owner(f *Fold) Command {
	if f.Claim != d.mine {
		if f.Carrier.ID == d.Task.Carrier.ID {
			return Command{Drop: true} // it was delivered once more, to somebody who took over
		}
		// Somebody claimed by another task: he could only since the run was suspended, or over with nothing waiting.
		return Command{Ack: true}
	}
	if f.Open == nil || f.Open.Wait != nil {
		return d.after(f)
	}
	if c := d.unsettled(f); c != nil { // of the turn before: nothing of this one may be seen first
		return Command{Settle: c}
	}
	if d.result == nil {
		switch {
		case f.Stopping():
			d.result = &Result{Cancelled: true}
		case d.Policy.Attempts > 0 && f.Open.Stalled > max(d.Policy.Attempts, d.Policy.Claims):
			d.result = &Result{Error: exhausted(f.Open.Attempt)}
		default:
			return Command{Run: true}
		}
	}
	return d.conclude(f)
}

func exhausted(attempts int) *protocol.Error {
	e := protocol.NewError(protocol.CodeInternal, "the run was begun again and again and got nowhere; see the logs of the nodes")
	return e.With("attempts", itoa(attempts))
}

// after follows a commit: settle it, go on with what it left to do, acknowledge.
func (d *Driver) after(f *Fold) Command {
	if c := d.unsettled(f); c != nil {
		return Command{Settle: c}
	}
	switch {
	case f.Open == nil && len(f.Queue) > 0:
		return d.claim(f)
	case f.Open == nil && d.Policy.Snapshot > 0 && f.Records >= d.Policy.Snapshot:
		return Command{Append: []Item{f.Snapshot()}}
	}
	return Command{Ack: true}
}

// conclude records what the operator's code came to, if the log still has it so.
func (d *Driver) conclude(f *Fold) Command {
	r, o := d.result, f.Open
	end := func(kind protocol.EventKind, data any) Command {
		return Command{Append: []Item{{Kind: kind, Run: o.Run, Data: data}}}
	}
	switch {
	case r.Lost:
		return Command{Drop: true}
	case f.Stopping(): // whatever it gave: it was told to stop before that was recorded
		if o.waiting() {
			w := Wait{Reason: WaitChild, Cancelling: true}
			for id, c := range o.Children {
				if !c.Done && !c.Detached {
					w.Children = append(w.Children, id)
				}
			}
			slices.Sort(w.Children)
			return end(protocol.EventSuspended, Suspended{Wait: w})
		}
		if o.Cancel != nil {
			return end(protocol.EventCancelled, Cancelled{Reason: reasonOf(*o.Cancel), Signal: o.Cancel.Seq})
		}
		return end(protocol.EventCancelled, Cancelled{Reason: "interrupted by another input"})
	case r.Released:
		return Command{GiveBack: true}
	case r.Output != nil:
		return end(protocol.EventCompleted, *r.Output)
	case r.Wait != nil:
		if f.Satisfied(r.Wait) {
			d.result = nil
			return Command{Run: true}
		}
		return end(protocol.EventSuspended, Suspended{Wait: *r.Wait})
	case !r.Retry.IsZero() && o.Stalled < max(1, d.Policy.Attempts):
		return end(protocol.EventSuspended, Suspended{Wait: Wait{Reason: WaitRetry, Timers: []Due{{Path: retryPath(o), At: r.Retry}}}})
	case r.Error == nil: // it stopped for a signal that the log does not have: cannot be
		d.result = nil
		return Command{Run: true}
	}
	return end(protocol.EventFailed, Failed{Error: r.Error.Clip(), Attempts: o.Attempt})
}

// retryPath names the timer of a retry; each attempt has its own.
func retryPath(o *Open) string { return "retry-" + itoa(o.Attempt) }

// claim begins, resumes, takes over or goes on with the queue.
func (d *Driver) claim(f *Fold, also ...Item) Command {
	s := Started{Carrier: d.Task.Carrier, Node: d.Policy.Node, Attempt: 1, Made: d.Policy.Made}
	var id protocol.RunID
	switch {
	case f.Open != nil:
		id = f.Open.Run
		s.Attempt, s.Resumed = f.Open.Attempt+1, f.Open.Wait != nil
	case len(f.Queue) > 0:
		id = f.Queue[0].Run
	default:
		id, s.Input = d.Task.Input.Run, d.Task.Input
	}
	return Command{Append: append([]Item{{Kind: protocol.EventInvocationStarted, Run: id, Data: s}}, also...)}
}

// input is a task that asks for a run, seen for the first time or again.
func (d *Driver) input(f *Fold, in *Input) Command {
	if k, ok := f.known(in.Run); ok {
		if d.Task.Bar && k.Kind != protocol.EventRefused {
			return Command{Ack: true} // who ended it tells the parent
		}
		if k.Into != "" && k.Hash == in.Hash && in.Parent == nil {
			if f.Open != nil && f.Open.Run == k.Into {
				return attach(in, &f.Open.Input)
			}
			k, _ = f.known(k.Into)
			k.Hash = in.Hash
		}
		if k.Hash != in.Hash || k.Into != "" {
			k.Kind = "" // another input under the same id, or nothing that a parent could wait for
		}
		return d.answer(k)
	}
	if have, ok := f.recorded(in.Run); ok {
		if d.Task.Bar {
			return Command{Ack: true} // the signal that went before it ends the run
		}
		if have.Hash != in.Hash {
			return d.answer(Known{Run: in.Run, Hash: have.Hash})
		}
		return attach(in, have)
	}
	queued := Item{Kind: protocol.EventQueued, Run: in.Run, Data: Queued{Input: *in}}
	switch {
	case d.Task.Bar:
		return refuse(in, CancelledError("its parent was stopped"))
	case f.idle():
		return d.claim(f)
	case in.Mode == Reject:
		return refuse(in, busy("another run of this instance is open"))
	case d.Policy.Queue > 0 && len(f.Queue) >= d.Policy.Queue:
		return refuse(in, busy("too many inputs wait for their turn in this instance"))
	case in.Mode == Interrupt && f.Suspended() && !f.Open.Wait.Cancelling:
		return d.claim(f, queued) // in one message: no run is ever suspended whose wait is over
	}
	return Command{Append: []Item{queued}}
}

// attach sees to it that everybody whom the task names hears of the end of have.
func attach(in, have *Input) Command {
	if in.Parent != nil && have.Parent == nil {
		return Command{Append: []Item{{Kind: protocol.EventAttached, Run: have.Run, Data: Attached{Parent: in.Parent}}}}
	}
	if len(have.Inboxes) >= maxInboxes { // the result can be asked for
		return Command{Ack: true}
	}
	for _, inbox := range in.Inboxes {
		if !slices.Contains(have.Inboxes, inbox) {
			return Command{Append: []Item{{Kind: protocol.EventAttached, Run: have.Run, Data: Attached{Inbox: inbox}}}}
		}
	}
	return Command{Ack: true}
}

// answer tells those whom the task itself names what became of the run.
func (d *Driver) answer(k Known) Command {
	if in := d.Task.Input; d.answered || len(in.Inboxes) == 0 && in.Parent == nil {
		return Command{Ack: true}
	}
	return Command{Answer: &k}
}

func busy(why string) *protocol.Error { return protocol.NewError(protocol.CodeUnavailable, why) }

func refuse(in *Input, e *protocol.Error) Command {
	return Command{Append: []Item{{Kind: protocol.EventRefused, Run: in.Run, Data: Refused{Hash: in.Hash, Error: e}}}}
}

// wake is a task that tells the instance something.
func (d *Driver) wake(f *Fold) Command {
	var note Noted
	switch t := d.Task; {
	case t.Signal != nil:
		if slices.Contains(f.Seen, t.Signal.Seq) {
			return Command{Ack: true}
		}
		note = f.hear(*t.Signal)
	case t.Timer != nil:
		if f.Seq < t.Timer.After {
			return Command{GiveBack: true, Delay: staleDelay}
		}
		if !f.awaits(*t.Timer) {
			return Command{Ack: true}
		}
		note = Noted{Timer: t.Timer}
	case t.Child != nil:
		if f.Seq < t.After {
			return Command{GiveBack: true, Delay: staleDelay}
		}
		if f.Open == nil || f.Open.Children[t.Child.Run] == nil || f.Open.Children[t.Child.Run].Done {
			return Command{Ack: true}
		}
		note = Noted{Child: t.Child}
	}
	item := Item{Kind: protocol.EventNoted, Run: f.about(note), Data: note}
	if f.Suspended() && f.wouldSatisfy(note) {
		return d.claim(f, item)
	}
	return Command{Append: []Item{item}}
}

// hear says what a signal is to the log.
func (f *Fold) hear(s Signal) Noted {
	id, begun, ok := f.concerns(s)
	s.Run = id
	if ok && begun && isDecision(s) && !f.Open.asked(s) {
		ok = false
	}
	if ok && !begun && isDecision(s) {
		ok = false // there cannot have been a question
	}
	return Noted{Signal: &s, Ignored: !ok}
}

// awaits reports whether the timer is one that a step of the open run waits for. One that was set behind an earlier record is
// not: it was set again, and what was once of no account must stay so.
func (f *Fold) awaits(t Timer) bool {
	if f.Open == nil || f.Open.Run != t.Run || f.Open.Fired[t.Path] {
		return false
	}
	behind, ok := f.Open.Behind[t.Path]
	return ok && t.After >= behind
}

// about is the run that a note is filed under.
func (f *Fold) about(n Noted) protocol.RunID {
	switch {
	case n.Signal != nil && n.Signal.Run != "":
		return n.Signal.Run
	case f.Open != nil:
		return f.Open.Run
	case len(f.Known) > 0:
		return f.Known[len(f.Known)-1].Run
	}
	return protocol.RunID(f.Instance)
}

// wouldSatisfy reports whether the suspended run can go on once the note is in its log.
func (f *Fold) wouldSatisfy(n Noted) bool {
	o := f.Open
	w := o.Wait
	switch {
	case n.Ignored:
		return false
	case n.Signal != nil && n.Signal.Run != o.Run:
		return false
	case n.Signal != nil && n.Signal.Type == SignalCancel:
		return !w.Cancelling && o.Cancel == nil
	case w.Paused:
		return n.Signal != nil && n.Signal.Type == SignalResume && n.Signal.Seq > o.Toggled
	case n.Signal != nil:
		return slices.Contains(w.Signals, n.Signal.Type)
	case n.Timer != nil:
		return slices.ContainsFunc(w.Timers, func(d Due) bool { return d.Path == n.Timer.Path })
	case w.Cancelling:
		for id, c := range o.Children {
			if !c.Done && !c.Detached && id != n.Child.Run {
				return false
			}
		}
		return true
	}
	if c := o.Children[n.Child.Run]; c.Detached {
		return slices.Contains(w.Signals, SignalChild)
	}
	return slices.Contains(w.Children, n.Child.Run)
}
