package steptest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type code func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error)

func (c code) Execute(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	return c(ctx, in)
}

// three makes three steps and counts them.
func three(made *[3]int) code {
	return func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		for i := range made {
			if _, err := step.Do(ctx, "x", func(context.Context) (int, error) { made[i]++; return i, nil }); err != nil {
				return protocol.OperatorOutput{}, err
			}
		}
		return protocol.Reply("done"), nil
	}
}

func begin(cfg steptest.Config) *steptest.Run {
	r := steptest.New(cfg)
	r.Input(protocol.Text("go"), run.Enqueue)
	return r
}

func TestKills(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kill    func(*steptest.Run)
		records int // at the kill
		made    [3]int
	}{
		"before": {func(r *steptest.Run) { r.KillBefore(2) }, 1, [3]int{1, 2, 1}},
		"after":  {func(r *steptest.Run) { r.KillAfter(2) }, 2, [3]int{1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := begin(steptest.Config{})
			c.kill(r)
			var made [3]int
			var u *step.Unwind
			if _, err := r.Execute(t.Context(), three(&made)); !errors.As(err, &u) || !u.Lost || r.Records() != c.records {
				t.Fatalf("got %v after %d records", err, r.Records())
			}
			if _, err := r.Execute(t.Context(), three(&made)); err != nil || made != c.made || r.Records() != 3 {
				t.Errorf("made %v, %d records, %v", made, r.Records(), err)
			}
			var kinds []protocol.EventKind
			for _, e := range r.Events() {
				kinds = append(kinds, e.Kind)
			}
			done, claimed := protocol.EventStepCompleted, protocol.EventInvocationStarted
			want := []protocol.EventKind{claimed, done, done, claimed, done, protocol.EventCompleted}
			if c.records == 1 {
				want = []protocol.EventKind{claimed, done, claimed, done, done, protocol.EventCompleted}
			}
			if d := cmp.Diff(want, kinds); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestADeadProcessIsToldSoEachTime(t *testing.T) {
	t.Parallel()
	r := begin(steptest.Config{})
	r.KillBefore(1)
	_, _ = r.Execute(t.Context(), code(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		for range 3 {
			if _, err := step.Do(ctx, "x", func(context.Context) (int, error) { return 0, nil }); !step.Unwinding(err) {
				t.Errorf("got %v", err)
			}
		}
		if err := step.Sleep(ctx, time.Hour); !step.Unwinding(err) {
			t.Errorf("got %v", err)
		}
		return protocol.Reply("done"), nil // nobody hears it
	}))
	if r.Fold().Open == nil || r.Records() != 0 {
		t.Error("the dead process ended the run")
	}
}

func TestTurnsOfASession(t *testing.T) {
	t.Parallel()
	r := steptest.New(steptest.Config{Operator: "bot"})
	echo := code(func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		info, durable := step.InfoFrom(ctx)
		inv := protocol.InvocationFrom(ctx)
		if !durable || info.Operator != "bot" || info.Instance != "s1" || inv.Run != info.Run || inv.Instance != "s1" {
			t.Errorf("got %+v, %+v", info, inv)
		}
		said, _ := in.Message.AsText()
		for _, turn := range info.History {
			said += " " + string(turn.In)
		}
		return protocol.Reply(said), nil
	})
	for _, s := range []string{"a", "b", "c"} {
		r.Input(protocol.Text(s).WithSession("s1"), run.Enqueue)
	}
	for _, want := range []string{"a", `b "a"`, `c "a" "b"`} {
		out, err := r.Execute(t.Context(), echo)
		if got, _ := out.Message.AsText(); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if _, err := r.Execute(t.Context(), echo); err == nil {
		t.Error("executed without an input")
	}
}

func TestFailuresThatPassAreTriedAgain(t *testing.T) {
	t.Parallel()
	r := begin(steptest.Config{Attempts: 3})
	n := 0
	_, err := r.Finish(t.Context(), func() protocol.Operator {
		return code(func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
			n++
			return protocol.OperatorOutput{}, protocol.NewError(protocol.CodeUnavailable, "later")
		})
	}, nil)
	if protocol.CodeOf(err) != protocol.CodeUnavailable || n != 3 || r.Fold().Open != nil {
		t.Errorf("executed %d times, %v", n, err)
	}
}

func TestFinishGivesUp(t *testing.T) {
	t.Parallel()
	wait := func() protocol.Operator {
		return code(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
			_, err := step.Await[string](ctx, "x")
			return protocol.OperatorOutput{}, err
		})
	}
	if _, err := begin(steptest.Config{}).Finish(t.Context(), wait, nil); !step.Unwinding(err) {
		t.Errorf("got %v", err)
	}
	if _, err := begin(steptest.Config{}).Finish(t.Context(), wait, func(run.Wait) {}); err == nil || step.Unwinding(err) {
		t.Errorf("got %v", err)
	}
}

func TestStillWaiting(t *testing.T) {
	t.Parallel()
	r := begin(steptest.Config{})
	n := 0
	op := code(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		n++
		return protocol.Reply("x"), step.Sleep(ctx, time.Hour)
	})
	for range 2 {
		if _, err := r.Execute(t.Context(), op); !step.Unwinding(err) || n != 1 {
			t.Errorf("executed %d times, %v", n, err)
		}
	}
	if r.Wait() == nil || r.Fire() != "1" || r.Fire() != "" {
		t.Error("the timer did not fire, or twice")
	}
}
