package step_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// code is an operator that says what fn returns.
func code(fn func(ctx context.Context) (string, error)) protocol.Operator {
	return protocol.OperatorFunc(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		text, err := fn(ctx)
		return protocol.Reply(text), err
	})
}

// begin returns a run with an input.
func begin(cfg steptest.Config) *steptest.Run {
	r := steptest.New(cfg)
	r.Input(protocol.Text("go"), run.Enqueue)
	return r
}

// text executes the run and returns what it says.
func text(t testing.TB, r *steptest.Run, op protocol.Operator) string {
	t.Helper()
	out, err := r.Execute(t.Context(), op)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := out.Message.AsText()
	return s
}

// waits executes the run and returns what it waits for.
func waits(t testing.TB, r *steptest.Run, op protocol.Operator) run.Wait {
	t.Helper()
	_, err := r.Execute(t.Context(), op)
	if w := r.Wait(); step.Unwinding(err) && w != nil {
		return *w
	}
	t.Fatalf("got %v, waiting for %+v", err, r.Wait())
	return run.Wait{}
}

// twice returns what fn gives the first time and on replay, where the process died before the run's end was recorded.
func twice[T any](t testing.TB, cfg steptest.Config, records int, fn func(context.Context) (T, error)) (values [2]T, errs [2]error) {
	t.Helper()
	r := begin(cfg)
	n := 0
	op := code(func(ctx context.Context) (string, error) {
		values[n], errs[n] = fn(ctx)
		n++
		_, err := step.Do(ctx, "last", func(context.Context) (int, error) { return 0, nil })
		return "", err
	})
	r.KillAfter(records + 1)
	if _, err := r.Execute(t.Context(), op); !step.Unwinding(err) {
		t.Fatalf("got %v", err)
	}
	text(t, r, op)
	return values, errs
}

func wantCode(t testing.TB, err error, want protocol.Code) {
	t.Helper()
	if got := protocol.CodeOf(err); got != want {
		t.Errorf("got %q (%v), want code %s", got, err, want)
	}
}
