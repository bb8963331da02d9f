package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/protocol"
)

// State says in a word what became of a run.
type State string

// The states of a run.
const (
	StateScheduled State = "scheduled" // to begin at a time
	StateQueued    State = "queued"    // nobody has begun it
	StateRunning   State = "running"
	StateSuspended State = "suspended"
	StateCompleted State = "completed"
	StateFailed    State = "failed"
	StateCancelled State = "cancelled"
	StateRefused   State = "refused" // it will not run
)

// Ended reports whether nothing more comes of a run.
func (s State) Ended() bool {
	return s == StateCompleted || s == StateFailed || s == StateCancelled || s == StateRefused
}

// Result is what became of a run.
type Result struct {
	Workflow protocol.WorkflowID `json:"workflow"`
	Run      protocol.RunID      `json:"run"`
	State    State               `json:"state"`
	// Output is that of a run that completed, Error that of one that failed, was cancelled or refused.
	Output *protocol.OperatorOutput `json:"output,omitempty"`
	Error  *protocol.Error          `json:"error,omitempty"`
	// Wait is what a suspended run waits for.
	Wait *run.Wait `json:"wait,omitempty"`
	// Due is when a scheduled run begins.
	Due *time.Time `json:"due,omitempty"`
	// HandedTo are the workflows that go on with what this one handed off.
	HandedTo []protocol.WorkflowID `json:"handed_to,omitempty"`
	// TakenBy is the run that took up the input of this one while it ran; the rest says what became of that.
	TakenBy protocol.RunID `json:"taken_by,omitempty"`
	// Node is where a running one was claimed last.
	Node string `json:"node,omitempty"`
}

// Result returns what became of a run: of the open one, the next, or the last, if id is empty. The error is not_found where
// neither the log, nor the queue, nor the timers have it, or the log no longer has what it came to.
func (r *Reader) Result(ctx context.Context, workflow protocol.WorkflowID, id protocol.RunID) (Result, error) {
	t, err := parse(workflow)
	if err != nil {
		return Result{}, err
	}
	i, result, err := r.resolve(ctx, t, id)
	if err != nil || i == nil {
		return result, err
	}
	return r.resultOf(ctx, t, i, result.Run)
}

// resolve finds a run: in the log, and then result has its id alone, or else among what waits, and then the instance is nil.
func (r *Reader) resolve(ctx context.Context, t target, id protocol.RunID) (*Instance, Result, error) {
	var waits *Result
	for looked := false; ; looked = true {
		i, err := r.load(ctx, t, false)
		if err != nil {
			return nil, Result{}, err
		}
		forgotten := i.empty()
		if found := pick(i.Fold, id); found != "" && !forgotten {
			return i, Result{Run: found}, nil
		}
		if waits != nil && forgotten {
			if _, over := i.Fold.Ended(waits.Run); over { // a node still has its task
				waits = nil
			}
		}
		switch {
		case waits != nil:
			return nil, *waits, nil
		case looked: // twice, since it may have been begun and have ended between the log and the queue
			return nil, Result{}, notFound(t, id, i)
		}
		if waits, err = r.waiting(ctx, t, id); err != nil {
			return nil, Result{}, err
		}
	}
}

// pick returns the run that is meant, empty if the log does not know it.
func pick(f *run.Fold, id protocol.RunID) protocol.RunID {
	if id == "" {
		switch {
		case f.Open != nil:
			return f.Open.Run
		case len(f.Queue) > 0:
			return f.Queue[0].Run
		case len(f.Known) > 0:
			return f.Known[len(f.Known)-1].Run
		}
		return ""
	}
	if _, over := f.Ended(id); over || f.Open != nil && f.Open.Run == id {
		return id
	}
	for _, w := range f.Queue {
		if w.Run == id {
			return id
		}
	}
	return ""
}

func notFound(t target, id protocol.RunID, i *Instance) error {
	switch {
	case i.Fold.Closed && !i.empty():
		return protocol.NewError(protocol.CodeNotFound, fmt.Sprintf("%.200s is closed: what its runs came to is no longer kept", t.workflow))
	case id == "" || i.empty():
		return protocol.ErrWorkflowNotFound(t.workflow)
	}
	return protocol.NewError(protocol.CodeNotFound, fmt.Sprintf("run not found: %.200s has no run %.200s, or no longer knows it", t.workflow, id))
}

