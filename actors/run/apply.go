package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// Apply folds the next record. An error means that the record is not what it should be, a defect: then the fold is of no
// use any more. A kind that is not known is no error; see Unknown.
func (f *Fold) Apply(r Record) error {
	if r.Seq <= f.Seq {
		return fmt.Errorf("record %d behind %d", r.Seq, f.Seq)
	}
	if r.Event.Kind == "" { // nothing that a node wrote: it counts for the fence and for nothing else
		f.advance(r.Seq)
		return nil
	}
	if r.Event.Kind == protocol.EventSnapshot || r.Event.Kind == protocol.EventClosed {
		return f.restore(r)
	}
	if err := f.apply(r, r.Event.Kind, r.Event.Data); err != nil {
		return fmt.Errorf("record %d, %s: %w", r.Seq, r.Event.Kind, err)
	}
	for _, part := range r.Event.Also {
		if err := f.apply(r, part.Kind, part.Data); err != nil {
			return fmt.Errorf("record %d, also %s: %w", r.Seq, part.Kind, err)
		}
	}
	f.advance(r.Seq)
	return nil
}

func (f *Fold) advance(seq uint64) {
	f.Seq = seq
	f.Records++
	f.Tail = append(f.Tail, seq)
	if len(f.Tail) > 2*MaxTail {
		f.Tail = slices.Clone(f.Tail[len(f.Tail)-MaxTail:])
	}
}

// restore takes the state from a snapshot.
func (f *Fold) restore(r Record) error {
	fresh := New(r.Event.Operator, r.Event.Instance)
	if err := json.Unmarshal(r.Event.Data, fresh); err != nil {
		return fmt.Errorf("snapshot %d: %w", r.Seq, err)
	}
	if o := fresh.Open; o != nil {
		maps.DeleteFunc(o.Journal, func(_ string, e *Entry) bool { return e == nil })
		maps.DeleteFunc(o.Children, func(_ protocol.RunID, c *Child) bool { return c == nil })
	}
	fresh.Closed = fresh.Closed || r.Event.Kind == protocol.EventClosed
	*f = *fresh
	f.advance(r.Seq)
	f.Records = 0
	return nil
}

func (f *Fold) apply(r Record, kind protocol.EventKind, data json.RawMessage) error {
	switch kind {
	case protocol.EventInvocationStarted:
		return with(data, func(d *Started) error { return f.started(r, d) })
	case protocol.EventQueued:
		return with(data, func(d *Queued) error {
			f.Queue = append(f.Queue, Waiting{Input: d.Input, Seq: r.Seq})
			return nil
		})
	case protocol.EventRefused:
		return with(data, func(d *Refused) error {
			f.remember(Known{Run: r.Event.Run, Hash: d.Hash, Kind: kind, Seq: r.Seq})
			return nil
		})
	case protocol.EventAttached:
		return with(data, func(d *Attached) error {
			if in, ok := f.recorded(r.Event.Run); ok {
				if d.Inbox != "" {
					in.Inboxes = append(slices.Clip(in.Inboxes), d.Inbox)
				}
				if d.Parent != nil {
					in.Parent = d.Parent
				}
			}
			return nil
		})
	case protocol.EventNoted:
		return with(data, func(d *Noted) error { f.noted(d, r.Seq); return nil })
	case protocol.EventToolCallAssembled, protocol.EventStepStarted:
		return with(data, func(e *Entry) error { e.Begun = true; return f.step(r, e) })
	case protocol.EventInferenceCompleted, protocol.EventToolResultReceived, protocol.EventStepCompleted:
		return with(data, func(e *Entry) error { e.Begun = false; return f.step(r, e) })
	case protocol.EventSuspended:
		return with(data, func(d *Suspended) error { return f.suspended(r, &d.Wait) })
	case protocol.EventCompleted:
		return with(data, func(d *Completed) error {
			return f.end(r, Commit{Kind: kind, Output: d.Output, Blob: d.Blob})
		})
	case protocol.EventFailed:
		return with(data, func(d *Failed) error {
			return f.end(r, Commit{Kind: kind, Error: d.Error, Attempts: d.Attempts})
		})
	case protocol.EventCancelled:
		return with(data, func(d *Cancelled) error {
			return f.end(r, Commit{Kind: kind, Error: CancelledError(d.Reason)})
		})
	case protocol.EventSnapshot, protocol.EventClosed, protocol.EventInferenceStarted, protocol.EventIntentDeclared,
		protocol.EventProgress, protocol.EventArtifactProduced, protocol.EventLog, protocol.EventObservation,
		protocol.EventMetric, protocol.EventEffectActing, protocol.EventEffectReleased, protocol.EventEffectDone:
		return fmt.Errorf("%s is no event of a run log", kind)
	}
	f.Unknown = kind
	return nil
}

