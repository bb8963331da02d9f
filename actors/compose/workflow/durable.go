package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	journal "github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// durably is Parallel in a durable run. The branches take their places before any begins, so that each finds its own again.
// A failure that is recorded is what comes out, the first in the order of the branches, and the others do not go on then: it
// is the same whenever the run goes on.
func durably[I, O any](ctx context.Context, in I, limit int, branches []Workflow[I, O]) ([]O, error) {
	places := make([]step.At, len(branches))
	names := make([]string, len(branches))
	for i, w := range branches {
		places[i], names[i] = step.Next(ctx), nameOf(w)
	}
	for i, at := range places {
		if err := failureAt(ctx, at, names[i]); err != nil {
			return nil, err
		}
	}
	results, ends := make([]O, len(branches)), make([]end, len(branches))
	err := all(ctx, len(branches), limit, func(ctx context.Context, i int) error {
		results[i], ends[i] = branch(ctx, places[i], names[i], branches[i], in)
		return ends[i].err
	})
	if own := outcome(ends); own != nil {
		err = own
	}
	if err != nil {
		return nil, err
	}
	return results, nil
}

func nameOf[I, O any](w Workflow[I, O]) string {
	if w == nil {
		return ""
	}
	return w.Name()
}

// end is how a branch ended, and whether the log has that.
type end struct {
	err      error
	recorded bool
}

// outcome returns the error that comes before the first in time: that the run has to stop here, then that it waits, then a
// failure that is recorded.
func outcome(ends []end) error {
	var waits, failed error
	for _, e := range ends {
		var u *step.Unwind
		switch {
		case e.err == nil:
		case !step.Unwinding(e.err):
			if failed == nil && e.recorded {
				failed = e.err
			}
		case !errors.As(e.err, &u) || u.Wait == nil || u.Wait.Paused:
			return e.err
		case waits == nil:
			waits = e.err
		}
	}
	if waits != nil {
		return waits
	}
	return failed
}

// errNothing leaves a step that is only looked at.
var errNothing = errors.New("nothing is recorded")

// failureAt returns the failure that is recorded of a branch, or why the run has to stop here.
func failureAt(ctx context.Context, at step.At, name string) error {
	e, err := at.Run(ctx, step.Spec{Kind: journal.StepCode, Name: name}, func(context.Context) (journal.Entry, error) {
		return journal.Entry{}, errNothing
	})
	switch {
	case errors.Is(err, errNothing):
		return nil
	case err != nil:
		return err
	case e.Error != nil:
		return revived(e.Error)
	}
	return nil
}

// branch runs one branch as a step at its place.
func branch[I, O any](ctx context.Context, at step.At, name string, w Workflow[I, O], in I) (out O, ended end) {
	e, err := at.Run(ctx, step.Spec{Kind: journal.StepCode, Name: name}, func(ctx context.Context) (journal.Entry, error) {
		out, err := run(ctx, w, in)
		switch {
		case err == nil:
			return encode(name, out), nil
		case step.Unwinding(err), ctx.Err() != nil, protocol.IsRetryable(err):
			return journal.Entry{}, err
		}
		return journal.Entry{Error: protocol.AsError(err).Clip()}, nil
	})
	ended.err, ended.recorded = err, err == nil
	if err == nil && e.Error != nil {
		ended.err = revived(e.Error)
	} else if err == nil {
		ended.err = json.Unmarshal(e.Result, &out)
	}
	return out, ended
}

// encode is what is recorded of what a branch made.
func encode[O any](name string, out O) journal.Entry {
	raw, err := protocol.Marshal(out)
	if err == nil {
		err = json.Unmarshal(raw, new(O))
	}
	if err != nil {
		return journal.Entry{Error: protocol.NewError(protocol.CodeInternal, fmt.Sprintf(
			"workflow %s: what it made, a %T, cannot be kept as JSON and read back", short(name), out))}
	}
	return journal.Entry{Result: raw}
}

// revived gives an error of the log the sentinel of package step back that it had, and no other cause: the first time as
// later.
func revived(e *protocol.Error) error {
	switch e.Kind {
	case "step.expired":
		return e.Because(step.ErrExpired)
	case "step.outcome_unknown":
		return e.Because(step.ErrOutcomeUnknown)
	default:
		return e.Because(nil)
	}
}
