package pattern_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/skelegent/skelegent-go/actors/pattern"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/protocol"
)

// nobody fails the test if a durable run dispatches by anything but steps.
func nobody(t *testing.T) protocol.Dispatcher {
	t.Helper()
	return protocol.DispatcherFunc(func(context.Context, protocol.OperatorID, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		t.Error("a durable run used its dispatcher")
		return protocol.OperatorOutput{}, errors.New("not durable")
	})
}

// patterns are one of each, whose members are letters.
func patterns(t *testing.T) map[string]protocol.Operator {
	t.Helper()
	d := nobody(t)
	never := func(protocol.OperatorOutput) bool { return false }
	return map[string]protocol.Operator{
		"sequential": pattern.Sequential(d, "a", "b", "c"),
		"parallel":   pattern.Parallel(d, "a", "f", "b", "a"),
		"fan out":    must(t)(pattern.FanOut(d, pattern.FanOutConfig{Split: words, Limit: 2})),
		"loop":       must(t)(pattern.Loop(d, pattern.LoopConfig{Operator: "a", Done: never, MaxIterations: 3})),
		"select":     must(t)(pattern.Select(d, pattern.Random(nil), "a", "b", "c")),
		"supervisor": must(t)(pattern.Supervisor(d, pattern.SupervisorConfig{
			Operators: []protocol.OperatorID{"a", "b", "h"}, Select: naming("a", "h"), Done: func(out protocol.OperatorOutput) bool { return said(out) == "1b" },
		})),
		"swarm": must(t)(pattern.Swarm(d, pattern.SwarmConfig{Start: "h", Transitions: map[protocol.OperatorID][]protocol.OperatorID{"h": {"b"}}})),
	}
}

// world answers the calls of a run, and counts them by their runs.
type world struct {
	members map[protocol.OperatorID]member

	mu    sync.Mutex
	calls map[protocol.RunID]int
}

func newWorld() *world {
	return &world{calls: map[protocol.RunID]int{}, members: map[protocol.OperatorID]member{
		"a": adding("a", "0.1"), "b": adding("b", "0.1"), "c": adding("c", "0.1"), "h": handingTo("b", `1`),
		"f": failing(protocol.NewError(protocol.CodeUnavailable, "broken").After(0)),
	}}
}

func (w *world) child(ctx context.Context, c run.Child, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	w.mu.Lock()
	w.calls[c.Run]++
	w.mu.Unlock()
	return w.members[c.Operator](ctx, in)
}

// A run that is killed before or behind any of its records does what it would have done, and calls nobody twice.
func TestPatternsSurviveEveryKill(t *testing.T) {
	t.Parallel()
	for name := range patterns(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finish := func(kill func(*steptest.Run)) (string, int, map[protocol.RunID]int) {
				w := newWorld()
				r := steptest.New(steptest.Config{Children: w.child})
				r.Input(protocol.Text("a b c"), run.Enqueue)
				kill(r)
				out, err := r.Finish(t.Context(), func() protocol.Operator { return patterns(t)[name] }, nil)
				if err != nil {
					t.Fatal(err)
				}
				what := fmt.Sprintf("%s | %s | %s | %s | %s", said(out), out.ExitReason, effects(out), records(out), out.Metadata.Cost.Text())
				if name == "select" { // by chance, which is recorded
					what = fmt.Sprintf("%d %s", len(said(out)), out.ExitReason)
				}
				return what, r.Records(), w.calls
			}
			want, n, _ := finish(func(*steptest.Run) {})
			if n < 2 {
				t.Fatalf("only %d records", n)
			}
			for at, kill := range steptest.Kills(n) {
				got, _, calls := finish(kill)
				same(t, at, want, got)
				for id, times := range calls {
					if times != 1 {
						t.Errorf("%s: %s was called %d times", at, id, times)
					}
				}
			}
		})
	}
}

// Branches begin at the same time, each with its share, and end in any order; the run holds nothing meanwhile.
func TestParallelInADurableRun(t *testing.T) {
	t.Parallel()
	op := pattern.Parallel(nobody(t), "a", "b", "c")
	r := steptest.New(steptest.Config{Budget: new(protocol.MustDecimal("0.9"))})
	r.Input(protocol.Text("x"), run.Enqueue)
	var u *step.Unwind
	if _, err := r.Execute(t.Context(), op); !errors.As(err, &u) || u.Wait == nil || u.Wait.Reason != run.WaitChild {
		t.Fatalf("got %v", err)
	}
	for path, id := range map[string]protocol.OperatorID{"1.1": "a", "2.1": "b", "3.1": "c"} {
		e, ok := r.Entry(path)
		if !ok || !e.Begun || e.Child.Operator != id || money(e.Child.Budget) != "0.3" {
			t.Errorf("%s: got %v %+v", path, ok, e.Child)
		}
	}
	for _, c := range []protocol.RunID{"r1.3.1", "r1.2.1"} {
		r.EndChild(c, answer("said "+string(c), string(c), "0.2"), nil)
	}
	for r.Wait() != nil && u.Wait.Children[0] != "r1.1.1" { // it waited for one that ended
		if _, err := r.Execute(t.Context(), op); !errors.As(err, &u) {
			t.Fatalf("got %v", err)
		}
	}
	r.EndChild("r1.1.1", answer("said r1.1.1", "r1.1.1", "0.2"), nil)
	out, err := r.Execute(t.Context(), op)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "output", []string{"said r1.1.1\nsaid r1.2.1\nsaid r1.3.1", "complete", "r1.1.1, r1.2.1, r1.3.1", "0.6"},
		[]string{said(out), out.ExitReason.String(), effects(out), out.Metadata.Cost.Text()})
	same(t, "cost of the run", "0.6", r.Fold().Cost.Text())
}