func with[T any](data json.RawMessage, use func(*T) error) error {
	v := new(T)
	if err := json.Unmarshal(data, v); err != nil {
		return err
	}
	return use(v)
}

// CancelledError is how those who wait hear of a run that was stopped.
func CancelledError(reason string) *protocol.Error {
	text := "the run was cancelled"
	if reason != "" {
		text += ": " + reason
	}
	return protocol.NewError(protocol.CodeCancelled, text)
}

// started folds a claim.
func (f *Fold) started(r Record, d *Started) error {
	f.Claim, f.Carrier, f.Node, f.Closed = r.Event.ID, d.Carrier, d.Node, false
	if o := f.Open; o != nil {
		if o.Run != r.Event.Run {
			return fmt.Errorf("claim of run %s while %s is open", r.Event.Run, o.Run)
		}
		if o.Wait == nil || o.Wait.Reason == WaitRetry {
			o.Stalled++
		}
		if o.Wait != nil && r.Event.Time.After(o.Stopped) {
			o.Since = o.Since.Add(r.Event.Time.Sub(o.Stopped))
		}
		if w := o.Wait; w != nil && (w.Reason == WaitRetry || w.Reason == WaitEffects) {
			for _, t := range w.Timers { // of no step: this claim is what they were for, and the next wait needs them anew
				o.disarm(t.Path)
			}
		}
		o.Attempt, o.Node, o.Wait = d.Attempt, d.Node, nil
		return nil
	}
	o := &Open{First: r.Seq, Since: r.Event.Time, Node: d.Node, Made: d.Made, Attempt: d.Attempt, Stalled: 1}
	if d.Input != nil {
		o.Input = *d.Input
	} else {
		i := slices.IndexFunc(f.Queue, func(w Waiting) bool { return w.Run == r.Event.Run })
		if i < 0 {
			return fmt.Errorf("claim of run %s, which nobody asked for", r.Event.Run)
		}
		o.Input = f.Queue[i].Input
		f.Queue = slices.Delete(slices.Clone(f.Queue), i, i+1)
	}
	f.Open = o
	early := f.Early
	f.Early = nil
	for _, s := range early {
		if s.Run == o.Run {
			f.deliver(s)
		} else {
			f.Early = append(f.Early, s)
		}
	}
	return nil
}

// step folds what a step came to, or its start.
func (f *Fold) step(r Record, e *Entry) error {
	o := f.Open
	if o == nil || o.Run != r.Event.Run {
		return fmt.Errorf("step %s of run %s, which is not open", e.Path, r.Event.Run)
	}
	if o.Journal == nil {
		o.Journal = map[string]*Entry{}
	}
	before := o.Journal[e.Path]
	if before != nil && (e.Begun || !before.Begun) {
		return nil // a fact that is told twice: of a child by its wake and by its answer, or by an append of unknown outcome
	}
	o.Stalled = 0
	o.Journal[e.Path] = e
	if c := e.Child; c != nil && e.Begun {
		c.Seq = r.Seq
		if o.Children == nil {
			o.Children = map[protocol.RunID]*Child{}
		}
		o.Children[c.Run] = c
		return nil
	}
	if e.Begun {
		return nil
	}
	if before != nil && before.Child != nil {
		if c := o.Children[before.Child.Run]; c != nil && !c.Detached {
			c.Done = true
		}
	}
	_, answered := o.Asked[e.Path]
	delete(o.Asked, e.Path)
	o.disarm(e.Path)
	moot := answered && len(o.Asked) == 0 // further answers are not for the next question
	o.Mailbox = slices.DeleteFunc(slices.Clone(o.Mailbox), func(s Signal) bool {
		return slices.Contains(e.Signals, s.Seq) || moot && isDecision(s)
	})
	if e.Cost != nil {
		o.Cost = protocol.Decimal{Decimal: o.Cost.Add(e.Cost.Decimal)}
	}
	for _, id := range e.Inputs { // who steered gets the answer of the run that he steered
		i := slices.IndexFunc(f.Queue, func(w Waiting) bool { return w.Run == id })
		if i < 0 || !f.steers(f.Queue[i]) {
			continue
		}
		w := f.Queue[i]
		f.Queue = slices.Delete(slices.Clone(f.Queue), i, i+1)
		o.Inboxes = append(slices.Clip(o.Inboxes), w.Inboxes...)
		f.remember(Known{Run: w.Run, Hash: w.Hash, Kind: protocol.EventNoted, Seq: r.Seq, Into: o.Run})
	}
	return nil
}

