package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/compose/workflow"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/protocol"
)

var exiting = workflow.Func("exiting", func(context.Context, int) (int, error) {
	runtime.Goexit()
	return 0, nil
})

// world counts what steps did, by their keys.
type world struct {
	mu   sync.Mutex
	done map[string]int
}

func (w *world) act(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done[step.Key(ctx)]++
}

// branch takes several steps and returns its own number behind them.
func (w *world) branch(n, steps int) workflow.Workflow[int, int] {
	return workflow.Func(fmt.Sprintf("branch%d", n), func(ctx context.Context, v int) (int, error) {
		for range steps {
			var err error
			if v, err = step.Do(ctx, fmt.Sprintf("of branch %d", n), func(ctx context.Context) (int, error) {
				w.act(ctx)
				return v + n, nil
			}, step.Once()); err != nil {
				return 0, err
			}
		}
		return v, nil
	})
}

// running is an operator that runs w on 100, then makes a step, and says what came out.
func running[O any](w workflow.Workflow[int, O]) protocol.Operator {
	return protocol.OperatorFunc(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		v, err := w.Run(ctx, 100)
		if step.Unwinding(err) {
			return protocol.OperatorOutput{}, err
		}
		said, err := step.Do(ctx, "after", func(context.Context) (string, error) { return fmt.Sprint(v, err), nil })
		return protocol.Reply(said), err
	})
}

func beginRun(cfg steptest.Config) *steptest.Run {
	r := steptest.New(cfg)
	r.Input(protocol.Text("go"), run.Enqueue)
	return r
}

func said(out protocol.OperatorOutput) string {
	s, _ := out.Message.AsText()
	return s
}

// Branches that take steps side by side find their own again, wherever the run is killed, and make none twice.
func TestBranchesTakeTheirStepsInScopesOfTheirOwn(t *testing.T) {
	t.Parallel()
	finish := func(limit int, kill func(*steptest.Run)) (string, *world, *steptest.Run) {
		w := &world{done: map[string]int{}}
		op := running(workflow.Then("t", workflow.Parallel("p", limit, w.branch(1, 3), w.branch(2, 1), w.branch(3, 2)), sum))
		r := beginRun(steptest.Config{})
		kill(r)
		out, err := r.Finish(t.Context(), func() protocol.Operator { return op }, nil)
		if err != nil {
			t.Fatal(err)
		}
		return said(out), w, r
	}
	for _, limit := range []int{0, 1, 2} {
		want, w, r := finish(limit, func(*steptest.Run) {})
		if want != "[103 102 106] <nil>" {
			t.Fatalf("got %s", want)
		}
		for _, key := range []string{"r1/1.1", "r1/1.2", "r1/1.3", "r1/2.1", "r1/3.1", "r1/3.2"} {
			if w.done[key] != 1 || len(w.done) != 6 {
				t.Errorf("got %v", w.done)
			}
		}
		for at, kill := range steptest.Kills(r.Records()) {
			got, w, _ := finish(limit, kill)
			if got != want && !strings.Contains(got, "unknown") { // a step that may not be made twice
				t.Errorf("limit %d, %s: got %s", limit, at, got)
			}
			for key, n := range w.done {
				if n != 1 {
					t.Errorf("limit %d, %s: %s was made %d times", limit, at, key, n)
				}
			}
		}
	}
}

var sum = workflow.Func("sum", func(_ context.Context, all []int) ([]int, error) { return all, nil })

// What a branch came to is not run again.
func TestABranchThatIsRecordedIsNotRunAgain(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	ran := 0
	counted := workflow.Func("counted", func(_ context.Context, v int) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		ran++
		return v, nil
	})
	waiting := workflow.Func("waiting", func(ctx context.Context, v int) (int, error) {
		return step.Await[int](ctx, "number")
	})
	op := running(workflow.Parallel("p", 0, counted, waiting))
	r := beginRun(steptest.Config{})
	if _, err := r.Execute(t.Context(), op); !step.Unwinding(err) || r.Wait() == nil {
		t.Fatalf("got %v", err)
	}
	r.Signal("number", 7)
	out, err := r.Execute(t.Context(), op)
	if err != nil || said(out) != "[100 7] <nil>" || ran != 1 {
		t.Errorf("got %s, %v, ran %d times", said(out), err, ran)
	}
}

// Several may wait at once, and the run goes on with each of them.
func TestBranchesWaitSideBySide(t *testing.T) {
	t.Parallel()
	sleeping := func(d time.Duration) workflow.Workflow[int, int] {
		return workflow.Func("sleeping", func(ctx context.Context, v int) (int, error) {
			return v, step.Sleep(ctx, d)
		})
	}
	op := running(workflow.Parallel("p", 0, sleeping(3*time.Hour), sleeping(2*time.Hour)))
	out, err := beginRun(steptest.Config{}).Finish(t.Context(), func() protocol.Operator { return op }, nil)
	if err != nil || said(out) != "[100 100] <nil>" {
		t.Errorf("got %s, %v", said(out), err)
	}
}

