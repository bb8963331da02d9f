package step

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/shopspring/decimal"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// At is the place of one step in its run. It is for engines that record steps of their own kinds, such as package agent;
// operators use Do and the others. The zero value is no place: outside of a durable run.
type At struct {
	in   *scope
	path string
}

// Next takes the place of the next step in the scope of ctx.
func Next(ctx context.Context) At {
	s := scopeOf(ctx)
	if s == nil {
		return At{}
	}
	return At{in: s, path: s.next()}
}

// Durable reports whether the step is of a durable run.
func (a At) Durable() bool { return a.in != nil }

// Path is the step's path, empty outside of a durable run.
func (a At) Path() string { return a.path }

// Key is what step.Key returns within the step.
func (a At) Key() string {
	if a.in == nil {
		return ""
	}
	return keyOf(a.in.rec, a.path)
}

// Known reports whether the log has anything of the step: what it came to, its start, or the first step within it. Who
// replays a run must not stop before such a step.
func (a At) Known(ctx context.Context) (bool, error) {
	if a.in == nil {
		return false, nil
	}
	for _, path := range []string{a.path, a.path + ".1"} {
		if _, found, err := a.in.rec.Lookup(ctx, path); found || err != nil {
			return found, a.in.leave(err)
		}
	}
	return false, nil
}

// Spec says what a step is.
type Spec struct {
	Kind run.StepKind
	Name string
	// Unknown makes what is recorded of the step where the log has its start alone: then it is not begun again. If it is
	// nil, the step may be begun again, and its start is not recorded.
	Unknown func() run.Entry
	// Info is that of its start.
	Info json.RawMessage
}

// Run returns what is recorded of the step. If nothing is, it calls fn, and records the Result or Error, the Cost and the
// Info of the entry that fn returns. The cost includes that of the steps within, which is not recorded twice.
//
// An error of fn is not recorded and comes back as it is; fn returns only what leaves the run unfinished here. If a
// step within had to leave the code and fn did not return its error, Run does. Outside of a durable run it calls fn.
func (a At) Run(ctx context.Context, s Spec, fn func(context.Context) (run.Entry, error)) (run.Entry, error) {
	if a.in == nil {
		return fn(ctx)
	}
	e, found, err := a.lookup(ctx, s.Kind, s.Name)
	switch {
	case err != nil || found && !e.Begun:
		return e, err
	case found && s.Unknown != nil && string(e.Result) != suspended:
		return a.record(ctx, s.Kind, s.Name, s.Unknown())
	}
	if err := a.in.rec.Boundary(ctx); err != nil {
		return run.Entry{}, a.in.leave(err)
	}
	if err := ctx.Err(); err != nil {
		return run.Entry{}, err
	}
	if s.Unknown != nil {
		if err := a.begin(ctx, s, nil); err != nil {
			return run.Entry{}, err
		}
	}
	inner := &scope{rec: a.in.rec, path: a.path}
	e, err = fn(context.WithValue(ctx, scopeKey{}, inner))
	if left := inner.leaving(); left != nil && !leaves(err) {
		err = left
	}
	if err != nil {
		return run.Entry{}, a.in.leave(a.suspend(ctx, s, err))
	}
	below := inner.spent()
	a.in.spend(&protocol.Decimal{Decimal: below})
	e.Cost = own(e.Cost, below)
	return a.record(ctx, s.Kind, s.Name, e)
}

// own is what remains of the cost of a step without that of the steps within.
func own(cost *protocol.Decimal, below decimal.Decimal) *protocol.Decimal {
	if cost == nil || below.IsZero() {
		return cost
	}
	if rest := cost.Sub(below); rest.IsPositive() {
		return &protocol.Decimal{Decimal: rest}
	}
	return nil
}

// suspended, as the result of a start, says that the code of the step has left it in good order: a step within waits, or the
// run was released. So it is known what happened, and the step may be begun again.
const suspended = `"suspended"`

// suspend records that, where it counts, and returns err, or why it could not.
func (a At) suspend(ctx context.Context, s Spec, err error) error {
	var u *Unwind
	if s.Unknown == nil || !errors.As(err, &u) || u.Wait == nil && !u.Released {
		return err
	}
	s.Info = nil
	if failed := a.begin(ctx, s, json.RawMessage(suspended)); failed != nil {
		return failed
	}
	return err
}

func (a At) begin(ctx context.Context, s Spec, result json.RawMessage) error {
	return a.in.leave(a.in.rec.Record(ctx, run.Entry{
		Path: a.path, Step: s.Kind, Name: s.Name, Begun: true, Info: s.Info, Result: result,
	}))
}

// lookup returns what the log has of the step, and refuses another step's.
func (a At) lookup(ctx context.Context, kind run.StepKind, name string) (run.Entry, bool, error) {
	e, found, err := a.in.rec.Lookup(ctx, a.path)
	switch {
	case err != nil:
		return run.Entry{}, false, a.in.leave(err)
	case found && (e.Step != kind || e.Name != name):
		return run.Entry{}, false, a.in.leave(otherStep(e, kind, name))
	}
	if found && !e.Begun {
		a.in.spend(e.Cost)
	}
	return e, found, nil
}

func (a At) record(ctx context.Context, kind run.StepKind, name string, e run.Entry) (run.Entry, error) {
	e.Path, e.Step, e.Name, e.Begun = a.path, kind, name, false
	if err := a.in.rec.Record(ctx, e); err != nil {
		return run.Entry{}, a.in.leave(err)
	}
	a.in.spend(e.Cost)
	return e, nil
}

// wait returns what is recorded of a step that waits. If nothing is, it asks look, which returns either what to record or
// what to wait for, and suspends the run until some of that has come.
func (a At) wait(
	ctx context.Context, kind run.StepKind, name string, look func() (*run.Entry, run.Wait, error),
) (run.Entry, error) {
	e, found, err := a.lookup(ctx, kind, name)
	if err != nil || found && !e.Begun {
		return e, err
	}
	for {
		if err := a.in.rec.Boundary(ctx); err != nil {
			return run.Entry{}, a.in.leave(err)
		}
		e, w, err := look()
		switch {
		case err != nil:
			return run.Entry{}, a.in.leave(err)
		case e != nil:
			return a.record(ctx, kind, name, *e)
		}
		w.Path = a.path
		if err := a.in.rec.Suspend(w); err != nil {
			return run.Entry{}, a.in.leave(err)
		}
	}
}
