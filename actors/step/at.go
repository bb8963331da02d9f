package step

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/shopspring/decimal"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// At is the place of one step in its run. It is for engines that record steps of their own kinds, such as package agent;
// operators use Do and the others. The zero value is no place: outside of a durable run.
type At struct {
	in   *scope
	path string
	done *run.Entry // what it came to, once that was read
}

// Next takes the place of the next step in the scope of ctx.
func Next(ctx context.Context) At {
	s := scopeOf(ctx)
	if s == nil {
		return At{}
	}
	return s.at(s.next())
}

func (s *scope) at(path string) At { return At{in: s, path: path, done: &run.Entry{}} }

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
	if _, found, err := a.read(ctx); found || err != nil {
		return found, err
	}
	return a.in.has(ctx, a.path+".1")
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
	if err != nil || found && !e.Begun {
		return e, err
	}
	left := 0 // how often its code has left it in good order
	if found && s.Unknown != nil {
		var again bool
		if left, again, err = a.left(ctx); err != nil {
			return run.Entry{}, err
		} else if !again {
			return a.record(ctx, s.Kind, s.Name, s.Unknown())
		}
	}
	if err := a.in.rec.Boundary(ctx); err != nil {
		return run.Entry{}, a.in.leave(err)
	}
	if err := ctx.Err(); err != nil {
		return run.Entry{}, err
	}
	if err := a.begin(ctx, s, left); err != nil {
		return run.Entry{}, err
	}
	inner := &scope{rec: a.in.rec, path: a.path}
	e, err = fn(context.WithValue(ctx, scopeKey{}, inner))
	if swallowed := inner.leaving(); swallowed != nil && !Unwinding(err) {
		err = swallowed
	}
	if err != nil {
		return run.Entry{}, a.in.leave(a.suspend(ctx, s, left, err))
	}
	below := inner.spent()
	a.in.spend(&protocol.Decimal{Decimal: below})
	e.Cost = own(e.Cost, below)
	if !below.IsZero() { // for who finds the step, and not those within
		e.Below = &protocol.Decimal{Decimal: below}
	}
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

// A step that must not be repeated has its start in the log. Its code may leave it in good order: a step within waits, or the
// run was released there. Then it is known what happened, and it may be begun again. Both are recorded beside the step.
const (
	markLeft  = "left"
	markAgain = "again"
)

func (a At) mark(what string, n int) At { return a.in.at(a.path + "." + what + strconv.Itoa(n)) }

// left returns how often the code has left the step, and whether it has not been begun again since.
func (a At) left(ctx context.Context) (n int, mayRepeat bool, err error) {
	for {
		if found, err := a.in.has(ctx, a.mark(markLeft, n+1).path); !found {
			return n, false, err
		}
		n++
		if found, err := a.in.has(ctx, a.mark(markAgain, n).path); !found {
			return n, err == nil, err
		}
	}
}

// begin records the start of a step that needs that, or that it is begun again.
func (a At) begin(ctx context.Context, s Spec, left int) error {
	switch {
	case s.Unknown == nil:
		return nil
	case left > 0:
		_, err := a.mark(markAgain, left).record(ctx, run.StepCode, s.Name, run.Entry{})
		return err
	}
	return a.in.leave(a.in.rec.Record(ctx, run.Entry{Path: a.path, Step: s.Kind, Name: s.Name, Begun: true, Info: s.Info}))
}

// suspend records that the code has left the step, where it counts and err says so. It returns err, or why it could not.
func (a At) suspend(ctx context.Context, s Spec, left int, err error) error {
	var u *Unwind
	if s.Unknown == nil || !errors.As(err, &u) || u.Wait == nil && !u.Released {
		return err
	}
	if _, failed := a.mark(markLeft, left+1).record(ctx, run.StepCode, s.Name, run.Entry{}); failed != nil {
		return failed
	}
	return err
}

// has reports whether the log has anything at a path.
func (s *scope) has(ctx context.Context, path string) (bool, error) {
	_, found, err := s.rec.Lookup(ctx, path)
	return found && err == nil, s.leave(err)
}

// read returns what the log has of the step.
func (a At) read(ctx context.Context) (run.Entry, bool, error) {
	if a.done.Path != "" {
		return *a.done, true, nil
	}
	e, found, err := a.in.rec.Lookup(ctx, a.path)
	if err != nil {
		return run.Entry{}, false, a.in.leave(err)
	}
	if found && !e.Begun {
		*a.done = e
	}
	return e, found, nil
}

// lookup returns what the log has of the step, and refuses another step's.
func (a At) lookup(ctx context.Context, kind run.StepKind, name string) (run.Entry, bool, error) {
	again := a.done.Path != "" // who looks twice at a place spends once
	e, found, err := a.read(ctx)
	switch {
	case err != nil:
		return e, false, err
	case found && (e.Step != kind || e.Name != name):
		return run.Entry{}, false, a.in.leave(otherStep(e, kind, name))
	}
	if found && !e.Begun && !again {
		a.in.spend(e.Cost)
		a.in.spend(e.Below)
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
