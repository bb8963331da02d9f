package run

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// State says in a word what an instance does.
type State string

// The states.
const (
	StateEmpty     State = "empty" // nothing ever ran
	StateRunning   State = "running"
	StateSuspended State = "suspended"
	StateQueued    State = "queued" // between two runs
	StateIdle      State = "idle"
	StateClosed    State = "closed"
)

// Status is what an instance does, for people and programs.
type Status struct {
	Operator protocol.OperatorID `json:"operator"`
	Instance string              `json:"instance"`
	State    State               `json:"state"`
	// Run is the open one, or the last; Kind how that ended.
	Run  protocol.RunID     `json:"run,omitempty"`
	Kind protocol.EventKind `json:"ended,omitempty"`

	Attempt int        `json:"attempt,omitempty"`
	Node    string     `json:"node,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
	Steps   int        `json:"steps,omitempty"`
	Wait    *Wait      `json:"wait,omitempty"`
	Made    *Made      `json:"made,omitempty"`
	Paused  bool       `json:"paused,omitempty"`
	Queue   int        `json:"queue"`
	Turns   int        `json:"turns"`
	// Cost is in USD: of the runs that ended, and of the open one so far.
	Cost protocol.Decimal `json:"cost"`
	Seq  uint64           `json:"seq"`
}

// Status returns what the instance does.
func (f *Fold) Status() Status {
	s := Status{
		Operator: f.Operator, Instance: f.Instance, State: f.state(), Queue: len(f.Queue), Turns: f.Turns, Seq: f.Seq, Cost: f.Cost,
	}
	if o := f.Open; o != nil {
		since, made := o.Since, o.Made
		s.Run, s.Attempt, s.Node, s.Since, s.Steps = o.Run, o.Attempt, o.Node, &since, o.steps()
		s.Wait, s.Made, s.Paused = o.Wait, &made, o.Paused
		s.Cost = protocol.Decimal{Decimal: s.Cost.Add(o.Cost.Decimal)}
		return s
	}
	if n := len(f.Known); n > 0 {
		s.Run, s.Kind = f.Known[n-1].Run, f.Known[n-1].Kind
	}
	return s
}

func (f *Fold) state() State {
	switch {
	case f.Suspended():
		return StateSuspended
	case f.Open != nil:
		return StateRunning
	case len(f.Queue) > 0:
		return StateQueued
	case f.Closed:
		return StateClosed
	case len(f.Known) == 0:
		return StateEmpty
	}
	return StateIdle
}

func (o *Open) steps() (n int) {
	for _, e := range o.Journal {
		if !e.Begun {
			n++
		}
	}
	return n
}

// Entries returns the steps of the run in the order of their paths' making.
func (o *Open) Entries() []Entry {
	all := make([]Entry, 0, len(o.Journal))
	for _, e := range o.Journal {
		all = append(all, *e)
	}
	slices.SortFunc(all, func(a, b Entry) int { return comparePaths(a.Path, b.Path) })
	return all
}

// Ended returns what became of a run, and false if it has not ended or is not known.
func (f *Fold) Ended(id protocol.RunID) (Known, bool) { return f.known(id) }

// The queries that every instance answers.
const (
	QueryStatus  = "status"
	QueryHistory = "history"
	QueryCost    = "cost"
	QueryPending = "pending"
	// QuerySignals is answered by the stream, not the fold: {"signals": n}, how many are stored.
	QuerySignals = "signals"
)

// Pending is what waits in an instance: for a person, a signal, a time, a child; and the inputs behind it.
type Pending struct {
	Run      protocol.RunID            `json:"run,omitempty"`
	Reason   Reason                    `json:"reason,omitempty"`
	Approval *protocol.ApprovalRequest `json:"approval,omitempty"`
	Signals  []string                  `json:"signals,omitempty"`
	Timers   []Due                     `json:"timers,omitempty"`
	Children []Child                   `json:"children,omitempty"`
	Inputs   []protocol.RunID          `json:"inputs"`
}

// Pending returns what waits.
func (f *Fold) Pending() Pending {
	p := Pending{Inputs: []protocol.RunID{}}
	for _, w := range f.Queue {
		p.Inputs = append(p.Inputs, w.Run)
	}
	o := f.Open
	if o == nil {
		return p
	}
	p.Run = o.Run
	for _, c := range o.Children {
		if !c.Done {
			p.Children = append(p.Children, *c)
		}
	}
	slices.SortFunc(p.Children, func(a, b Child) int { return comparePaths(string(a.Run), string(b.Run)) })
	if w := o.Wait; w != nil {
		p.Reason, p.Approval, p.Signals, p.Timers = w.Reason, w.Approval, w.Signals, w.Timers
	}
	return p
}

// Answer answers one of the queries; false if it is none of them.
func (f *Fold) Answer(query string) (json.RawMessage, bool, error) {
	var v any
	switch query {
	case QueryStatus:
		v = f.Status()
	case QueryHistory:
		v = struct {
			Turns []Turn `json:"turns"`
			Steps []Step `json:"steps"`
		}{append([]Turn{}, f.History...), f.open()}
	case QueryCost:
		s := f.Status()
		v = struct {
			Cost  protocol.Decimal  `json:"cost"`
			Turns int               `json:"turns"`
			Left  *protocol.Decimal `json:"left,omitempty"`
		}{s.Cost, s.Turns, f.Left()}
	case QueryPending:
		v = f.Pending()
	default:
		return nil, false, nil
	}
	body, err := protocol.Marshal(v)
	return body, true, err
}

// Step is an entry without what it returned.
type Step struct {
	Path  string            `json:"path"`
	Step  StepKind          `json:"step"`
	Name  string            `json:"name"`
	Begun bool              `json:"begun,omitempty"` // and not over
	Cost  *protocol.Decimal `json:"cost,omitempty"`
	Error *protocol.Error   `json:"error,omitempty"`
	Child *Child            `json:"child,omitempty"`
}

// open lists the steps of the open run.
func (f *Fold) open() []Step {
	steps := []Step{}
	if f.Open == nil {
		return steps
	}
	for _, e := range f.Open.Entries() {
		steps = append(steps, Step{e.Path, e.Step, e.Name, e.Begun, e.Cost, e.Error, e.Child})
	}
	return steps
}

// comparePaths orders "2" before "10", "2" before "2.1", and "4s" before "4": what was said to a step comes before it.
func comparePaths(a, b string) int {
	for a != "" || b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		if x == y {
			continue
		}
		n, restX := number(x)
		m, restY := number(y)
		switch {
		case x == "" || y == "":
			return len(x) - len(y)
		case n != m:
			return cmp.Compare(n, m)
		}
		return cmp.Compare(len(restY), len(restX))
	}
	return 0
}

// number reads the digits that s begins with.
func number(s string) (n int, rest string) {
	for i, c := range s {
		if c < '0' || c > '9' {
			return n, s[i:]
		}
		n = 10*n + int(c-'0')
	}
	return n, ""
}
