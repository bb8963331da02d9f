package run

import (
	"encoding/json"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// StepKind says what a step is.
type StepKind string

// The kinds of step.
const (
	StepCode  StepKind = "step"  // a function of the operator
	StepModel StepKind = "model" // a model call
	StepTool  StepKind = "tool"  // a tool call
	StepSleep StepKind = "sleep"
	StepAwait StepKind = "await" // a signal
	StepCall  StepKind = "call"  // another operator
	StepSteer StepKind = "steer" // what was said to a run while it ran
)

// Entry is what the log knows of one step.
type Entry struct {
	// Path is the step's ordinal from 1; within a step, that of the outer one, a dot, and its own.
	Path string   `json:"path"`
	Step StepKind `json:"step"`
	// Name is the step's own. A step that asks under another name than was recorded is another step.
	Name   string          `json:"name"`
	Result json.RawMessage `json:"result,omitempty"`
	Blob   *Blob           `json:"blob,omitempty"`
	Error  *protocol.Error `json:"error,omitempty"`
	// Cost is what the step spent, in USD; nil for nothing.
	Cost *protocol.Decimal `json:"cost,omitempty"`
	// Below is what the steps within it spent, which they have recorded themselves; nil for nothing.
	Below *protocol.Decimal `json:"below,omitempty"`
	// Signals are those that the step took, by their sequences; Inputs the runs of queued inputs that it took.
	Signals []uint64         `json:"signals,omitempty"`
	Inputs  []protocol.RunID `json:"inputs,omitempty"`
	// Child is the run that a call began, as its start says.
	Child *Child `json:"child,omitempty"`

	// Begun says that only its start is recorded. The event says so by its kind, the JSON of a fold by this.
	Begun bool `json:"begun,omitempty"`
	// Info is an object whose members go beside the above, for observers.
	Info json.RawMessage `json:"-"`
}

// Child is a run that a run began and hears of.
type Child struct {
	Operator protocol.OperatorID `json:"operator"`
	Instance string              `json:"instance"`
	Run      protocol.RunID      `json:"run"`
	// Hash is that of its input: nobody else can make it run something else.
	Hash     string            `json:"hash,omitempty"`
	Budget   *protocol.Decimal `json:"budget,omitempty"` // allotted to it
	Detached bool              `json:"detached,omitempty"`
	// TakeEffects says that the run that calls takes the effects of the output.
	TakeEffects bool `json:"take_effects,omitempty"`
	// Seq is the record that began it, Done whether it has ended; both are the fold's.
	Seq  uint64 `json:"seq,omitempty"`
	Done bool   `json:"done,omitempty"`
}

// kindOf is the kind of event that records e.
func (e Entry) kindOf() protocol.EventKind {
	switch {
	case e.Step == StepModel && !e.Begun:
		return protocol.EventInferenceCompleted
	case e.Step == StepTool && e.Begun:
		return protocol.EventToolCallAssembled
	case e.Step == StepTool:
		return protocol.EventToolResultReceived
	case e.Begun:
		return protocol.EventStepStarted
	}
	return protocol.EventStepCompleted
}

// Item is the event that records e.
func (e Entry) Item(id protocol.RunID) Item {
	kind := e.kindOf()
	e.Begun = false
	return Item{Kind: kind, Run: id, Data: e}
}

// MarshalJSON writes the members of Info behind those of the entry.
func (e Entry) MarshalJSON() ([]byte, error) {
	type plain Entry
	own, err := protocol.Marshal(plain(e))
	if err != nil || len(e.Info) <= 2 {
		return own, err
	}
	return append(append(own[:len(own)-1], ','), e.Info[1:]...), nil
}

// Reason says in a word why a run waits.
type Reason string

// The reasons.
const (
	WaitApproval Reason = "approval"
	WaitSignal   Reason = "external_input"
	WaitTimer    Reason = "timer"
	WaitChild    Reason = "child_run"
	WaitPaused   Reason = "paused"
	WaitRetry    Reason = "retry"   // after a failure that may pass
	WaitEffects  Reason = "effects" // until what an earlier turn wrote can be read
)

// Wait says what a suspended run waits for: any of what it lists.
type Wait struct {
	Reason Reason `json:"reason"`
	// Signals are types.
	Signals []string `json:"signals,omitempty"`
	Timers  []Due    `json:"timers,omitempty"`
	// Children are runs.
	Children []protocol.RunID `json:"children,omitempty"`
	// Approval is the question that a person has to answer, Path the step that asks it.
	Approval *protocol.ApprovalRequest `json:"approval,omitempty"`
	Path     string                    `json:"path,omitempty"`
	// Cancelling says that the run was told to stop and waits until its children have.
	Cancelling bool `json:"cancelling,omitempty"`
	// Paused says that nothing but resume, and cancel, goes on.
	Paused bool `json:"paused,omitempty"`
}

// Due is when the timer of a step is due.
type Due struct {
	Path string    `json:"path"`
	At   time.Time `json:"at"`
}
