package step

import (
	"context"
	"time"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// Recorder is what a durable run gives its operator: the journal of the run. All methods are safe for concurrent use.
// Every error that is an *Unwind must leave the operator's code.
type Recorder interface {
	// Info says what does not change while the operator's code runs.
	Info() Info
	// Lookup returns what is recorded of the step at path: nothing, only its start (Begun), or what it came to, with
	// blobs resolved. It does not block on the bus unless there is a blob.
	Lookup(ctx context.Context, path string) (run.Entry, bool, error)
	// Boundary is asked before a step that is not recorded begins. It returns an *Unwind where the run has to stop here:
	// it was cancelled, paused, is needed elsewhere, or is somebody else's.
	Boundary(ctx context.Context) error
	// Record appends an entry (its start, where Begun is set) and returns when it is in the log. The context may have ended:
	// what happened is recorded all the same.
	Record(ctx context.Context, e run.Entry) error
	// Peek returns the signals of these types that no step has taken, in the order of the log. An entry that names them in
	// Signals takes them when it is recorded.
	Peek(types ...string) []run.Signal
	// Steering returns the queued inputs that want to be heard now, in order. An entry takes them by Inputs.
	Steering() []run.Waiting
	// Timer returns when the timer of the step at path is due and whether it was; set is false if none was set.
	Timer(path string) (due time.Time, set, fired bool)
	// Suspend returns the *Unwind with which the run is suspended until what w lists has come, or nil if some of it has come
	// already.
	Suspend(w run.Wait) error
	// Call starts the child of e (Child names operator, run and budget), once for its path, waits a little, and returns
	// the entry with the child's end, or an *Unwind to wait for it with nothing held. Detached children are only started.
	Call(ctx context.Context, e run.Entry, in protocol.OperatorInput) (run.Entry, error)
}

// Info is what a durable run is.
type Info struct {
	Run      protocol.RunID
	Operator protocol.OperatorID
	Instance string
	// Since is when the run was first claimed, on whichever node, later by as long as it was suspended since.
	Since   time.Time
	Attempt int
	// History is what was said in earlier turns of the session, the oldest first.
	History []run.Turn
	// Left is what remains of the run's budget in USD; nil is no limit.
	Left func() *protocol.Decimal
	// Spent is what the run has cost in USD so far, its children included; nil where that is not known.
	Spent func() protocol.Decimal
}

// Unwind is the error with which a step ends the execution of an operator without ending its run. The code between has to
// return it, wrapped or not.
type Unwind struct {
	// Wait is what the run waits for, nil where it does not wait.
	Wait *run.Wait
	// Cancelled, Released and Lost say why it stops otherwise: it was told to, another node goes on, another node has.
	Cancelled, Released, Lost bool
}

// Error says why.
func (u *Unwind) Error() string {
	switch {
	case u.Wait != nil:
		return "the run is suspended: " + string(u.Wait.Reason)
	case u.Cancelled:
		return "the run is cancelled"
	case u.Released:
		return "the run goes on at another node"
	}
	return "the run is another node's"
}
