package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/compose/workflow"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type numbers = workflow.Workflow[int, int]

func adding(n int) numbers {
	return workflow.Func(fmt.Sprintf("add%d", n), func(_ context.Context, v int) (int, error) { return v + n, nil })
}

func failing(name string, err error) numbers {
	return workflow.Func(name, func(context.Context, int) (int, error) { return 0, err })
}

var errBoom = errors.New("boom")

var digits = workflow.Func("digits", func(_ context.Context, v int) (string, error) { return strconv.Itoa(v), nil })

func TestThenChangesTypes(t *testing.T) {
	t.Parallel()
	length := workflow.Func("length", func(_ context.Context, s string) (float64, error) { return float64(len(s)), nil })
	w := workflow.Then("size", workflow.Then("text", adding(95), digits), length)
	got, err := w.Run(t.Context(), 5)
	if err != nil || got != 3 || w.Name() != "size" {
		t.Errorf("got %v, %v of %s", got, err, w.Name())
	}
}

func TestSequenceRunsInOrderAndStopsAtTheFirstError(t *testing.T) {
	t.Parallel()
	double := workflow.Func("double", func(_ context.Context, v int) (int, error) { return 2 * v, nil })
	if got, err := workflow.Sequence("s", adding(1), double, adding(3)).Run(t.Context(), 1); err != nil || got != 7 {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := workflow.Sequence[int]("empty").Run(t.Context(), 1); err != nil || got != 1 {
		t.Errorf("got %v, %v", got, err)
	}
	never := workflow.Func("never", func(context.Context, int) (int, error) {
		t.Error("it was run")
		return 0, nil
	})
	got, err := workflow.Sequence("s", adding(1), failing("bad", errBoom), never).Run(t.Context(), 1)
	if got != 0 || !errors.Is(err, errBoom) || err.Error() != "workflow bad: boom" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestBranchChooses(t *testing.T) {
	t.Parallel()
	choose := func(_ context.Context, v int) (string, error) {
		switch {
		case v < 0:
			return "", errBoom
		case v > 100:
			panic("secret")
		}
		return strconv.Itoa(v), nil
	}
	cases := map[string]numbers{"1": adding(10), "2": adding(20), "3": nil}
	w := workflow.Branch("b", choose, cases, adding(30))
	delete(cases, "1") // it has its own
	for in, want := range map[int]int{1: 11, 2: 22, 3: 33, 4: 34} {
		if got, err := w.Run(t.Context(), in); err != nil || got != want {
			t.Errorf("%d: got %v, %v", in, got, err)
		}
	}
	if _, err := w.Run(t.Context(), -1); !errors.Is(err, errBoom) || err.Error() != "workflow b: boom" {
		t.Errorf("got %v", err)
	}
	if _, err := w.Run(t.Context(), 101); protocol.CodeOf(err) != protocol.CodeInternal || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	if _, err := workflow.Branch("b", choose, cases, nil).Run(t.Context(), 7); compose.KindOf(err) != compose.KindInvalidArgument {
		t.Errorf("got %v", err)
	}
}

func TestErrorsNameTheWorkflowAndKeepWhatTheyWere(t *testing.T) {
	t.Parallel()
	later := compose.ErrBudgetFailed("later").After(time.Second).With("who", "me")
	outer := workflow.Sequence("outer", workflow.Sequence("inner", failing("bad", later)))
	_, err := workflow.Sequence("all", outer).Run(t.Context(), 1)
	e := protocol.AsError(err)
	if e.Message != "workflow outer: workflow inner: workflow bad: budget failed: later" || !errors.Is(err, later) || e.Kind != later.Kind ||
		e.Code != later.Code || e.RetryAfter != time.Second || e.Details["who"] != "me" || e.Details["workflow"] != "bad" {
		t.Errorf("got %v, %+v", err, e)
	}
	unwind := &step.Unwind{Released: true}
	if _, err := workflow.Sequence("s", failing("bad", unwind)).Run(t.Context(), 1); !step.Unwinding(err) || err.Error() != unwind.Error() {
		t.Errorf("got %v", err)
	}
	if _, err := workflow.Sequence("s", failing("slow", context.DeadlineExceeded)).Run(t.Context(), 1); protocol.CodeOf(err) != protocol.CodeTimeout {
		t.Errorf("got %v", err)
	}
	_, err = workflow.Sequence("s", failing(strings.Repeat("ü", 100), errors.New(strings.Repeat("x", 5000)))).Run(t.Context(), 1)
	if len(err.Error()) > 2100 {
		t.Errorf("the text has %d bytes", len(err.Error()))
	}
	if _, err := workflow.Sequence[int]("s", nil).Run(t.Context(), 1); compose.KindOf(err) != compose.KindInvalidArgument {
		t.Errorf("got %v", err)
	}
}

func TestPanicsAreErrors(t *testing.T) {
	t.Parallel()
	crash := workflow.Func("crash", func(context.Context, int) (int, error) { panic("secret") })
	for name, run := range map[string]func() error{
		"then":     func() error { _, err := workflow.Then("t", crash, digits).Run(t.Context(), 1); return err },
		"sequence": func() error { _, err := workflow.Sequence("s", crash).Run(t.Context(), 1); return err },
		"parallel": func() error { _, err := workflow.Parallel("p", 0, crash, adding(1)).Run(t.Context(), 1); return err },
		"branch":   func() error { _, err := workflow.Branch("b", pick, nil, crash).Run(t.Context(), 1); return err },
	} {
		err := run()
		var panicked *tool.PanicError
		if !errors.As(err, &panicked) || protocol.CodeOf(err) != protocol.CodeInternal || strings.Contains(err.Error(), "secret") ||
			!strings.Contains(err.Error(), "crash") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func pick(context.Context, int) (string, error) { return "", nil }

func TestNothingBeginsWhenTheContextHasEnded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	ending := workflow.Func("ending", func(_ context.Context, v int) (int, error) {
		cancel()
		return v, nil
	})
	never := workflow.Func("never", func(context.Context, int) (int, error) {
		t.Error("it was run")
		return 0, nil
	})
	for name, run := range map[string]func() error{
		"sequence": func() error { _, err := workflow.Sequence("s", ending, never).Run(ctx, 1); return err },
		"then":     func() error { _, err := workflow.Then("t", ending, never).Run(ctx, 1); return err },
		"branch":   func() error { _, err := workflow.Branch("b", pick, nil, never).Run(ctx, 1); return err },
		"parallel": func() error { _, err := workflow.Parallel("p", 1, never).Run(ctx, 1); return err },
	} {
		cancel()
		if err := run(); !errors.Is(err, context.Canceled) || protocol.CodeOf(err) != protocol.CodeCancelled {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestParallelKeepsTheOrderAndItsLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		var all []numbers
		for i := range 10 {
			all = append(all, workflow.Func(strconv.Itoa(i), func(_ context.Context, v int) (int, error) {
				if n := now.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(time.Duration(10-i) * time.Second)
				now.Add(-1)
				return v + i, nil
			}))
		}
		for limit, want := range map[int]int64{3: 3, 0: 10, 100: 10} {
			most.Store(0)
			got, err := workflow.Parallel("p", limit, all...).Run(t.Context(), 100)
			if err != nil || fmt.Sprint(got) != "[100 101 102 103 104 105 106 107 108 109]" || most.Load() != want {
				t.Errorf("limit %d: got %v, %v, %d at once", limit, got, err, most.Load())
			}
		}
	})
	if got, err := workflow.Parallel[int, int]("p", 0).Run(t.Context(), 1); err != nil || got == nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestTheFirstErrorCancelsTheOthersAndAllAreWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int64
		waiting := workflow.Func("waiting", func(ctx context.Context, _ int) (int, error) {
			<-ctx.Done()
			time.Sleep(time.Second) // it takes its time
			ended.Add(1)
			return 0, fmt.Errorf("late: %w", ctx.Err())
		})
		bad := workflow.Func("bad", func(context.Context, int) (int, error) {
			time.Sleep(time.Second)
			return 0, errBoom
		})
		start := time.Now()
		got, err := workflow.Parallel("p", 0, waiting, bad, waiting).Run(t.Context(), 1)
		if got != nil || !errors.Is(err, errBoom) || err.Error() != "workflow bad: boom" || ended.Load() != 2 || time.Since(start) != 2*time.Second {
			t.Errorf("got %v, %v, %d ended after %v", got, err, ended.Load(), time.Since(start))
		}
	})
}

func TestBranchesBehindAFailureDoNotBegin(t *testing.T) {
	t.Parallel()
	never := workflow.Func("never", func(context.Context, int) (int, error) {
		t.Error("it was run")
		return 0, nil
	})
	if _, err := workflow.Parallel("p", 1, adding(1), failing("bad", errBoom), never).Run(t.Context(), 1); !errors.Is(err, errBoom) {
		t.Errorf("got %v", err)
	}
}

func TestParallelEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		waiting := workflow.Func("waiting", func(ctx context.Context, _ int) (int, error) {
			<-ctx.Done()
			return 0, errors.New("interrupted")
		})
		if _, err := workflow.Parallel("p", 0, waiting, waiting).Run(ctx, 1); protocol.CodeOf(err) != protocol.CodeTimeout {
			t.Errorf("got %v", err)
		}
	})
}

// exits ends the goroutine of its branch.
func TestABranchThatDoesNotReturnIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := workflow.Parallel("p", 0, exiting, adding(1)).Run(t.Context(), 1); protocol.CodeOf(err) != protocol.CodeInternal {
		t.Errorf("got %v", err)
	}
}
