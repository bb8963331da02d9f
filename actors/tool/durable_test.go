package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestCallLetsUnwindingsThrough(t *testing.T) {
	t.Parallel()
	unwind := fmt.Errorf("asleep: %w", &step.Unwind{Wait: &run.Wait{Reason: run.WaitTimer}})
	changed := fmt.Errorf("asleep: %w", step.ErrChanged)
	for name, opts := range map[string][]tool.Option{"plain": nil, "timed out": {tool.Timeout(1)}} {
		for _, want := range []error{unwind, changed} {
			x := tool.Func("x", "", func(ctx context.Context, _ struct{}) (string, error) {
				if len(opts) > 0 {
					<-ctx.Done()
				}
				return "", want
			}, opts...)
			if _, err := tool.Call(t.Context(), x, nil); !errors.Is(err, want) || err.Error() != want.Error() {
				t.Errorf("%s: got %v, want %v", name, err, want)
			}
		}
	}
}

func TestFromOperatorInADurableRun(t *testing.T) {
	t.Parallel()
	x := tool.FromOperator("ask", "Asks.", nil, "coder")
	if !tool.CanRepeat(x) {
		t.Error("its call is a step: the tool can be called again")
	}
	op := protocol.OperatorFunc(func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		ctx = protocol.WithCall(ctx, protocol.Call{Budget: new(protocol.MustDecimal("0.5"))})
		res, err := tool.Call(ctx, x, json.RawMessage(`{"message":"go"}`))
		if err != nil {
			return protocol.OperatorOutput{}, err
		}
		return protocol.Reply(res.Text() + " for " + res.Cost.Text()), nil
	})
	r := steptest.New(steptest.Config{})
	r.Input(protocol.Text("go"), run.Enqueue)
	if _, err := r.Execute(t.Context(), op); !step.Unwinding(err) {
		t.Fatal(err)
	}
	child, _ := r.Entry("1")
	want := &run.Child{Operator: "coder", Instance: "r1.1", Run: "r1.1", Budget: new(protocol.MustDecimal("0.5")), Seq: child.Child.Seq}
	if d := cmp.Diff(want, child.Child); d != "" {
		t.Error(d)
	}
	answer := protocol.Reply("done")
	answer.Metadata.Cost = protocol.MustDecimal("0.1")
	r.EndChild("r1.1", answer, nil)
	out, err := r.Execute(t.Context(), op)
	if text, _ := out.Message.AsText(); text != "done for 0.1" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
}

// served is a durable run of a tool as an operator.
func served() *steptest.Run {
	r := steptest.New(steptest.Config{})
	r.Input(protocol.Text(`{"a":1}`).WithSession("s1"), run.Enqueue)
	return r
}

func TestAsOperatorInADurableRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts []tool.Option
		kill func(*steptest.Run)
		made int
		code protocol.Code
	}{
		"recorded":        {nil, func(r *steptest.Run) { r.KillAfter(2) }, 1, ""},
		"not recorded":    {nil, func(r *steptest.Run) { r.KillBefore(2) }, 1, protocol.CodeToolError},
		"may be repeated": {[]tool.Option{tool.Repeatable()}, func(r *steptest.Run) { r.KillBefore(1) }, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := 0
			x, err := tool.Raw(protocol.ToolMetadata{Name: "x"}, func(ctx context.Context, _ json.RawMessage) (tool.Result, error) {
				made++
				if got := tool.RunFrom(ctx); got.IdempotencyKey != "r1/1" || *got.Session != "s1" {
					t.Errorf("got %+v", got)
				}
				return tool.Result{
					Output: json.RawMessage(`"text"`), Effects: protocol.Effects{protocol.Log{Message: "x", Level: protocol.LogInfo}},
					Cost: new(protocol.MustDecimal("0.1")),
				}, nil
			}, c.opts...)
			if err != nil {
				t.Fatal(err)
			}
			r := served()
			c.kill(r)
			out, err := r.Finish(t.Context(), func() protocol.Operator { return tool.AsOperator(x) }, nil)
			if protocol.CodeOf(err) != c.code || made != c.made {
				t.Fatalf("made %d times, %v", made, err)
			}
			if c.code != "" {
				if !errors.Is(err, step.ErrOutcomeUnknown) || !strings.HasPrefix(err.Error(), "sub-dispatch error in x: ") {
					t.Errorf("got %v", err)
				}
				return
			}
			if text, _ := out.Message.AsText(); text != `"text"` || len(out.Effects) != 1 || out.Metadata.Cost.Text() != "0.1" {
				t.Errorf("got %+v", out)
			}
		})
	}
}

func TestAsOperatorWaitsForApproval(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decide func(*steptest.Run)
		want   string
		code   protocol.Code
	}{
		"approved": {func(r *steptest.Run) { r.Signal("approve", nil) }, `{"a":1}`, ""},
		"modified": {func(r *steptest.Run) {
			r.Signal("approve", protocol.Modify{CallID: "r1", NewInput: json.RawMessage(`{"a":2}`)})
		}, `{"a":2}`, ""},
		"denied": {func(r *steptest.Run) { r.Signal("deny", "no") }, "The call was denied: no", protocol.CodePermissionDenied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, err := tool.Raw(protocol.ToolMetadata{Name: "x"}, func(_ context.Context, in json.RawMessage) (tool.Result, error) {
				return tool.Result{Output: in}, nil
			}, tool.RequiresApproval())
			if err != nil {
				t.Fatal(err)
			}
			r := served()
			if _, err := r.Execute(t.Context(), tool.AsOperator(x)); !step.Unwinding(err) || r.Wait().Approval.Pending[0].CallID != "r1" {
				t.Fatalf("got %v", err)
			}
			c.decide(r)
			out, err := r.Execute(t.Context(), tool.AsOperator(x))
			got, _ := out.Message.AsText()
			if err != nil {
				got = err.Error()
			}
			if got != c.want || protocol.CodeOf(err) != c.code {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

func TestAsOperatorOfAToolThatWaits(t *testing.T) {
	t.Parallel()
	x := tool.Func("x", "", func(ctx context.Context, _ struct {
		A int `json:"a"`
	},
	) (string, error) {
		return "slept", step.Sleep(ctx, time.Hour)
	})
	r := served()
	out, err := r.Finish(t.Context(), func() protocol.Operator { return tool.AsOperator(x) }, nil)
	if text, _ := out.Message.AsText(); text != `"slept"` || err != nil {
		t.Errorf("got %s, %v", text, err)
	}
}
