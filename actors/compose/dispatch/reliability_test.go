package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/compose/dispatch"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestRetryClass(t *testing.T) {
	t.Parallel()
	refused := compose.ErrToolFailed("no").WithCode(protocol.CodeInvalidInput)
	for _, c := range []struct {
		err  error
		want dispatch.Class
	}{
		{compose.ErrToolFailed("boom"), dispatch.Transient},
		{compose.ErrSkillFailed("boom"), dispatch.Transient},
		{fmt.Errorf("call: %w", compose.ErrToolFailed("boom")), dispatch.Transient},
		{protocol.ErrToolFailed("boom"), dispatch.Transient},
		{protocol.NewError(protocol.CodeUnavailable, "x"), dispatch.Transient},
		{compose.ErrToolFailed("x").Because(step.ErrOutcomeUnknown), dispatch.Permanent},
		{refused, dispatch.Permanent},
		{compose.ErrToolNotFound("x"), dispatch.Permanent},
		{compose.ErrToolNotAuthorised("x"), dispatch.Permanent},
		{compose.ErrSkillNotFound("x"), dispatch.Permanent},
		{compose.ErrToolNotApplicable("x"), dispatch.Permanent},
		{compose.ErrInvalidArgument("x"), dispatch.Permanent},
		{compose.ErrNormalizerFailed("x"), dispatch.Permanent},
		{compose.ErrDispatchTerminated("x"), dispatch.Permanent},
		{compose.ErrBudgetFailed("x"), dispatch.Permanent},
		{compose.ErrSerialization(errors.New("x")), dispatch.Permanent},
		{context.Canceled, dispatch.Permanent},
		{&step.Unwind{}, dispatch.Permanent},
		{errors.New("x"), dispatch.Permanent},
		{nil, dispatch.Permanent},
	} {
		if got := dispatch.RetryClass(c.err); got != c.want {
			t.Errorf("%v: got %s", c.err, got)
		}
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	same := func(a, b protocol.ToolCall) bool { return dispatch.Fingerprint(a) == dispatch.Fingerprint(b) }
	a := call("search", `{"q":"rig","limit":5,"in":{"x":[1,2.50],"y":"\u00e4"}}`)
	if len(dispatch.Fingerprint(a)) != 64 || !same(a, a) {
		t.Error("it is not stable")
	}
	other := a
	other.ID = "another"
	other.Input = json.RawMessage(" {\"limit\" :5,\n\"in\":{\"y\":\"ä\",\"x\":[1,2.50]},\"q\":\"rig\"}")
	if !same(a, other) {
		t.Error("the order of members, white space or the id matters")
	}
	for name, c := range map[string][2]protocol.ToolCall{
		"another value":        {call("search", `{"q":"rig"}`), call("search", `{"q":"tokio"}`)},
		"another tool":         {call("search", `{}`), call("lookup", `{}`)},
		"another order":        {call("search", `[1,2]`), call("search", `[2,1]`)},
		"a large number":       {call("search", `9007199254740993`), call("search", `9007199254740992`)},
		"written otherwise":    {call("search", `{"n":1}`), call("search", `{"n":1.0}`)},
		"a string of a number": {call("search", `{"n":1}`), call("search", `{"n":"1"}`)},
		"no JSON":              {call("search", `{"n"`), call("search", `{"m"`)},
		"no UTF-8":             {call("search", "\"\xff\""), call("search", "\"\xfe\"")},
		"where the name ends":  {call("ab", `1`), call("a", `b1`)},
	} {
		if same(c[0], c[1]) {
			t.Errorf("%s is the same", name)
		}
	}
	for _, nothing := range []string{``, `null`, " null\n", `{}`, `{ }`} {
		if !same(call("x", nothing), call("x", `{}`)) {
			t.Errorf("%q is something", nothing)
		}
	}
}

func done(c protocol.ToolCall, output string) dispatch.Result {
	return dispatch.Result{Call: c, Output: json.RawMessage(output), Outcome: dispatch.Outcome{Kind: dispatch.Completed}}
}

