package inspect

import (
	"cmp"
	"context"
	"fmt"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/protocol"
)

// Wait returns what became of a run once it has ended: of the one that Result would choose if id is empty. It reads the log
// from where it is known, so it misses nothing, and asks nobody again and again. changed, if not nil, is called with what
// the instance does whenever a record is added, and first with what it does now; it must not block.
//
// The error is not_found as for Result, also where the instance is forgotten meanwhile; else that of ctx.
func (r *Reader) Wait(ctx context.Context, workflow protocol.WorkflowID, id protocol.RunID, changed func(run.Status)) (Result, error) {
	t, err := parse(workflow)
	if err != nil {
		return Result{}, err
	}
	i, result, err := r.resolve(ctx, t, id)
	if err != nil {
		return Result{}, err
	}
	if i == nil { // it has to begin first
		if i, err = r.load(ctx, t, false); err != nil {
			return Result{}, err
		}
	}
	id = result.Run
	if changed == nil {
		changed = func(run.Status) {}
	}
	changed(i.Fold.Status())
	if _, over := i.Fold.Ended(id); !over {
		if id, err = r.follow(ctx, t, i, id, changed); err != nil {
			return Result{}, err
		}
	}
	result, err = r.resultOf(ctx, t, i, id)
	if err == nil && !result.State.Ended() { // its input was taken up by a run that goes on
		rest, err := r.Wait(ctx, workflow, result.TakenBy, changed)
		rest.Run, rest.TakenBy = result.Run, result.TakenBy
		return rest, err
	}
	return result, err
}

// follow folds in what is appended until the run has ended. A run without an id is the first that begins.
func (r *Reader) follow(ctx context.Context, t target, i *Instance, id protocol.RunID, changed func(run.Status)) (protocol.RunID, error) {
	var failed error
	subject := r.conn.Names().Event(r.subject(t))
	err := r.conn.Observe(ctx, bus.ObserveConfig{Log: subject, Since: i.Fold.Seq + 1}, func(o bus.Observation) bool {
		if o.Seq <= i.Fold.Seq {
			return true
		}
		record, err := r.decode(ctx, t, runlog.Record{Seq: o.Seq, Data: o.Data}, false)
		if err == nil {
			err = i.apply(record)
		}
		switch {
		case err != nil:
			failed = err
			return false
		case i.Fold.Unknown != "":
			failed = protocol.NewError(protocol.CodeUnsupported, fmt.Sprintf("%s was written by a newer program: event %s is not known here", t.workflow, i.Fold.Unknown))
			return false
		case i.empty():
			failed = protocol.NewError(protocol.CodeNotFound, fmt.Sprintf("%s was forgotten", t.workflow))
			return false
		}
		if id == "" && i.Fold.Open != nil {
			id = i.Fold.Open.Run
		}
		changed(i.Fold.Status())
		_, over := i.Fold.Ended(id)
		return !over
	})
	return id, cmp.Or(failed, err)
}
