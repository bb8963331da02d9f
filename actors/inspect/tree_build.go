package inspect

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// builder makes a tree of the records of an instance.
type builder struct {
	tree    *Tree
	cfg     TreeConfig
	fold    *run.Fold
	broken  bool // the fold does not know everything that came before
	steps   map[string]*Step
	signals map[uint64]*Signal
	last    time.Time // of the record before, of this run
	commit  uint64    // the first record of this run that declared effects
}

func newBuilder(t target, tree *Tree, cfg TreeConfig) *builder {
	return &builder{
		tree: tree, cfg: cfg, fold: run.New(protocol.OperatorID(t.operator), t.instance),
		steps: map[string]*Step{}, signals: map[uint64]*Signal{},
	}
}

// add takes the next record.
func (b *builder) add(record Record) {
	if !b.broken && b.fold.Apply(record.Record) != nil {
		b.broken = true
	}
	if b.effects(record.Seq); record.Event.Run != b.tree.Run {
		return
	}
	b.tree.Records++
	b.tree.Bytes += record.Bytes
	for _, part := range parts(record) {
		b.event(part, record.Stored)
	}
	b.last = record.Stored
}

// effects keeps those that the record declared.
func (b *builder) effects(seq uint64) {
	last := b.fold.Last
	if b.broken || last == nil || last.Seq != seq || last.Run != b.tree.Run {
		return
	}
	for _, request := range last.Requests {
		b.commit = min(cmp.Or(b.commit, seq), seq)
		for _, e := range request.Effects {
			b.tree.Effects = append(b.tree.Effects, Effect{ID: e.EffectID, Kind: e.Effect.Kind(), Status: OutcomePending})
		}
	}
}

func (b *builder) event(part protocol.EventPart, at time.Time) {
	switch part.Kind {
	case protocol.EventInvocationStarted:
		read(part.Data, func(d *run.Started) { b.claimed(d, at) })
	case protocol.EventQueued:
		read(part.Data, func(d *run.Queued) { b.asked(&d.Input) })
	case protocol.EventNoted:
		read(part.Data, func(d *run.Noted) { b.noted(d, at) })
	case protocol.EventToolCallAssembled, protocol.EventStepStarted:
		read(part.Data, func(e *run.Entry) {
			if s := b.step(e, at); e.Child != nil {
				s.child = e.Child
			}
		})
	case protocol.EventInferenceCompleted, protocol.EventToolResultReceived, protocol.EventStepCompleted:
		read(part.Data, func(e *run.Entry) { b.stepped(e, part.Data, at) })
	case protocol.EventSuspended:
		read(part.Data, func(d *run.Suspended) { b.suspended(&d.Wait, at) })
	case protocol.EventCompleted:
		read(part.Data, func(d *run.Completed) { b.completed(d, at) })
	case protocol.EventFailed, protocol.EventCancelled, protocol.EventRefused:
		b.tree.Ended = &at
	default:
	}
}

// read calls f with the data of an event, if it can be read.
func read[T any](data json.RawMessage, f func(*T)) {
	v := new(T)
	if json.Unmarshal(data, v) == nil {
		f(v)
	}
}

func (b *builder) claimed(d *run.Started, at time.Time) {
	if b.tree.Begun == nil {
		b.tree.Begun, b.tree.Made = &at, d.Made
	}
	b.tree.Claims = append(b.tree.Claims, Claim{Time: at, Node: d.Node, Attempt: d.Attempt, Resumed: d.Resumed})
	if n := len(b.tree.Waits); n > 0 && b.tree.Waits[n-1].Until == nil {
		b.tree.Waits[n-1].Until = &at
	}
	if d.Input != nil {
		b.asked(d.Input)
	}
}

func (b *builder) asked(in *run.Input) {
	b.tree.Parent = in.ParentRun
	if b.cfg.Full {
		b.tree.Input = in.Body
	}
}

// step is the entry of a path, which begins now if it is new.
func (b *builder) step(e *run.Entry, at time.Time) *Step {
	s := b.steps[e.Path]
	if s == nil {
		s = &Step{Path: e.Path, Begun: &at}
		b.steps[e.Path] = s
	}
	s.Kind, s.Name = e.Step, e.Name
	return s
}

func (b *builder) stepped(e *run.Entry, data json.RawMessage, at time.Time) {
	begun := at
	if !b.last.IsZero() { // without a record of its start, it began when the run was heard of last
		begun = b.last
	}
	s := b.step(e, begun)
	s.Ended, s.Cost, s.Error, s.Signals, s.Inputs, s.Blob = &at, e.Cost, e.Error, e.Signals, e.Inputs, e.Blob
	var info struct {
		Model   string               `json:"model"`
		Usage   *protocol.TokenUsage `json:"usage"`
		IsError bool                 `json:"is_error"`
	}
	if json.Unmarshal(data, &info) == nil {
		s.Model, s.Tokens, s.IsError = info.Model, info.Usage, info.IsError
	}
	if b.cfg.Full {
		s.Result = e.Result
	}
	if s.child == nil {
		s.child = e.Child
	}
	for _, seq := range e.Signals {
		if known := b.signals[seq]; known != nil {
			known.Fate, known.Step = FateTaken, e.Path
		}
	}
	b.decided(e)
}

