package step_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/protocol"
)

// onboarding is a run of an operator with a step of every kind, and what it did outside.
type onboarding struct {
	run     *steptest.Run
	did     map[string]int
	onceOff bool // the step that must not be repeated has an unknown outcome
}

func (o *onboarding) do(what string) { o.did[what]++ }

func newOnboarding() *onboarding {
	o := &onboarding{did: map[string]int{}}
	o.run = steptest.New(steptest.Config{
		Children: func(_ context.Context, child run.Child, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
			o.do("child " + string(child.Run))
			return costly("fine", "0.1"), nil
		},
	})
	o.run.Input(protocol.Text("ann"), run.Enqueue)
	return o
}

func (o *onboarding) operator() protocol.Operator {
	return code(func(ctx context.Context) (string, error) {
		name, err := step.Do(ctx, "create", func(ctx context.Context) (string, error) {
			o.do("create")
			if err := step.Sleep(ctx, time.Hour); err != nil {
				return "", err
			}
			out, err := step.Call(ctx, "check", "checker", protocol.Text("ann"))
			s, _ := out.Message.AsText()
			return "ann is " + s, err
		})
		if err != nil {
			return "", err
		}
		paid, err := step.Do(ctx, "pay", func(context.Context) (string, error) { o.do("pay"); return "paid", nil }, step.Once())
		if errors.Is(err, step.ErrOutcomeUnknown) {
			o.onceOff = true
			paid, err = "paid", nil
		}
		if err != nil {
			return "", err
		}
		if err := step.Sleep(ctx, 72*time.Hour); err != nil {
			return "", err
		}
		answer, err := step.Await[string](ctx, "answer", step.Deadline(time.Hour))
		if err != nil {
			return "", err
		}
		if _, err := step.Await[string](ctx, "never", step.Deadline(time.Hour)); !errors.Is(err, step.ErrExpired) {
			return "", err
		}
		_, err = step.Do(ctx, "fail", func(context.Context) (int, error) {
			o.do("fail")
			return 0, protocol.NewError(protocol.CodeConflict, "taken")
		})
		if step.Unwinding(err) {
			return "", err
		}
		return name + ", " + paid + ", " + answer + ", " + err.Error(), nil
	})
}

// finish brings it to its end.
func (o *onboarding) finish(t *testing.T) protocol.OperatorOutput {
	t.Helper()
	out, err := o.run.Finish(t.Context(), o.operator, func(w run.Wait) {
		if len(w.Signals) > 0 && w.Signals[0] == "answer" {
			o.run.Signal("answer", "welcome")
			return
		}
		o.run.Fire()
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAKillAnywhereChangesNothing(t *testing.T) {
	t.Parallel()
	first := newOnboarding()
	want := first.finish(t)
	if s, _ := want.Message.AsText(); s != "ann is fine, paid, welcome, taken" {
		t.Fatalf("got %q", s)
	}
	// create is begun again when its sleep is over; everything else happens once.
	if d := cmp.Diff(map[string]int{"create": 2, "child r1.1.2": 1, "pay": 1, "fail": 1}, first.did); d != "" {
		t.Fatal(d)
	}
	records := first.run.Records()
	for name, kill := range steptest.Kills(records) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOnboarding()
			kill(o.run)
			if d := cmp.Diff(want, o.finish(t), cmp.Comparer(func(a, b protocol.ExitReason) bool { return a == b })); d != "" {
				t.Error(d)
			}
			again := 0
			for what, n := range o.did {
				again += max(0, n-first.did[what])
			}
			if again > 1 || o.did["pay"] > 1 || o.did["child r1.1.2"] != 1 {
				t.Errorf("done again: %v", o.did)
			}
			if o.onceOff && o.did["fail"] != 1 {
				t.Errorf("got %v", o.did)
			}
		})
	}
}

func TestReplayOfACompleteJournalDoesNothing(t *testing.T) {
	t.Parallel()
	first := newOnboarding()
	first.finish(t)
	o := newOnboarding()
	o.run.KillAfter(first.run.Records())
	var replayed map[string]int
	_, err := o.run.Finish(t.Context(), func() protocol.Operator {
		if o.run.Records() == first.run.Records() { // killed: what follows is replay
			replayed = map[string]int{}
			o.did = replayed
		}
		return o.operator()
	}, func(w run.Wait) {
		if len(w.Signals) > 0 && w.Signals[0] == "answer" {
			o.run.Signal("answer", "welcome")
			return
		}
		o.run.Fire()
	})
	if err != nil || replayed == nil || len(replayed) != 0 {
		t.Errorf("did %v, %v", replayed, err)
	}
}
