package run

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// Bounds of what a fold keeps of the past.
const (
	maxKnown     = 256       // runs that have ended
	maxClosed    = 32        // of them, in an instance that is put away
	maxSeen      = 1024      // signals
	maxEarly     = 256       // signals for runs that have not begun
	maxEarlyData = 128 << 10 // bytes of them: a snapshot has to fit into a message
	maxMail      = 512       // signals that no step has taken
	maxMailData  = 1 << 20   // bytes of them
	maxInboxes   = 256       // who wait for one run
	maxHistory   = 200       // turns
	maxTalk      = 256 << 10 // bytes of them
	// MaxTail is how many sequences an event tells of those before it.
	MaxTail = 64
)

// Fold is the state of an instance: what its log says. Its members may be read and are changed by Apply only.
type Fold struct {
	Operator protocol.OperatorID `json:"operator"`
	Instance string              `json:"instance"`
	// Seq is that of the last record folded: the fence. 0 is an empty log.
	Seq uint64 `json:"seq"`
	// Tail are the last sequences, the newest last, back to a snapshot.
	Tail []uint64 `json:"-"`
	// Records counts those since the last snapshot.
	Records int `json:"-"`

	Open *Open `json:"open,omitempty"`
	// Claim is the id of the last claim, and Carrier what it holds.
	Claim   string  `json:"claim,omitempty"`
	Carrier Carrier `json:"carrier"`
	Node    string  `json:"node,omitempty"` // that made the claim
	// Last is the last commit, nil once it is certain that it was settled.
	Last *Commit `json:"last,omitempty"`
	// Queue holds the inputs that wait, the oldest first.
	Queue []Waiting `json:"queue,omitempty"`
	// Known are the runs that ended, the oldest first.
	Known []Known `json:"known,omitempty"`
	// M is the number of the last effect message of each family.
	M map[string]uint64 `json:"m,omitempty"`
	// History is what was said, the oldest first.
	History []Turn `json:"history,omitempty"`

	Seen  []uint64 `json:"seen,omitempty"`  // signals that were noted
	Early []Signal `json:"early,omitempty"` // for runs that have not begun
	// Turns counts the runs that ended, Cost what they cost in USD.
	Turns int              `json:"turns,omitempty"`
	Cost  protocol.Decimal `json:"cost"`
	// Closed says that the janitor has put the instance away; it may begin again.
	Closed bool `json:"closed,omitempty"`

	// Unknown is a kind of event that this program does not know. Then it must not decide anything.
	Unknown protocol.EventKind `json:"-"`
}

// Waiting is an input in the queue.
type Waiting struct {
	Input

	Seq uint64 `json:"seq"` // of the record that queued it
}

// Known is a run that ended, or was refused.
type Known struct {
	Run  protocol.RunID     `json:"run"`
	Hash string             `json:"hash"`
	Kind protocol.EventKind `json:"kind"` // completed, failed, cancelled, refused
	Seq  uint64             `json:"seq"`  // of the record that says so
	// Into is the run that took the input up, where it had no turn of its own.
	Into protocol.RunID `json:"into,omitempty"`
}

// Turn is what was said in one run.
type Turn struct {
	Run protocol.RunID  `json:"run"`
	In  json.RawMessage `json:"in,omitempty"`  // a Content
	Out json.RawMessage `json:"out,omitempty"` // a Content
}

// Open is the run that is not over.
type Open struct {
	Input

	First uint64 `json:"first"` // its first claim
	// Since is when that was, later by as long as the run was suspended: a limit of time is for time in work.
	Since   time.Time `json:"since"`
	Stopped time.Time `json:"stopped,omitzero"` // when it was suspended
	Node    string    `json:"node"`             // of the last claim
	Made    Made      `json:"made,omitzero"`
	Attempt int       `json:"attempt"`
	// Stalled counts the claims since the run last got anywhere.
	Stalled int `json:"stalled"`
	// Wait is not nil while the run is suspended; WaitSeq is the record that says so.
	Wait    *Wait  `json:"wait,omitempty"`
	WaitSeq uint64 `json:"wait_seq,omitempty"`

	Journal map[string]*Entry `json:"journal,omitempty"`
	// Mailbox are the signals that no step has taken, in the order in which they were noted.
	Mailbox []Signal `json:"mailbox,omitempty"`
	// Cancel is the signal that says that the run must stop.
	Cancel *Signal `json:"cancel,omitempty"`
	Paused bool    `json:"paused,omitempty"`
	// Toggled is the last signal that paused or resumed it: of two, the one that was stored later holds.
	Toggled uint64 `json:"toggled,omitempty"`
	// Timers are when the timers of steps are due, Behind the records that they were set behind; Fired are those that were due.
	Timers map[string]time.Time `json:"timers,omitempty"`
	Behind map[string]uint64    `json:"behind,omitempty"`
	Fired  map[string]bool      `json:"fired,omitempty"`
	// Asked are the approvals that were asked for and not decided: the record since which an answer counts.
	Asked map[string]uint64 `json:"asked,omitempty"`
	// Children are those that it began, by their runs.
	Children map[protocol.RunID]*Child `json:"children,omitempty"`
	Cost     protocol.Decimal          `json:"cost"`
}

