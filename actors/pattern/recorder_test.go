package pattern_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/pattern"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// journal is a recorder in memory whose calls do what the test says.
type journal struct {
	call func(n int, e run.Entry) (run.Entry, error) // n counts the attempts at a path, from 1
	left *protocol.Decimal

	mu      sync.Mutex
	entries map[string]run.Entry
	tries   map[string]int
}

var _ step.Recorder = (*journal)(nil)

func newJournal(call func(n int, e run.Entry) (run.Entry, error)) *journal {
	return &journal{call: call, entries: map[string]run.Entry{}, tries: map[string]int{}}
}

func (j *journal) Info() step.Info {
	return step.Info{Run: "r1", Left: func() *protocol.Decimal { return j.left }}
}

func (j *journal) Lookup(_ context.Context, path string) (run.Entry, bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e, ok := j.entries[path]
	return e, ok, nil
}

func (j *journal) Record(_ context.Context, e run.Entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries[e.Path] = e
	return nil
}

func (j *journal) Call(ctx context.Context, e run.Entry, _ protocol.OperatorInput) (run.Entry, error) {
	j.mu.Lock()
	j.tries[e.Path]++
	n := j.tries[e.Path]
	j.mu.Unlock()
	e, err := j.call(n, e)
	if err == nil {
		e.Begun = false
		err = j.Record(ctx, e)
	}
	return e, err
}

func (*journal) Boundary(context.Context) error                { return nil }
func (*journal) Peek(...string) []run.Signal                   { return nil }
func (*journal) Steering() []run.Waiting                       { return nil }
func (*journal) Timer(string) (due time.Time, set, fired bool) { return due, false, false }
func (*journal) Suspend(w run.Wait) error                      { return &step.Unwind{Wait: &w} }

func replying(e run.Entry) (run.Entry, error) {
	var err error
	e.Result, err = protocol.Marshal(protocol.Reply("from " + string(e.Child.Operator)))
	return e, err
}

// What keeps a branch from beginning and may pass is tried again at once; a failure that is recorded costs nothing more.
func TestBranchesThatCannotBegin(t *testing.T) {
	t.Parallel()
	busy := protocol.NewError(protocol.CodeUnavailable, "the bus is away").After(0)
	for name, c := range map[string]struct {
		call  func(n int, e run.Entry) (run.Entry, error)
		says  string
		exit  protocol.ExitKind
		tries int
	}{
		"it passes": {func(n int, e run.Entry) (run.Entry, error) {
			if n < 3 && e.Child.Operator == "b" {
				return e, busy
			}
			return replying(e)
		}, "from a\nfrom b", protocol.ExitComplete, 3},
		"it does not": {func(_ int, e run.Entry) (run.Entry, error) {
			if e.Child.Operator == "b" {
				return e, busy
			}
			return replying(e)
		}, "from a\nb: the bus is away", protocol.ExitError, 3},
		"it never will": {func(_ int, e run.Entry) (run.Entry, error) {
			if e.Child.Operator == "b" {
				return e, protocol.ErrOperatorNotFound("b")
			}
			return replying(e)
		}, "from a\nb: operator not found: b", protocol.ExitError, 1},
		"the member failed": {func(_ int, e run.Entry) (run.Entry, error) {
			if e.Child.Operator == "b" {
				e.Error = busy
				return e, nil
			}
			return replying(e)
		}, "from a\nb: the bus is away", protocol.ExitError, 1},
		"it panics": {func(_ int, e run.Entry) (run.Entry, error) {
			if e.Child.Operator == "b" {
				panic("x")
			}
			return replying(e)
		}, "from a\nb: dispatch failed: the dispatch panicked", protocol.ExitError, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJournal(c.call)
			out, err := pattern.Parallel(nobody(t), "a", "b").Execute(step.With(t.Context(), j), protocol.Text("x"))
			if err != nil || said(out) != c.says || out.ExitReason.Kind() != c.exit || j.tries["2.1"] != c.tries {
				t.Errorf("got %q, %s, %v after %d tries", said(out), out.ExitReason, err, j.tries["2.1"])
			}
		})
	}
}

// That a run stops here is said before that it waits, whichever branch says it.
func TestStoppingComesBeforeWaiting(t *testing.T) {
	t.Parallel()
	wait := func(id protocol.RunID) *step.Unwind {
		return &step.Unwind{Wait: &run.Wait{Reason: run.WaitChild, Children: []protocol.RunID{id}}}
	}
	released, paused := &step.Unwind{Released: true}, &step.Unwind{Wait: &run.Wait{Reason: run.WaitPaused, Paused: true}}
	for name, c := range map[string]struct{ a, b, want *step.Unwind }{
		"released": {wait("r1.1.1"), released, released},
		"paused":   {wait("r1.1.1"), paused, paused},
	} {
		j := newJournal(func(_ int, e run.Entry) (run.Entry, error) {
			if e.Child.Operator == "a" {
				return e, c.a
			}
			return e, c.b
		})
		var u *step.Unwind
		_, err := pattern.Parallel(nobody(t), "a", "b").Execute(step.With(t.Context(), j), protocol.Text("x"))
		if !errors.As(err, &u) || u != c.want {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Within a step, such as a call of a tool, who called may have given less than the run has.
func TestBudgetWithinAStep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ run, call, want string }{
		"of the call": {"0.9", "0.5", "0.5"}, "of the run": {"0.3", "0.5", "0.3"}, "only of the call": {"", "0.5", "0.5"},
	} {
		var got string
		j := newJournal(func(_ int, e run.Entry) (run.Entry, error) {
			got = money(e.Child.Budget)
			return replying(e)
		})
		if c.run != "" {
			j.left = new(protocol.MustDecimal(c.run))
		}
		_, err := step.Do(step.With(t.Context(), j), "tool", func(ctx context.Context) (string, error) {
			ctx = protocol.WithCall(ctx, protocol.Call{Budget: new(protocol.MustDecimal(c.call))})
			out, err := pattern.Sequential(nobody(t), "a").Execute(ctx, protocol.Text("x"))
			return said(out), err
		})
		if err != nil || got != c.want {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
}

func TestRecordsAreBounded(t *testing.T) {
	t.Parallel()
	d := newLocal(map[protocol.OperatorID]member{"a": func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		out := protocol.Reply("a")
		out.Metadata.SubDispatches = make([]protocol.SubDispatchRecord, 700)
		return out, nil
	}})
	if out := execute(t, pattern.Sequential(d, "a", "a", "a"), "x"); len(out.Metadata.SubDispatches) != 1000 {
		t.Errorf("got %d", len(out.Metadata.SubDispatches))
	}
}
