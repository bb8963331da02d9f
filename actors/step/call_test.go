package step_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/protocol"
)

// costly is an output that cost as much.
func costly(text, usd string) protocol.OperatorOutput {
	out := protocol.Reply(text)
	out.Metadata.Cost = protocol.MustDecimal(usd)
	return out
}

func calls(in protocol.OperatorInput, opts ...step.CallOption) protocol.Operator {
	return protocol.OperatorFunc(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		return step.Call(ctx, "review", "reviewer", in, opts...)
	})
}

func TestCall(t *testing.T) {
	t.Parallel()
	var got []run.Child
	var asked []protocol.OperatorInput
	r := begin(steptest.Config{
		Budget: new(protocol.MustDecimal("1")),
		Children: func(_ context.Context, child run.Child, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			got, asked = append(got, child), append(asked, in)
			return costly("fine", "0.2"), nil
		},
	})
	budget := protocol.MustDecimal("0.5")
	in := protocol.Text("look").WithSession("s1")
	r.KillAfter(1)
	if _, err := r.Execute(t.Context(), calls(in, step.Budget(budget))); !step.Unwinding(err) {
		t.Fatal(err)
	}
	if left := r.Fold().Left(); left.Text() != "0.5" {
		t.Errorf("allotted: %s left", left)
	}
	if s := text(t, r, calls(in, step.Budget(budget))); s != "fine" {
		t.Errorf("got %q", s)
	}
	want := []run.Child{{Operator: "reviewer", Instance: "s1", Run: "r1.1", Budget: &budget}}
	got[0].Seq = 0
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]protocol.OperatorInput{in}, asked); d != "" {
		t.Error(d)
	}
}

func TestCallWithinAStepWaitsForItsChild(t *testing.T) {
	t.Parallel()
	r := begin(steptest.Config{})
	op := code(func(ctx context.Context) (string, error) {
		return step.Do(ctx, "outer", func(ctx context.Context) (string, error) {
			out, err := step.Call(ctx, "review", "reviewer", protocol.Text("look"))
			s, _ := out.Message.AsText()
			return s, err
		})
	})
	w := waits(t, r, op)
	want := run.Wait{Reason: run.WaitChild, Children: []protocol.RunID{"r1.1.1"}, Path: "1.1"}
	if d := cmp.Diff(want, w); d != "" {
		t.Error(d)
	}
	r.EndChild("r1.1.1", protocol.Reply("fine"), nil)
	if s := text(t, r, op); s != "fine" || r.Records() != 2 {
		t.Errorf("got %q after %d records", s, r.Records())
	}
}

func TestCallFails(t *testing.T) {
	t.Parallel()
	refused := protocol.NewError(protocol.CodePermissionDenied, "not for you")
	_, errs := twice(t, steptest.Config{
		Children: func(context.Context, run.Child, protocol.OperatorInput) (protocol.OperatorOutput, error) {
			return protocol.OperatorOutput{}, refused
		},
	}, 1, func(ctx context.Context) (int, error) {
		_, err := step.Call(ctx, "review", "reviewer", protocol.Text("look"))
		return 0, err
	})
	for _, err := range errs {
		wantCode(t, err, protocol.CodePermissionDenied)
		if err.Error() != "not for you" {
			t.Errorf("got %v", err)
		}
	}
	_, err := begin(steptest.Config{}).Execute(t.Context(), calls(protocol.OperatorInput{}))
	wantCode(t, err, protocol.CodeInvalidInput)
}

func TestDetachedCallDoesNotWait(t *testing.T) {
	t.Parallel()
	r := begin(steptest.Config{})
	r.KillAfter(1)
	op := calls(protocol.Text("look"), step.Detached())
	if _, err := r.Execute(t.Context(), op); !step.Unwinding(err) {
		t.Fatal(err)
	}
	r.EndChild("r1.1", protocol.Reply("fine"), nil)
	if s := text(t, r, op); s != "" || r.Records() != 1 {
		t.Errorf("got %q after %d records: what a detached child gave depends on when it is looked at", s, r.Records())
	}
}