// The failure that comes out is the same whenever the run goes on, also where others would fail first by then.
func TestARecordedFailureComesOutAgain(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	executions := 0
	first := workflow.Func("first", func(ctx context.Context, _ int) (int, error) {
		mu.Lock()
		n := executions
		mu.Unlock()
		if n == 1 {
			<-ctx.Done() // the other one fails, and this one is cancelled
			return 0, ctx.Err()
		}
		return 0, errors.New("failed first")
	})
	second := failing("second", protocol.NewError(protocol.CodeConflict, "failed second"))
	p := running(workflow.Parallel("p", 0, first, second))
	op := protocol.OperatorFunc(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		mu.Lock()
		executions++
		mu.Unlock()
		return p.Execute(ctx, in)
	})
	r := beginRun(steptest.Config{})
	r.KillBefore(2) // the failure is recorded, what comes behind is not
	if _, err := r.Execute(t.Context(), op); !step.Unwinding(err) {
		t.Fatalf("got %v", err)
	}
	out, err := r.Execute(t.Context(), op)
	if err != nil || said(out) != "[] workflow second: failed second" || executions != 2 {
		t.Errorf("got %s, %v", said(out), err)
	}
}

// A failure beside one that waits comes out when the wait is over, and nobody is run again.
func TestAFailureBesideOneThatWaits(t *testing.T) {
	t.Parallel()
	waiting := workflow.Func("waiting", func(ctx context.Context, _ int) (int, error) { return step.Await[int](ctx, "number") })
	op := running(workflow.Parallel("p", 1, waiting, failing("bad", errBoom)))
	r := beginRun(steptest.Config{})
	if _, err := r.Execute(t.Context(), op); !step.Unwinding(err) {
		t.Fatalf("got %v", err)
	}
	if _, begun := r.Entry("2"); begun {
		t.Error("the second began, although the first holds the only place")
	}
	r.Signal("number", 7)
	out, err := r.Execute(t.Context(), op)
	if err != nil || said(out) != "[] workflow bad: boom" {
		t.Errorf("got %s, %v", said(out), err)
	}
}

func TestWhatABranchCameToIsRevived(t *testing.T) {
	t.Parallel()
	waiting := workflow.Func("waiting", func(ctx context.Context, _ int) (int, error) {
		return step.Await[int](ctx, "number", step.Deadline(time.Hour))
	})
	var got []error
	op := protocol.OperatorFunc(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		_, err := workflow.Parallel("p", 0, waiting).Run(ctx, 1)
		if got = append(got, err); step.Unwinding(err) {
			return protocol.OperatorOutput{}, err
		}
		return protocol.Reply(""), step.Sleep(ctx, time.Hour) // once more
	})
	if _, err := beginRun(steptest.Config{}).Finish(t.Context(), func() protocol.Operator { return op }, nil); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || !errors.Is(got[1], step.ErrExpired) || !errors.Is(got[2], step.ErrExpired) || got[1].Error() != got[2].Error() {
		t.Errorf("got %v", got)
	}
}

func TestARetryableFailureIsNotRecorded(t *testing.T) {
	t.Parallel()
	fails := true
	flaky := workflow.Func("flaky", func(_ context.Context, v int) (int, error) {
		if fails {
			return 0, protocol.NewError(protocol.CodeUnavailable, "later")
		}
		return v, nil
	})
	p := workflow.Parallel("p", 0, flaky)
	op := protocol.OperatorFunc(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		v, err := p.Run(ctx, 1)
		return protocol.Reply(fmt.Sprint(v)), err
	})
	r := beginRun(steptest.Config{})
	if _, err := r.Execute(t.Context(), op); !protocol.IsRetryable(err) || r.Records() != 0 {
		t.Fatalf("got %v, %d records", err, r.Records())
	}
	fails = false
	r.Fire() // the time to try again has come
	if out, err := r.Execute(t.Context(), op); err != nil || said(out) != "[1]" {
		t.Errorf("got %s, %v", said(out), err)
	}
}

func TestWhatCannotBeKeptIsAnError(t *testing.T) {
	t.Parallel()
	odd := workflow.Func("odd", func(context.Context, int) (func(), error) { return func() {}, nil })
	out, err := beginRun(steptest.Config{}).Execute(t.Context(), running(workflow.Parallel("p", 0, odd)))
	if err != nil || !strings.Contains(said(out), "cannot be kept as JSON") {
		t.Errorf("got %s, %v", said(out), err)
	}
}

func TestAReleasedRunLeavesItsBranches(t *testing.T) {
	t.Parallel()
	w := &world{done: map[string]int{}}
	op := running(workflow.Parallel("p", 0, w.branch(1, 2), w.branch(2, 2)))
	r := beginRun(steptest.Config{})
	r.Release()
	var u *step.Unwind
	if _, err := r.Execute(t.Context(), op); !errors.As(err, &u) || !u.Released {
		t.Fatalf("got %v", err)
	}
	if out, err := r.Execute(t.Context(), op); err != nil || said(out) != "[102 104] <nil>" {
		t.Errorf("got %s, %v", said(out), err)
	}
}

func TestChangedBranchesAreNoticed(t *testing.T) {
	t.Parallel()
	w := &world{done: map[string]int{}}
	waiting := workflow.Func("waiting", func(ctx context.Context, _ int) (int, error) { return step.Await[int](ctx, "number") })
	r := beginRun(steptest.Config{})
	if _, err := r.Execute(t.Context(), running(workflow.Parallel("p", 0, w.branch(1, 1), waiting))); !step.Unwinding(err) {
		t.Fatalf("got %v", err)
	}
	r.Signal("number", 1)
	if _, err := r.Execute(t.Context(), running(workflow.Parallel("p", 0, w.branch(2, 1), waiting))); !errors.Is(err, step.ErrChanged) {
		t.Errorf("got %v", err)
	}
}
