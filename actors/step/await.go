package step

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// WaitOption says something more of Await and Approval.
type WaitOption func(*waiting)

type waiting struct{ deadline time.Duration }

// Deadline bounds how long to wait, from when the step is first asked for; 0 or less is no bound. What was stored before the
// deadline counts, whenever it is looked at; what was stored later does not.
func Deadline(d time.Duration) WaitOption { return func(w *waiting) { w.deadline = d } }

func waitingOf(opts []WaitOption) (w waiting) {
	for _, o := range opts {
		o(&w)
	}
	return w
}

// reserved are the signals that mean something to every run, and cannot be awaited.
var reserved = []string{run.SignalCancel, run.SignalPause, run.SignalResume, run.SignalApprove, run.SignalDeny}

// Await waits for a signal whose type is name and returns its body as a T: a string for a text, a struct for an object,
// json.RawMessage for whatever it is. Each signal is taken by one step, in the order in which they were stored.
//
// A body that is no T is taken all the same, and is an error with the code invalid_input: what to do then, such as to wait
// again, is the code's to say. The error is ErrExpired where the deadline passed. Both are recorded.
func Await[T any](ctx context.Context, name string, opts ...WaitOption) (T, error) {
	at := Next(ctx)
	if !at.Durable() {
		return *new(T), unsupported("step.Await")
	}
	if name == "" || len(name) > wire.MaxSignalType || slices.Contains(reserved, name) {
		return *new(T), protocol.NewError(protocol.CodeInvalidInput, fmt.Sprintf(
			"signal %.150q cannot be awaited: a type has 1 to %d bytes and is none of %v", name, wire.MaxSignalType, reserved))
	}
	t := term{at: at, d: waitingOf(opts).deadline}
	e, err := at.wait(ctx, run.StepAwait, name, func() (*run.Entry, run.Wait, error) {
		in, over := t.look(name)
		switch {
		case len(in) > 0:
			return taken[T](in[0]), run.Wait{}, nil
		case over:
			return &run.Entry{Error: expired("signal " + name)}, run.Wait{}, nil
		}
		return nil, run.Wait{Reason: run.WaitSignal, Signals: []string{name}, Timers: t.timers()}, nil
	})
	if err != nil {
		return *new(T), err
	}
	return decode[T](at, e)
}

// taken is what is recorded of a signal.
func taken[T any](s run.Signal) *run.Entry {
	e := &run.Entry{Signals: []uint64{s.Seq}, Result: s.Data}
	if len(e.Result) == 0 {
		e.Result = json.RawMessage("null")
	}
	var v T
	if err := json.Unmarshal(e.Result, &v); err != nil {
		e.Result = nil
		e.Error = protocol.NewError(protocol.CodeInvalidInput, fmt.Sprintf("signal %s: %v", s.Type, err)).Clip()
	}
	return e
}

// term is the time within which an answer has to be stored.
type term struct {
	at  At
	d   time.Duration
	due time.Time
}

// look returns the signals of these types that were stored in time, and whether the time is over. A signal that was stored
// later proves that it is, as well as the timer does.
func (t *term) look(types ...string) (in []run.Signal, over bool) {
	in = t.at.in.rec.Peek(types...)
	if t.d <= 0 {
		return in, false
	}
	_, over = t.at.timer(&t.due, t.d)
	for i, s := range in {
		if s.Time.After(t.due) {
			return in[:i], true
		}
	}
	return in, over
}

func (t *term) timers() []run.Due {
	if t.d <= 0 {
		return nil
	}
	return []run.Due{{Path: t.at.path, At: t.due}}
}
