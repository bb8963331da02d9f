package run

import (
	"encoding/json"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// Item is an event to be: what an append makes of it has the instance, an id and the time besides.
type Item struct {
	Kind protocol.EventKind
	Run  protocol.RunID
	Data any // marshals to an object
}

// Record is a message of the log: one event or several.
type Record struct {
	Seq   uint64
	Event protocol.Event
}

// TaskID tells a task from every other, also of a stream of the same name that was made anew.
type TaskID struct {
	Seq  uint64 `json:"seq"`
	Time int64  `json:"time"` // when it was stored, in nanoseconds since 1970
}

// Carrier is the task that a claimant holds.
type Carrier struct {
	ID TaskID `json:"id"`
	// Ack is the subject by which this delivery is acknowledged or given back.
	Ack string `json:"ack,omitempty"`
	// Delivery counts the deliveries of the task up to this one.
	Delivery uint64 `json:"delivery,omitempty"`
}

// Mode says what an input wants while a run is open.
type Mode string

// The modes.
const (
	Enqueue   Mode = "enqueue"   // wait for its turn
	Reject    Mode = "reject"    // be turned away
	Steer     Mode = "steer"     // be heard by the open run at its next boundary; else have a turn of its own
	Interrupt Mode = "interrupt" // stop the open run, then have a turn of its own
)

// Valid reports whether m is one of the modes.
func (m Mode) Valid() bool { return m == Enqueue || m == Reject || m == Steer || m == Interrupt }

// Blob is where the log keeps what is too large for it.
type Blob struct {
	SHA256 string `json:"sha256"`
	Size   int    `json:"size"`
}

// Parent is the run that waits for the end of this one.
type Parent struct {
	Operator protocol.OperatorID `json:"operator"`
	Instance string              `json:"instance"`
	Run      protocol.RunID      `json:"run"`
	// Seq is the record of its log with which it began to wait.
	Seq uint64 `json:"seq"`
}

// Input is an OperatorInput and what travelled with it.
type Input struct {
	Run protocol.RunID `json:"run"`
	// Hash is of the body: two inputs with one run id must agree in it.
	Hash    string          `json:"hash"`
	Body    json.RawMessage `json:"body,omitempty"` // an OperatorInput
	Blob    *Blob           `json:"blob,omitempty"` // or where it is
	Mode    Mode            `json:"mode,omitempty"`
	Inboxes []string        `json:"inboxes,omitempty"` // who wants the answer
	Parent  *Parent         `json:"parent,omitempty"`

	ParentRun protocol.RunID    `json:"parent_run,omitempty"`
	Deadline  time.Time         `json:"deadline,omitzero"`
	Budget    *protocol.Decimal `json:"budget,omitempty"`
	Depth     int               `json:"depth,omitempty"`
	Trace     string            `json:"trace,omitempty"`
	// TakeEffects says that whoever wanted the run takes the effects of its output: nothing is performed here.
	TakeEffects bool `json:"take_effects,omitempty"`
	// Task is where it came from.
	Task TaskID `json:"task"`
}

// Made says what a run is run by, as far as the operator tells.
type Made struct {
	Version string `json:"version,omitempty"`
	Model   string `json:"model,omitempty"`
	// Prompt is the SHA-256 of the system prompt.
	Prompt string `json:"prompt_sha256,omitempty"`
}

// The data of the events of a run log. The members in the comments are for observers: nothing here reads them.
type (
	// Started is invocation_started, a claim: of a new run, or of one that goes on.
	Started struct {
		Carrier Carrier `json:"carrier"`
		Node    string  `json:"node"`
		Attempt int     `json:"attempt"`
		// Input is that of a new run that did not come out of the queue.
		Input *Input `json:"input,omitempty"`
		Made  Made   `json:"made,omitzero"`
		// Resumed says that the run was suspended.
		Resumed bool `json:"resumed,omitempty"`
	}
	// Queued is an input that waits.
	Queued struct {
		Input Input `json:"input"`
	}
	// Refused is an input that will not run.
	Refused struct {
		Hash  string          `json:"hash"`
		Error *protocol.Error `json:"error"`
	}
	// Attached is a further caller, or the parent of a run that somebody else had begun under its name.
	Attached struct {
		Inbox  string  `json:"inbox,omitempty"`
		Parent *Parent `json:"parent,omitempty"`
	}
	// Noted is what reached the instance: exactly one of them.
	Noted struct {
		Signal *Signal   `json:"signal,omitempty"`
		Timer  *Timer    `json:"timer,omitempty"`
		Child  *ChildEnd `json:"child,omitempty"`
		// Ignored says that it concerned no run.
		Ignored bool `json:"ignored,omitempty"`
	}
	// Suspended says what the run waits for.
	Suspended struct {
		Wait Wait `json:"wait"`
	}
	// Completed is the end of a run that gave an output.
	Completed struct {
		Output json.RawMessage `json:"output,omitempty"`
		Blob   *Blob           `json:"blob,omitempty"`
	}
	// Failed is the end of one that did not.
	Failed struct {
		Error *protocol.Error `json:"error"`
		// Attempts are the claims of the run.
		Attempts int `json:"attempts"`
	}
	// Cancelled is the end of one that was stopped.
	Cancelled struct {
		Reason string `json:"reason,omitempty"`
		// Signal is the sequence of the signal that asked for it, 0 if there was none.
		Signal uint64 `json:"signal,omitempty"`
	}
)

// Signal is a signal as the log has it.
type Signal struct {
	Seq  uint64          `json:"seq"` // of the signal itself
	Type string          `json:"type"`
	Run  protocol.RunID  `json:"run,omitempty"` // that it names, or that was open when it came
	Time time.Time       `json:"time"`
	Data json.RawMessage `json:"data,omitempty"` // JSON: text is a string
}

// The types of signal that every run understands.
const (
	SignalCancel  = "cancel"
	SignalPause   = "pause"
	SignalResume  = "resume"
	SignalSteer   = "steer"
	SignalApprove = "approve"
	SignalDeny    = "deny"
	// SignalChild is not sent: it is how a run hears of the end of a detached child.
	SignalChild = "child"
)

// Timer is a timer that is due.
type Timer struct {
	Run  protocol.RunID `json:"run"`
	Path string         `json:"path"` // of the step that waits for it
	// After is the record of the log that it was set behind.
	After uint64 `json:"after"`
}

// ChildEnd is the end of a run that another waits for.
type ChildEnd struct {
	Run    protocol.RunID  `json:"run"`
	Output json.RawMessage `json:"output,omitempty"` // an OperatorOutput
	Blob   *Blob           `json:"blob,omitempty"`   // of the waiting instance, where the output is too large
	Error  *protocol.Error `json:"error,omitempty"`
}