// Commit is what the last commit was, as far as it takes to settle it.
type Commit struct {
	Input

	Seq  uint64             `json:"seq"`
	Kind protocol.EventKind `json:"kind"` // completed, failed, cancelled, suspended

	Output   json.RawMessage          `json:"output,omitempty"`
	Blob     *Blob                    `json:"blob,omitempty"`
	Error    *protocol.Error          `json:"error,omitempty"`
	Attempts int                      `json:"attempts,omitempty"`
	Wait     *Wait                    `json:"wait,omitempty"`
	Requests []protocol.EffectRequest `json:"requests,omitempty"`
	// Stop are the children that have to be told, each in two ways: by the signal cancel that names the run, and then by a
	// task that bars it. The run may have been recorded here without its input ever having been dispatched, and then
	// nobody but the bar tells this run of its end.
	Stop []Child `json:"stop,omitempty"`
}

// New returns the fold of an empty log.
func New(operator protocol.OperatorID, instance string) *Fold {
	return &Fold{Operator: operator, Instance: instance}
}

// known returns what became of a run that has ended.
func (f *Fold) known(id protocol.RunID) (Known, bool) {
	for i := len(f.Known) - 1; i >= 0; i-- {
		if f.Known[i].Run == id {
			return f.Known[i], true
		}
	}
	return Known{}, false
}

// recorded returns the input of a run that is open or waits.
func (f *Fold) recorded(id protocol.RunID) (*Input, bool) {
	if f.Open != nil && f.Open.Run == id {
		return &f.Open.Input, true
	}
	for i := range f.Queue {
		if f.Queue[i].Run == id {
			return &f.Queue[i].Input, true
		}
	}
	return nil, false
}

// Suspended reports whether a run is open and waits.
func (f *Fold) Suspended() bool { return f.Open != nil && f.Open.Wait != nil }

// idle reports whether nothing is open and nothing waits, so that a new input can begin at once.
func (f *Fold) idle() bool { return f.Open == nil && len(f.Queue) == 0 }

// Stopping reports whether the open run was told to stop: by a signal, or by an input that came while it was open.
func (f *Fold) Stopping() bool {
	if f.Open == nil {
		return false
	}
	return f.Open.Cancel != nil || slices.ContainsFunc(f.Queue, func(w Waiting) bool {
		return w.Mode == Interrupt && w.Seq > f.Open.First
	})
}

// Satisfied reports whether what the open run waits for, or would wait for with w, has come already.
func (f *Fold) Satisfied(w *Wait) bool {
	o := f.Open
	switch {
	case o == nil || w == nil:
		return false
	case f.Stopping() && !w.Cancelling:
		return true
	case w.Paused:
		return !o.Paused
	case w.Cancelling:
		return !o.waiting()
	}
	for _, s := range o.Mailbox {
		if slices.Contains(w.Signals, s.Type) {
			return true
		}
	}
	for _, d := range w.Timers {
		if o.Fired[d.Path] {
			return true
		}
	}
	for _, id := range w.Children {
		if c := o.Children[id]; c != nil && c.Done {
			return true
		}
	}
	return false
}

// waiting reports whether a child that is not detached has not ended.
func (o *Open) waiting() bool {
	for _, c := range o.Children {
		if !c.Detached && !c.Done {
			return true
		}
	}
	return false
}

// Steering returns the queued inputs that the open run is to hear, the oldest first.
func (f *Fold) Steering() (found []Waiting) {
	for _, w := range f.Queue {
		if w.Body != nil && f.steers(w) {
			found = append(found, w)
		}
	}
	return found
}

// steers reports whether the open run may take up an input. What was told to stop it may not; and a child has a turn of its
// own, since its parent waits for the end of that run.
func (f *Fold) steers(w Waiting) bool {
	return w.Mode == Steer && w.Parent == nil && !f.cancelled(w.Run)
}

// cancelled reports whether a run that has not begun was told to stop.
func (f *Fold) cancelled(id protocol.RunID) bool {
	return slices.ContainsFunc(f.Early, func(s Signal) bool { return s.Run == id && s.Type == SignalCancel })
}

// Left is what remains of the open run's budget: less what it spent and what its children may; nil is no limit.
func (f *Fold) Left() *protocol.Decimal {
	if f.Open == nil || f.Open.Budget == nil {
		return nil
	}
	left := f.Open.Budget.Sub(f.Open.Cost.Decimal)
	for _, c := range f.Open.Children {
		if !c.Done && c.Budget != nil {
			left = left.Sub(c.Budget.Decimal)
		}
	}
	if left.IsNegative() {
		return &protocol.Decimal{}
	}
	return &protocol.Decimal{Decimal: left}
}

// concerns returns which run a signal is for, and whether there is one: the one it names, or the one that was open when
// it was stored.
func (f *Fold) concerns(s Signal) (id protocol.RunID, begun, ok bool) {
	switch {
	case s.Run == "":
		if f.Open == nil || s.Seq < f.Open.First {
			return "", false, false
		}
		return f.Open.Run, true, true
	case f.Open != nil && f.Open.Run == s.Run:
		return s.Run, true, true
	}
	_, over := f.known(s.Run)
	return s.Run, false, !over
}

// asked reports whether an answer to an approval came after a question that is not decided.
func (o *Open) asked(s Signal) bool {
	for _, seq := range o.Asked {
		if s.Seq > seq {
			return true
		}
	}
	return false
}

func isDecision(s Signal) bool { return s.Type == SignalApprove || s.Type == SignalDeny }