// decided adds the decisions to the question that the step asked last.
func (b *builder) decided(e *run.Entry) {
	for n := len(b.tree.Waits) - 1; n >= 0; n-- {
		w := &b.tree.Waits[n]
		if w.Path != e.Path || len(w.Approval) == 0 {
			continue
		}
		if json.Unmarshal(e.Result, &w.Decided) != nil {
			w.Decided = nil // it came to something else: nobody answered in time
		}
		for id, d := range w.Decided {
			if !b.cfg.Full {
				d.Input = nil
				w.Decided[id] = d
			}
		}
		return
	}
}

func (b *builder) noted(d *run.Noted, at time.Time) {
	switch {
	case d.Signal != nil:
		s := &Signal{Seq: d.Signal.Seq, Type: d.Signal.Type, Run: d.Signal.Run, Time: d.Signal.Time, Data: d.Signal.Data, Fate: noted(d)}
		b.signals[s.Seq] = s
	case d.Child != nil:
		for _, s := range b.steps {
			if s.child != nil && s.child.Run == d.Child.Run && s.Ended == nil && !s.child.Detached {
				s.Ended, s.Error, s.Cost = &at, d.Child.Error, costOf(d.Child.Output)
			}
		}
	}
}

func costOf(output json.RawMessage) *protocol.Decimal {
	var out protocol.OperatorOutput
	if output == nil || protocol.Unmarshal(output, &out) != nil || out.Metadata.Cost.IsZero() {
		return nil
	}
	return &out.Metadata.Cost
}

func (b *builder) suspended(w *run.Wait, at time.Time) {
	x := Waited{Path: w.Path, Reason: w.Reason, Signals: w.Signals, Children: w.Children, Since: at}
	if len(w.Timers) > 0 {
		x.Due = &w.Timers[0].At
	}
	if w.Approval != nil {
		for _, p := range w.Approval.Pending {
			asked := Asked{CallID: p.CallID, Tool: p.ToolName}
			if b.cfg.Full {
				asked.Input = p.ToolInput
			}
			x.Approval = append(x.Approval, asked)
		}
	}
	b.tree.Waits = append(b.tree.Waits, x)
}

func (b *builder) completed(d *run.Completed, at time.Time) {
	b.tree.Ended = &at
	var out protocol.OperatorOutput
	if d.Output == nil || protocol.Unmarshal(d.Output, &out) != nil {
		return
	}
	b.tree.Cost = out.Metadata.Cost
	if b.cfg.Full {
		b.tree.Output = &out
	}
}

// finish puts together what was collected. f is the fold of now.
func (b *builder) finish(f *run.Fold) {
	t := b.tree
	for _, w := range t.Waits { // a step that waits began before
		if s := b.steps[w.Path]; s != nil && s.Begun != nil && s.Begun.After(w.Since) {
			s.Begun = &w.Since
		}
	}
	var spent protocol.Decimal
	for _, path := range slices.SortedFunc(maps.Keys(b.steps), comparePaths) {
		s := b.steps[path]
		if s.Cost != nil {
			spent = protocol.Decimal{Decimal: spent.Add(s.Cost.Decimal)}
		}
		t.Steps = append(t.Steps, *s)
	}
	if spent.GreaterThan(t.Cost.Decimal) { // not every operator says in its output what its steps cost
		t.Cost = spent
	}
	for _, seq := range slices.Sorted(maps.Keys(b.signals)) {
		t.Signals = append(t.Signals, *b.signals[seq])
	}
	if f.Open != nil && f.Open.Run == t.Run {
		for _, w := range f.Queue {
			t.Queue = append(t.Queue, w.Run)
		}
	}
	if n := len(t.Waits); n > 0 && t.Waits[n-1].Until == nil && t.Ended != nil {
		t.Waits[n-1].Until = t.Ended
	}
	if b.broken && t.Problem == "" {
		t.Problem = "the beginning of the log is no longer kept: effects may be missing"
	}
}

// comparePaths orders "2" before "10" and "2" before "2.1".
func comparePaths(a, b string) int {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for n := range min(len(x), len(y)) {
		if c := cmp.Or(cmp.Compare(ordinal(x[n]), ordinal(y[n])), cmp.Compare(x[n], y[n])); c != 0 {
			return c
		}
	}
	return len(x) - len(y)
}

// ordinal is the number that a part of a path begins with.
func ordinal(part string) int {
	end := strings.IndexFunc(part, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		part = part[:end]
	}
	n, err := strconv.Atoi(part)
	if err != nil {
		return 0
	}
	return n
}