func TestRepairHistory(t *testing.T) {
	t.Parallel()
	a, b := call("search", `{"q":"rig","n":1}`), call("b", `{"k":2}`)
	again := call("search", `{"n":1,"q":"rig"}`)
	flake := dispatch.FailedResult(a, compose.ErrToolFailed("first"))
	last := dispatch.FailedResult(again, compose.ErrInvalidArgument("last"))
	skipped := dispatch.Result{Call: a, Output: json.RawMessage(`0`), Outcome: dispatch.Outcome{Kind: dispatch.Skipped}}
	for name, c := range map[string]struct{ history, want []dispatch.Result }{
		"nothing": {nil, []dispatch.Result{}},
		"the first that succeeded": {
			[]dispatch.Result{flake, done(again, `1`), done(a, `99`), last}, []dispatch.Result{done(again, `1`)},
		},
		"a skip has a result":   {[]dispatch.Result{flake, skipped, done(a, `1`)}, []dispatch.Result{skipped}},
		"else the last failure": {[]dispatch.Result{flake, last}, []dispatch.Result{last}},
		"in the order of the first": {
			[]dispatch.Result{flake, done(b, `null`), done(again, `"x"`), done(b, `2`)},
			[]dispatch.Result{done(again, `"x"`), done(b, `null`)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := dispatch.RepairHistory(c.history)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(got, dispatch.RepairHistory(got)); d != "" {
				t.Errorf("repairing again changes it: %s", d)
			}
		})
	}
	if flake.Outcome.Retry != dispatch.Transient || last.Outcome.Retry != dispatch.Permanent ||
		flake.Outcome.Message != "tool invocation failed: first" || string(flake.Output) != "null" {
		t.Errorf("got %+v, %+v", flake, last)
	}
}

func TestStuckLoop(t *testing.T) {
	t.Parallel()
	h := dispatch.StuckLoopHook(2)
	a, b := call("search", `{"q":"rig","n":1}`), call("search", `{"q":"other"}`)
	again := call("search", `{"n":1,"q":"rig"}`)
	tools := toolsOf(t, returns("search", `1`))
	results, err := dispatch.Dispatch(t.Context(), tools, []protocol.ToolCall{a, b, again, b, a, a}, dispatch.WithHooks(h))
	wantKind(t, err, compose.KindDispatchTerminated, "stuck loop detected: `search` was requested 3 times")
	if len(results) != 4 {
		t.Errorf("%d results", len(results))
	}
	if _, err := dispatch.Dispatch(t.Context(), tools, []protocol.ToolCall{b}, dispatch.WithHooks(h)); err == nil {
		t.Error("it forgot")
	}
	if _, err := dispatch.Dispatch(t.Context(), tools, []protocol.ToolCall{b}, dispatch.WithHooks(h.ForRun())); err != nil {
		t.Errorf("another run: %v", err)
	}
	_, err = dispatch.Dispatch(t.Context(), tools, []protocol.ToolCall{a}, dispatch.WithHooks(dispatch.StuckLoopHook(-1)))
	wantKind(t, err, compose.KindDispatchTerminated, "1 times")
}

func TestStuckLoopForgetsTheOldest(t *testing.T) {
	t.Parallel()
	h := dispatch.StuckLoopHook(1)
	ask := func(n int) dispatch.DecisionKind {
		d, err := h.Before(t.Context(), call("x", fmt.Sprint(n)))
		if err != nil {
			t.Fatal(err)
		}
		return d.Kind()
	}
	for n := range 10_000 {
		if ask(n) != dispatch.DecideContinue {
			t.Fatal(n)
		}
	}
	if ask(9_999) != dispatch.DecideTerminate || ask(6_000) != dispatch.DecideTerminate || ask(0) != dispatch.DecideContinue {
		t.Error("it does not remember the last 4096")
	}
}