// No more than the limit is under way, however often the run is resumed; what begins later gets its part of what is left.
func TestFanOutIsBoundedInADurableRun(t *testing.T) {
	t.Parallel()
	op := must(t)(pattern.FanOut(nobody(t), pattern.FanOutConfig{Split: words, Limit: 2}))
	r := steptest.New(steptest.Config{Budget: new(protocol.MustDecimal("0.9"))})
	r.Input(protocol.Text("a b c"), run.Enqueue)
	waiting := func() {
		t.Helper()
		if _, err := r.Execute(t.Context(), op); !step.Unwinding(err) {
			t.Fatalf("got %v", err)
		}
	}
	waiting()
	if _, begun := r.Entry("3.1"); begun {
		t.Fatal("the third one began")
	}
	for _, c := range []protocol.RunID{"r1.1.1", "r1.2.1"} { // one of them it waits for
		r.EndChild(c, answer("said", "x", "0.1"), nil)
	}
	waiting()
	if e, begun := r.Entry("3.1"); !begun || money(e.Child.Budget) != "0.7" {
		t.Errorf("the third one: %v, %+v", begun, e.Child)
	}
	r.EndChild("r1.3.1", answer("said", "x", "0.1"), nil)
	if out, err := r.Execute(t.Context(), op); err != nil || said(out) != "said\nsaid\nsaid" {
		t.Errorf("got %q, %v", said(out), err)
	}
}

func TestSequentialInADurableRun(t *testing.T) {
	t.Parallel()
	op := pattern.Sequential(nobody(t), "a", "b")
	r := steptest.New(steptest.Config{Budget: new(protocol.MustDecimal("1"))})
	in := protocol.Text("x").WithSession("s1")
	in.Config = &protocol.OperatorConfig{MaxCost: new(protocol.MustDecimal("0.8"))}
	r.Input(in, run.Enqueue)
	for i, want := range []string{"0.8", "0.3"} {
		if _, err := r.Execute(t.Context(), op); !step.Unwinding(err) {
			t.Fatalf("got %v", err)
		}
		path := string(rune('1' + i))
		e, _ := r.Entry(path)
		same(t, "child", []string{want, "s1"}, []string{money(e.Child.Budget), e.Child.Instance})
		r.EndChild(e.Child.Run, answer("said "+path, path, "0.5"), nil)
	}
	out, err := r.Execute(t.Context(), op)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "output", []string{"said 2", "1, 2", "1.0"}, []string{said(out), effects(out), out.Metadata.Cost.Text()})
}

// A member that failed is named, and its failure is recorded: it is not asked again.
func TestFailuresInADurableRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		op   protocol.Operator
		want string
	}{
		"sequential": {pattern.Sequential(nobody(t), "f"), "sub-dispatch error in f: broken"},
		"parallel":   {pattern.Parallel(nobody(t), "f", "f"), "all of 2 failed: f: broken; f: broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.members["f"] = failing(protocol.NewError(protocol.CodeToolError, "broken"))
			r := steptest.New(steptest.Config{Children: w.child})
			r.Input(protocol.Text("x"), run.Enqueue)
			_, err := r.Finish(t.Context(), func() protocol.Operator { return c.op }, nil)
			if e := protocol.AsError(err); e == nil || e.Message != c.want || e.Code != protocol.CodeToolError {
				t.Errorf("got %v", err)
			}
			for id, n := range w.calls {
				if n != 1 {
					t.Errorf("%s was called %d times", id, n)
				}
			}
		})
	}
}

// A run that is released or told to stop while branches are under way leaves; another goes on.
func TestParallelIsReleased(t *testing.T) {
	t.Parallel()
	op := pattern.Parallel(nobody(t), "a", "b")
	w := newWorld()
	r := steptest.New(steptest.Config{Children: w.child})
	r.Input(protocol.Text("x"), run.Enqueue)
	r.Release()
	var u *step.Unwind
	if _, err := r.Execute(t.Context(), op); !errors.As(err, &u) || !u.Released {
		t.Fatalf("got %v", err)
	}
	if out, err := r.Execute(t.Context(), op); err != nil || said(out) != "xa\nxb" || len(w.calls) != 2 {
		t.Errorf("got %q, %v", said(out), err)
	}
}

// Who changes the members of a pattern while runs are open is told so, and nothing is called.
func TestChangedMembersInADurableRun(t *testing.T) {
	t.Parallel()
	for name, ops := range map[string][2]protocol.Operator{
		"sequential": {pattern.Sequential(nobody(t), "a", "b"), pattern.Sequential(nobody(t), "c", "b")},
		"parallel":   {pattern.Parallel(nobody(t), "a", "b"), pattern.Parallel(nobody(t), "b", "a")},
	} {
		r := steptest.New(steptest.Config{})
		r.Input(protocol.Text("x"), run.Enqueue)
		if _, err := r.Execute(t.Context(), ops[0]); !step.Unwinding(err) {
			t.Fatalf("%s: got %v", name, err)
		}
		for _, c := range []protocol.RunID{"r1.1", "r1.1.1", "r1.2.1"} {
			if r.Fold().Open.Children[c] != nil {
				r.EndChild(c, protocol.Reply("said"), nil)
			}
		}
		if _, err := r.Execute(t.Context(), ops[1]); !errors.Is(err, step.ErrChanged) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