func (f *Fold) suspended(r Record, w *Wait) error {
	o := f.Open
	if o == nil || o.Run != r.Event.Run {
		return fmt.Errorf("suspension of run %s, which is not open", r.Event.Run)
	}
	o.Wait, o.WaitSeq, o.Stopped = w, r.Seq, r.Event.Time
	if w.Approval != nil && o.Asked[w.Path] == 0 {
		if o.Asked == nil {
			o.Asked = map[string]uint64{}
		}
		o.Asked[w.Path] = r.Seq
	}
	for _, d := range w.Timers {
		if o.Timers == nil || o.Behind == nil {
			o.Timers, o.Behind = map[string]time.Time{}, map[string]uint64{}
		}
		o.Timers[d.Path], o.Behind[d.Path] = d.At, r.Seq
		delete(o.Fired, d.Path)
	}
	last := Commit{Input: o.Input, Seq: r.Seq, Kind: protocol.EventSuspended, Wait: w}
	if w.Cancelling {
		last.Stop = o.unended()
	}
	if a := w.Approval; a != nil && o.Asked[w.Path] == r.Seq {
		var effects protocol.Effects
		for _, p := range a.Pending {
			effects = append(effects, protocol.ToolApprovalRequired{ToolName: p.ToolName, CallID: p.CallID, Input: p.ToolInput})
		}
		if err := f.request(&last, effects, nil); err != nil {
			return err
		}
	}
	f.Last = &last
	return nil
}

// disarm forgets a timer.
func (o *Open) disarm(path string) {
	delete(o.Timers, path)
	delete(o.Behind, path)
	delete(o.Fired, path)
}

// unended are the children that have to be told when the run stops or ends.
func (o *Open) unended() (children []Child) {
	for _, c := range o.Children {
		if !c.Done && !c.Detached {
			children = append(children, *c)
		}
	}
	slices.SortFunc(children, func(a, b Child) int { return cmp.Compare(a.Run, b.Run) })
	return children
}

// request numbers the effects of a commit.
func (f *Fold) request(c *Commit, effects protocol.Effects, left *protocol.Decimal) (err error) {
	if len(effects) == 0 {
		return nil
	}
	if f.M == nil {
		f.M = map[string]uint64{}
	}
	c.Requests, err = protocol.EffectRequests(protocol.EffectRequest{
		Operator: f.Operator, Instance: f.Instance, Run: c.Run, Parent: c.ParentRun, Trace: c.Trace, Depth: c.Depth, Budget: left,
	}, effects, func(family string) uint64 {
		f.M[family]++
		return f.M[family]
	})
	return err
}

// end folds the end of the open run.
func (f *Fold) end(r Record, c Commit) error {
	o := f.Open
	if o == nil || o.Run != r.Event.Run {
		return fmt.Errorf("end of run %s, which is not open", r.Event.Run)
	}
	c.Input, c.Seq, c.Stop = o.Input, r.Seq, o.unended()
	left := f.Left()
	f.Open = nil
	f.Turns++
	cost := o.Cost
	if c.Kind == protocol.EventCompleted && c.Output != nil {
		var out protocol.OperatorOutput
		if err := protocol.Unmarshal(c.Output, &out); err != nil {
			return err
		}
		if out.Metadata.Cost.GreaterThan(cost.Decimal) { // it may tell of more than its steps, or of nothing
			cost = out.Metadata.Cost
		}
		if !o.TakeEffects {
			if err := f.request(&c, out.Effects, left); err != nil {
				return err
			}
		}
		f.talk(c, out)
	}
	f.Cost = protocol.Decimal{Decimal: f.Cost.Add(cost.Decimal)}
	f.Last = &c
	f.remember(Known{Run: o.Run, Hash: o.Hash, Kind: c.Kind, Seq: r.Seq})
	return nil
}

