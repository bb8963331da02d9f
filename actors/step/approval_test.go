package step_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/protocol"
)

func pending(ids ...string) (req protocol.ApprovalRequest) {
	for _, id := range ids {
		req.Pending = append(req.Pending, protocol.PendingToolCall{CallID: id, ToolName: "rm", ToolInput: json.RawMessage(`{}`)})
	}
	return req
}

// ask asks about c1 and c2 and says what was decided.
func ask(opts ...step.WaitOption) protocol.Operator {
	return code(func(ctx context.Context) (string, error) {
		d, err := step.Approval(ctx, pending("c1", "c2"), opts...)
		if err != nil {
			return "", err
		}
		raw, err := protocol.Marshal(d)
		return string(raw), err
	})
}

const (
	allowed = `{"c1":{"approved":true},"c2":{"approved":true}}`
	refused = `{"c1":{"approved":false},"c2":{"approved":false}}`
	risky   = `{"c1":{"approved":false,"reason":"risky"},"c2":{"approved":false,"reason":"risky"}}`
)

func TestApprovalAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind string
		body string
		want string // empty for no decision
	}{
		"approve":               {"approve", ``, allowed},
		"approve null":          {"approve", `null`, allowed},
		"approve all":           {"approve", `"ApproveAll"`, allowed},
		"approve one":           {"approve", `{"Approve":{"call_ids":["c1"]}}`, `{"c1":{"approved":true},"c2":{"approved":false,"reason":"not approved"}}`},
		"approve modified":      {"approve", `{"Modify":{"call_id":"c1","new_input":7}}`, `{"c1":{"approved":true,"input":7},"c2":{"approved":true}}`},
		"approve that rejects":  {"approve", `{"RejectAll":{"reason":"risky"}}`, risky},
		"approve with a text":   {"approve", `"fine"`, ""},
		"approve what is not":   {"approve", `{"Approve":{"call_ids":["c3"]}}`, ""},
		"modify what is not":    {"approve", `{"Modify":{"call_id":"c3","new_input":7}}`, ""},
		"deny":                  {"deny", ``, refused},
		"deny empty text":       {"deny", `""`, refused},
		"deny text":             {"deny", `"risky"`, risky},
		"deny reason":           {"deny", `{"reason":"risky"}`, risky},
		"deny all":              {"deny", `{"RejectAll":{"reason":"risky"}}`, risky},
		"deny one":              {"deny", `{"Reject":{"call_ids":["c2"],"reason":"risky"}}`, `{"c1":{"approved":true},"c2":{"approved":false,"reason":"risky"}}`},
		"deny what is not":      {"deny", `{"Reject":{"call_ids":["c3"],"reason":"risky"}}`, ""},
		"deny that approves":    {"deny", `"ApproveAll"`, ""},
		"deny that approves c1": {"deny", `{"Approve":{"call_ids":["c1"]}}`, ""},
		"deny something else":   {"deny", `{"why":"risky"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := begin(steptest.Config{})
			waits(t, r, ask())
			var body any
			if c.body != "" {
				body = json.RawMessage(c.body)
			}
			r.Signal(c.kind, body)
			if c.want != "" {
				if got := text(t, r, ask()); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
				return
			}
			if w := waits(t, r, ask()); w.Reason != run.WaitApproval {
				t.Fatalf("got %+v", w)
			}
			e, ok := r.Entry("1.1")
			if !ok || protocol.CodeOf(e.Error) != protocol.CodeInvalidInput || len(r.Fold().Open.Mailbox) != 0 {
				t.Errorf("got %+v, %v", e, r.Fold().Open.Mailbox)
			}
			r.Signal("approve", nil)
			if got := text(t, r, ask()); got != allowed {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestApprovalAsks(t *testing.T) {
	t.Parallel()
	r := begin(steptest.Config{})
	r.Signal("approve", nil) // nobody has asked
	w := waits(t, r, ask())
	want := pending("c1", "c2")
	want.RunID, want.WaitPoint = "r1", "1"
	if d := cmp.Diff(&want, w.Approval, cmp.AllowUnexported(protocol.ApprovalReason{})); d != "" || w.Path != "1" {
		t.Error(d)
	}
	if last := r.Fold().Last; len(last.Requests) != 1 || len(last.Requests[0].Effects) != 2 {
		t.Errorf("got %+v", last.Requests)
	}
}

func TestSeveralAnswersAtOnce(t *testing.T) {
	t.Parallel()
	r := begin(steptest.Config{})
	op := code(func(ctx context.Context) (string, error) {
		first, err := step.Approval(ctx, pending("a"))
		if err != nil {
			return "", err
		}
		r.Signal("approve", nil) // between two questions
		second, err := step.Approval(ctx, pending("b"))
		if err != nil {
			return "", err
		}
		raw, err := protocol.Marshal([]any{first, second})
		return string(raw), err
	})
	waits(t, r, op)
	r.Signal("approve", "what?")
	r.Signal("deny", nil)
	r.Signal("approve", nil)
	r.Signal("approve", nil)
	// What was meant for the first question does not answer the second.
	if w := waits(t, r, op); w.Path != "2" || len(r.Fold().Open.Mailbox) != 0 {
		t.Fatalf("got %+v, %v", w, r.Fold().Open.Mailbox)
	}
	r.Signal("approve", nil)
	if got, want := text(t, r, op), `[{"a":{"approved":false}},{"b":{"approved":true}}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAnAnswerBehindTheDecisionIsNotForTheNextQuestion(t *testing.T) {
	t.Parallel()
	r := begin(steptest.Config{})
	op := code(func(ctx context.Context) (string, error) {
		for _, id := range []string{"a", "b"} {
			if _, err := step.Approval(ctx, pending(id), step.Deadline(time.Hour)); err != nil && !errors.Is(err, step.ErrExpired) {
				return "", err
			}
		}
		return "", nil
	})
	w := waits(t, r, op)
	r.SignalAt("approve", nil, w.Timers[0].At.Add(1)) // too late: the first expires, and the answer is left over
	if w := waits(t, r, op); w.Path != "2" {
		t.Fatalf("got %+v", w)
	}
}

func TestApprovalExpiresWhichIsNotDenied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		op := ask(step.Deadline(time.Hour))
		r := begin(steptest.Config{})
		first := waits(t, r, op)
		for range 2 {
			time.Sleep(time.Minute)
			r.Signal("deny", json.RawMessage(`[]`))
			// When it was asked first counts.
			if d := cmp.Diff(first.Timers, waits(t, r, op).Timers); d != "" || len(first.Timers) != 1 {
				t.Error(d)
			}
		}
		if _, ok := r.Entry("1.2"); !ok {
			t.Error("the second answer was not taken")
		}
		r.Fire()
		if _, err := r.Execute(t.Context(), op); !errors.Is(err, step.ErrExpired) {
			t.Errorf("got %v", err)
		}
	})
}