// resultOf returns what became of a run that the fold knows.
func (r *Reader) resultOf(ctx context.Context, t target, i *Instance, id protocol.RunID) (Result, error) {
	f := i.Fold
	result := Result{Workflow: t.workflow, Run: id, State: StateQueued}
	if k, over := f.Ended(id); over {
		return r.ended(ctx, t, i, k)
	}
	if o := f.Open; o != nil && o.Run == id {
		result.State, result.Node = StateRunning, o.Node
		if o.Wait != nil {
			result.State, result.Node, result.Wait = StateSuspended, "", o.Wait
		}
	}
	return result, nil
}

// ended reads what a run came to out of the record that says so.
func (r *Reader) ended(ctx context.Context, t target, i *Instance, k run.Known) (Result, error) {
	raw, err := r.log.Get(ctx, k.Seq)
	if errors.Is(err, runlog.ErrGone) {
		return Result{}, protocol.NewError(protocol.CodeNotFound, fmt.Sprintf("run %.200s is over (%s), and its result is no longer kept", k.Run, k.Kind)).Because(err)
	}
	if err != nil {
		return Result{}, err
	}
	record, err := r.decode(ctx, t, raw, false)
	if err != nil {
		return Result{}, err
	}
	if k.Kind == protocol.EventNoted { // its input was taken up by the run whose record this is
		return r.taken(ctx, t, i, k.Run, record.Event.Run)
	}
	result := Result{Workflow: t.workflow, Run: k.Run}
	for _, part := range parts(record) {
		if part.Kind != k.Kind {
			continue
		}
		if err := r.readEnd(ctx, t, part, &result); err != nil {
			return Result{}, err
		}
		result.HandedTo, err = r.handedTo(ctx, t, i, k, result.Output)
		return result, err
	}
	return Result{}, defect(t.workflow, fmt.Errorf("record %d does not end run %s", k.Seq, k.Run))
}

func (r *Reader) taken(ctx context.Context, t target, i *Instance, id, by protocol.RunID) (Result, error) {
	if by == id || pick(i.Fold, by) == "" {
		return Result{}, protocol.NewError(protocol.CodeNotFound, fmt.Sprintf("run %.200s was taken up by run %.200s, which is no longer known", id, by))
	}
	result, err := r.resultOf(ctx, t, i, by)
	result.Run, result.TakenBy = id, by
	return result, err
}

// parts are the events of a record.
func parts(record Record) []protocol.EventPart {
	e := record.Event
	return append([]protocol.EventPart{{Kind: e.Kind, Data: e.Data}}, e.Also...)
}

// readEnd reads the event that ends a run.
func (r *Reader) readEnd(ctx context.Context, t target, part protocol.EventPart, result *Result) error {
	var end struct {
		Output json.RawMessage `json:"output"`
		Blob   *run.Blob       `json:"blob"`
		Error  *protocol.Error `json:"error"`
		Reason string          `json:"reason"`
	}
	if err := json.Unmarshal(part.Data, &end); err != nil {
		return defect(t.workflow, err)
	}
	result.State, result.Error = State(part.Kind), end.Error
	if part.Kind == protocol.EventCancelled {
		result.Error = run.CancelledError(end.Reason)
	}
	if part.Kind != protocol.EventCompleted {
		return nil
	}
	if end.Blob != nil && end.Output == nil {
		var err error
		if end.Output, err = r.blob(ctx, t, end.Blob); err != nil {
			return err
		}
	}
	result.Output = &protocol.OperatorOutput{}
	if err := protocol.Unmarshal(end.Output, result.Output); err != nil {
		return defect(t.workflow, err)
	}
	return nil
}

// handedTo names who goes on with what a run handed off. The effect's id is the run's, and so its instance's.
func (r *Reader) handedTo(ctx context.Context, t target, i *Instance, k run.Known, out *protocol.OperatorOutput) ([]protocol.WorkflowID, error) {
	if out == nil || !hasHandoff(out.Effects) {
		return nil, nil
	}
	last := i.Fold.Last
	if last == nil || last.Seq != k.Seq || last.Blob != nil && last.Output == nil {
		records, err := r.upTo(ctx, t, k.Seq)
		if err != nil {
			return nil, err
		}
		before, err := r.fold(ctx, t, records, true)
		if err != nil {
			return nil, err
		}
		if last = before.Fold.Last; last == nil || last.Seq != k.Seq {
			return nil, nil
		}
	}
	var found []protocol.WorkflowID
	for _, request := range last.Requests {
		for _, e := range request.Effects {
			if h, ok := e.Effect.Effect.(protocol.Handoff); ok {
				found = append(found, protocol.WorkflowID(string(h.Operator)+"/"+e.EffectID))
			}
		}
	}
	return found, nil
}

func hasHandoff(effects protocol.Effects) bool {
	for _, e := range effects {
		if e.Kind() == protocol.KindHandoff {
			return true
		}
	}
	return false
}
