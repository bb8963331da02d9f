package dispatch_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/compose/dispatch"
	"github.com/skelegent/skelegent-go/protocol"
)

func before(hook int, d dispatch.DecisionKind, reason string) dispatch.Event {
	return dispatch.Event{Kind: dispatch.HookBefore, Hook: hook, Decision: d, Reason: reason}
}

func outcome(o dispatch.OutcomeKind, reason, message string) dispatch.Event {
	return dispatch.Event{Kind: dispatch.CallOutcome, Hook: -1, Outcome: o, Reason: reason, Message: message}
}

func TestTrace(t *testing.T) {
	t.Parallel()
	after := func(hook int) dispatch.Event { return dispatch.Event{Kind: dispatch.HookAfter, Hook: hook} }
	cleanup := func(hook int) dispatch.Event { return dispatch.Event{Kind: dispatch.HookCleanup, Hook: hook} }
	l := &log{}
	plain := &hook{name: "p", log: l}
	for name, c := range map[string]struct {
		tool  string
		hooks []dispatch.Hook
		want  []dispatch.Event
	}{
		"no hooks": {"echo", nil, []dispatch.Event{outcome(dispatch.Completed, "", "")}},
		"continue": {"echo", []dispatch.Hook{plain}, []dispatch.Event{
			before(0, dispatch.DecideContinue, ""), after(0), outcome(dispatch.Completed, "", ""),
		}},
		"skip": {"echo", []dispatch.Hook{
			plain, &hook{log: l, before: decide(dispatch.Skip(json.RawMessage(`{"skipped":true}`), "policy"))}, plain,
		}, []dispatch.Event{
			before(0, dispatch.DecideContinue, ""), before(1, dispatch.DecideSkip, "policy"), after(0), after(1), after(2),
			outcome(dispatch.Skipped, "policy", ""),
		}},
		"terminate": {"echo", []dispatch.Hook{&hook{log: l, before: decide(dispatch.Terminate("limit hit"))}, plain}, []dispatch.Event{
			before(0, dispatch.DecideTerminate, "limit hit"), cleanup(0), cleanup(1), outcome(dispatch.Terminated, "limit hit", ""),
		}},
		"a hook's error": {"echo", []dispatch.Hook{plain, &hook{log: l, before: func() (dispatch.Decision, error) {
			return dispatch.Continue(), compose.ErrBudgetFailed("nope")
		}}, plain}, []dispatch.Event{
			before(0, dispatch.DecideContinue, ""),
			{Kind: dispatch.HookBeforeError, Hook: 1, Message: "budget failed: nope"},
			cleanup(0), outcome(dispatch.Failed, "", "budget failed: nope"),
		}},
		"a tool's error": {"fail", []dispatch.Hook{plain}, []dispatch.Event{
			before(0, dispatch.DecideContinue, ""), cleanup(0), outcome(dispatch.Failed, "", "tool invocation failed: weather offline"),
		}},
		"an error behind it": {"echo", []dispatch.Hook{&hook{log: l, after: func(dispatch.Result, dispatch.Outcome) error {
			return protocol.NewError(protocol.CodeConflict, "full")
		}}, plain}, []dispatch.Event{
			before(0, dispatch.DecideContinue, ""), before(1, dispatch.DecideContinue, ""),
			{Kind: dispatch.HookAfter, Hook: 0, Message: "full"},
			after(1), outcome(dispatch.Completed, "", ""),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var trace dispatch.Trace
			tools := toolsOf(t, returns("echo", `1`), fails("fail", errors.New("weather offline")))
			_, _ = dispatch.Dispatch(t.Context(), tools, []protocol.ToolCall{call(c.tool, `{}`)},
				dispatch.WithHooks(c.hooks...), dispatch.WithTrace(&trace))
			if d := cmp.Diff(c.want, trace.Events()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestTraceIsBounded(t *testing.T) {
	t.Parallel()
	var trace *dispatch.Trace
	if trace.Events() != nil || trace.Dropped() != 0 {
		t.Error("there is something of nothing")
	}
	trace = &dispatch.Trace{}
	calls := slices.Repeat([]protocol.ToolCall{call("x", `{}`)}, dispatch.MaxCalls)
	for range 17 {
		if _, err := dispatch.Dispatch(t.Context(), toolsOf(t, returns("x", `1`)), calls, dispatch.WithTrace(trace)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(trace.Events()); n != dispatch.MaxEvents || trace.Dropped() != 17*dispatch.MaxCalls-n || trace.Events()[5].Call != 5 {
		t.Errorf("%d events, %d dropped", n, trace.Dropped())
	}
	raw, err := protocol.Marshal(trace.Events()[1])
	if err != nil || string(raw) != `{"kind":"call_outcome","call":1,"hook":-1,"outcome":"completed"}` {
		t.Errorf("%s, %v", raw, err)
	}
}