func (f *Fold) remember(k Known) {
	f.Early = slices.DeleteFunc(slices.Clone(f.Early), func(s Signal) bool { return s.Run == k.Run })
	f.Known = append(f.Known, k)
	if len(f.Known) > maxKnown {
		f.Known = slices.Clone(f.Known[len(f.Known)-maxKnown:])
	}
}

// talk keeps what was said, the most recent of it.
func (f *Fold) talk(c Commit, out protocol.OperatorOutput) {
	var in protocol.OperatorInput
	if c.Body == nil || json.Unmarshal(c.Body, &in) != nil || in.Session == nil {
		return // nobody comes back to it
	}
	t := Turn{Run: c.Run}
	var err error
	if t.In, err = protocol.Marshal(in.Message); err != nil {
		return
	}
	if t.Out, err = protocol.Marshal(out.Message); err != nil {
		return
	}
	f.History = append(slices.Clip(f.History), t)
	bytes := 0
	for i := len(f.History) - 1; i >= 0; i-- {
		bytes += len(f.History[i].In) + len(f.History[i].Out)
		if len(f.History)-i > maxHistory || bytes > maxTalk {
			f.History = slices.Clone(f.History[i+1:])
			break
		}
	}
}

// noted folds what reached the instance.
func (f *Fold) noted(d *Noted, seq uint64) {
	o := f.Open
	switch {
	case d.Signal != nil:
		f.Seen = append(f.Seen, d.Signal.Seq)
		if len(f.Seen) > maxSeen {
			f.Seen = slices.Clone(f.Seen[len(f.Seen)-maxSeen:])
		}
		if d.Ignored {
			return
		}
		if o != nil && o.Run == d.Signal.Run {
			f.deliver(*d.Signal)
			return
		}
		f.Early = append(f.Early, *d.Signal)
		bytes := 0
		for i := len(f.Early) - 1; i >= 0; i-- {
			if bytes += len(f.Early[i].Data); bytes > maxEarlyData || len(f.Early)-i > maxEarly {
				f.Early = slices.Clone(f.Early[i+1:])
				break
			}
		}
	case d.Ignored || o == nil:
	case d.Timer != nil && d.Timer.Run == o.Run:
		if _, set := o.Timers[d.Timer.Path]; !set {
			return
		}
		if o.Fired == nil {
			o.Fired = map[string]bool{}
		}
		o.Fired[d.Timer.Path] = true
	case d.Child != nil:
		f.childEnded(d.Child, seq)
	}
}

// deliver hands a signal to the open run.
func (f *Fold) deliver(s Signal) {
	o := f.Open
	switch s.Type {
	case SignalCancel:
		if o.Cancel == nil {
			o.Cancel = &s
		}
	case SignalPause, SignalResume:
		if s.Seq > o.Toggled { // their wakes may come in any order
			o.Paused, o.Toggled = s.Type == SignalPause, s.Seq
		}
	default:
		o.Mailbox = append(slices.Clip(o.Mailbox), s)
		bytes := 0
		for i := len(o.Mailbox) - 1; i >= 0; i-- { // nobody need ever take them
			if bytes += len(o.Mailbox[i].Data); bytes > maxMailData || len(o.Mailbox)-i > maxMail {
				o.Mailbox = slices.Clone(o.Mailbox[i+1:])
				break
			}
		}
	}
}

// childEnded completes the step that began the child, or puts the end of a detached one into the mailbox.
func (f *Fold) childEnded(end *ChildEnd, seq uint64) {
	o := f.Open
	c := o.Children[end.Run]
	if c == nil || c.Done {
		return
	}
	c.Done = true
	o.Stalled = 0
	var out protocol.OperatorOutput
	var cost *protocol.Decimal
	if end.Output != nil && protocol.Unmarshal(end.Output, &out) == nil && !out.Metadata.Cost.IsZero() {
		cost = &out.Metadata.Cost
		o.Cost = protocol.Decimal{Decimal: o.Cost.Add(cost.Decimal)}
	}
	if c.Detached { // its step is over when it is on its way
		data, err := protocol.Marshal(end)
		if err == nil {
			o.Mailbox = append(slices.Clip(o.Mailbox), Signal{Seq: seq, Type: SignalChild, Run: o.Run, Data: data})
		}
		return
	}
	for path, e := range o.Journal {
		if !e.Begun || e.Child == nil || e.Child.Run != end.Run {
			continue
		}
		done := *e
		done.Begun, done.Result, done.Blob, done.Error, done.Cost = false, end.Output, end.Blob, end.Error, cost
		o.Journal[path] = &done
		return
	}
}
