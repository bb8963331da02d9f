package step_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestCostsAreRecordedOnce(t *testing.T) {
	t.Parallel()
	r := begin(steptest.Config{
		Budget: new(protocol.MustDecimal("1")),
		Children: func(context.Context, run.Child, protocol.OperatorInput) (protocol.OperatorOutput, error) {
			return costly("x", "0.2"), nil
		},
	})
	op := code(func(ctx context.Context) (string, error) {
		_, err := step.Next(ctx).Run(ctx, step.Spec{Kind: run.StepTool, Name: "t"}, func(ctx context.Context) (run.Entry, error) {
			if _, err := step.Call(ctx, "c", "child", protocol.Text("go")); err != nil {
				return run.Entry{}, err
			}
			return run.Entry{Cost: new(protocol.MustDecimal("0.3"))}, nil // 0.1 of its own
		})
		if err != nil {
			return "", err
		}
		_, err = step.Await[string](ctx, "x")
		return "", err
	})
	r.KillBefore(2) // when the child's end is in the log, and the tool's is not
	_, _ = r.Execute(t.Context(), op)
	waits(t, r, op)
	e, _ := r.Entry("1")
	if e.Cost.Text() != "0.1" || r.Fold().Open.Cost.Text() != "0.3" {
		t.Errorf("the step: %s, the run: %s", e.Cost, r.Fold().Open.Cost)
	}
}

func TestSpecOfAStepThatMustNotBeRepeated(t *testing.T) {
	t.Parallel()
	r := begin(steptest.Config{})
	own := errors.New("left")
	op := code(func(ctx context.Context) (string, error) {
		at := step.Next(ctx)
		known, err := at.Known(ctx)
		if err != nil {
			return "", err
		}
		if _, begun := r.Entry("1"); known != begun {
			t.Errorf("known %v, begun %v", known, begun)
		}
		e, err := at.Run(ctx, step.Spec{
			Kind: run.StepTool, Name: "t", Info: json.RawMessage(`{"call_id":"c1"}`),
			Unknown: func() run.Entry { return run.Entry{Result: json.RawMessage(`"unknown"`)} },
		}, func(context.Context) (run.Entry, error) { return run.Entry{}, own })
		return string(e.Result), err
	})
	if _, err := r.Execute(t.Context(), op); protocol.CodeOf(err) != protocol.CodeInternal || r.Records() != 1 {
		t.Errorf("got %v after %d records", err, r.Records())
	}
	r = begin(steptest.Config{})
	r.KillAfter(1)
	_, _ = r.Execute(t.Context(), op)
	if got := text(t, r, op); got != `"unknown"` {
		t.Errorf("got %s", got)
	}
	var kinds []string
	for _, e := range r.Events() {
		var d struct {
			Call string `json:"call_id"`
		}
		if err := json.Unmarshal(e.Data, &d); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, string(e.Kind)+" "+d.Call)
	}
	want := []string{"invocation_started ", "tool_call_assembled c1", "invocation_started ", "tool_result_received ", "completed "}
	if d := cmp.Diff(want, kinds); d != "" {
		t.Error(d)
	}
}

func TestSteer(t *testing.T) {
	t.Parallel()
	type send func(r *steptest.Run)
	signal := func(body string) send {
		return func(r *steptest.Run) {
			if body == "" {
				r.Signal("steer", nil)
			} else {
				r.Signal("steer", json.RawMessage(body))
			}
		}
	}
	input := func(text string, mode run.Mode) send {
		return func(r *steptest.Run) { r.Input(protocol.Text(text), mode) }
	}
	for name, c := range map[string]struct {
		sent []send
		want []string
	}{
		"nothing":   {nil, nil},
		"text":      {[]send{signal(`"faster"`)}, []string{"faster"}},
		"message":   {[]send{signal(`{"message":"faster"}`)}, []string{"faster"}},
		"blocks":    {[]send{signal(`{"message":[{"type":"text","text":"faster"}]}`)}, []string{"faster"}},
		"an input":  {[]send{signal(`{"message":"faster","trigger":"user","session":null,"config":null,"metadata":null}`)}, []string{"faster"}},
		"else":      {[]send{signal(`{"speed":2}`)}, []string{`{"speed":2}`}},
		"empty":     {[]send{signal(``), signal(`null`), signal(`""`)}, nil},
		"in order":  {[]send{signal(`"a"`), input("b", run.Steer), signal(`"c"`), input("later", run.Enqueue), input("d", run.Steer)}, []string{"a", "b", "c", "d"}},
		"of others": {[]send{func(r *steptest.Run) { r.Signal("word", "a") }, input("later", run.Enqueue)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := begin(steptest.Config{})
			for _, send := range c.sent {
				send(r)
			}
			executions := 0
			op := code(func(ctx context.Context) (string, error) {
				executions++
				at := step.Next(ctx)
				said, err := at.Steer(ctx)
				if err != nil {
					return "", err
				}
				var got []string
				for _, m := range said {
					if m.Role != protocol.RoleUser {
						t.Errorf("said by %s", m.Role)
					}
					got = append(got, m.Text())
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Errorf("execution %d: %s", executions, d)
				}
				if executions == 1 {
					r.Release() // at the boundary before the step itself
				} else {
					r.KillAfter(r.Records() + 1)
				}
				_, err = at.Run(ctx, step.Spec{Kind: run.StepModel, Name: "model"}, func(context.Context) (run.Entry, error) {
					r.Signal("steer", "for the next")
					return run.Entry{}, nil
				})
				return "", err
			})
			for range 2 {
				if _, err := r.Execute(t.Context(), op); !step.Unwinding(err) {
					t.Fatal(err)
				}
			}
			if box := r.Fold().Open.Mailbox; box[len(box)-1].Type != "steer" {
				t.Errorf("got %+v", box)
			}
			text(t, r, op)
		})
	}
}
