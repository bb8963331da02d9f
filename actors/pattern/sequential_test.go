package pattern_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/skelegent/skelegent-go/actors/pattern"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestSequential(t *testing.T) {
	t.Parallel()
	d := newLocal(map[protocol.OperatorID]member{"a": adding("a", "0.10"), "b": adding("b", "0.2"), "c": adding("c", "0")})
	turns := uint32(3)
	in := protocol.Text("x").WithSession("s1")
	in.Config, in.Metadata = &protocol.OperatorConfig{MaxTurns: &turns}, json.RawMessage(`{"trace":1}`)
	in.Context = []protocol.Message{protocol.NewMessage(protocol.RoleUser, protocol.TextContent("before"))}
	out, err := pattern.Sequential(d, "a", "b", "c").Execute(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "message", "xabc", said(out))
	same(t, "exit", "complete", out.ExitReason.String())
	same(t, "effects", "a, b, c", effects(out))
	same(t, "sub-dispatches", "a 100, tool of a 7, b 100, tool of b 7, c 100, tool of c 7", records(out))
	m := out.Metadata
	same(t, "sums", []any{uint64(30), uint64(15), "0.30", uint32(3), protocol.Millis(300), uint32(3)},
		[]any{m.TokensIn, m.TokensOut, m.Cost.Text(), m.TurnsUsed, m.Duration, m.UnpricedCalls})

	first, second := d.inputs["a"][0], d.inputs["b"][0]
	if first.Trigger != protocol.TriggerUser || len(first.Context) != 1 {
		t.Errorf("the first one got %+v", first)
	}
	if second.Trigger != protocol.TriggerTask || second.Context != nil || *second.Session != "s1" || string(second.Metadata) != `{"trace":1}` || *second.Config.MaxTurns != 3 {
		t.Errorf("the second one got %+v", second)
	}
}

func TestSequentialWithoutMembersGivesItsInputBack(t *testing.T) {
	t.Parallel()
	out := execute(t, pattern.Sequential(nil), "x")
	same(t, "output", protocol.Reply("x").Message.Equal(out.Message), true)
}

func TestSequentialStopsAtWhatIsNotComplete(t *testing.T) {
	t.Parallel()
	approval := protocol.ToolApprovalRequired{ToolName: "rm", CallID: "c1", Input: json.RawMessage(`{}`)}
	for _, c := range []struct {
		exit    protocol.ExitReason
		effect  protocol.Effect
		effects string
	}{
		{protocol.Exit(protocol.ExitMaxTurns), protocol.Log{Message: "late"}, "a, b, late"},
		{protocol.Exit(protocol.ExitAwaitingApproval), approval, "a, b, tool_approval_required"},
		{protocol.Exit(protocol.ExitHandedOff), protocol.Handoff{Operator: "z", State: json.RawMessage(`1`)}, "a, b, handoff to z"},
		{protocol.SafetyStop("no"), protocol.Log{Message: "late"}, "a, b, late"},
		{protocol.CustomExit("mine"), protocol.Log{Message: "late"}, "a, b, late"},
	} {
		t.Run(c.exit.String(), func(t *testing.T) {
			t.Parallel()
			d := newLocal(map[protocol.OperatorID]member{"a": adding("a", "0.1"), "b": ending("b", c.exit, c.effect), "c": adding("c", "1")})
			out := execute(t, pattern.Sequential(d, "a", "b", "c"), "x")
			if said(out) != "xab" || out.ExitReason != c.exit || out.Metadata.Cost.Text() != "0.2" || len(d.inputs["c"]) != 0 {
				t.Errorf("got %+v", out)
			}
			same(t, "effects", c.effects, effects(out))
		})
	}
}

func TestSequentialNamesWhoFailed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		code  protocol.Code
		text  string
		retry bool
	}{
		"coded":   {protocol.NewError(protocol.CodeUnavailable, "later").After(0), protocol.CodeUnavailable, "sub-dispatch error in b: later", true},
		"uncoded": {errors.New("secret"), protocol.CodeInternal, "sub-dispatch error in b: internal error; see the node's log", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newLocal(map[protocol.OperatorID]member{"a": adding("a", "0"), "b": failing(c.err), "c": adding("c", "0")})
			_, err := pattern.Sequential(d, "a", "b", "c").Execute(t.Context(), protocol.Text("x"))
			if e := protocol.AsError(err); e == nil || e.Code != c.code || e.Message != c.text || e.Retryable != c.retry || !errors.Is(err, c.err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestMembersGetWhatIsLeftOfTheMoney(t *testing.T) {
	t.Parallel()
	d := newLocal(map[protocol.OperatorID]member{"a": adding("a", "0.7"), "b": adding("b", "0.4"), "c": adding("c", "0")})
	budget, most := protocol.MustDecimal("1"), protocol.MustDecimal("0.9")
	ctx := protocol.WithInvocation(t.Context(), &protocol.Invocation{Call: protocol.Call{Run: "r1", Budget: &budget, Depth: 2}})
	if _, err := pattern.Sequential(d, "a", "b", "c").Execute(ctx, protocol.Text("x")); err != nil {
		t.Fatal(err)
	}
	same(t, "budgets", [][]string{{"1"}, {"0.3"}, {"0"}}, [][]string{d.budgets("a"), d.budgets("b"), d.budgets("c")})
	if c := d.calls["b"][0]; c.Parent != "r1" || c.Depth != 3 {
		t.Errorf("got %+v", c)
	}
	in := protocol.Text("x")
	in.Config = &protocol.OperatorConfig{MaxCost: &most}
	if _, err := pattern.Sequential(d, "a", "b").Execute(ctx, in); err != nil {
		t.Fatal(err)
	}
	same(t, "max_cost is a limit too", []string{"0.9", "0.2"}, []string{d.budgets("a")[1], d.budgets("b")[1]})
	same(t, "max_cost of the member", "0.2", d.inputs["b"][1].Config.MaxCost.Text())
	if most.Text() != "0.9" {
		t.Error("the caller's config was changed")
	}
	if _, err := pattern.Sequential(d, "a").Execute(t.Context(), protocol.Text("x")); err != nil {
		t.Fatal(err)
	}
	same(t, "no limit", "any", d.budgets("a")[2])
}

func TestSequentialEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	d := newLocal(map[protocol.OperatorID]member{
		"a": func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
			cancel()
			return protocol.Reply("a"), nil
		}, "b": adding("b", "0"),
	})
	_, err := pattern.Sequential(d, "a", "b").Execute(ctx, protocol.Text("x"))
	if protocol.CodeOf(err) != protocol.CodeCancelled || len(d.inputs["b"]) != 0 {
		t.Errorf("got %v, dispatched %d", err, len(d.inputs["b"]))
	}
}

func TestLoop(t *testing.T) {
	t.Parallel()
	long := func(n int) func(protocol.OperatorOutput) bool {
		return func(out protocol.OperatorOutput) bool { return len(said(out)) >= n }
	}
	count := 0
	stops := func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
		if count++; count == 2 {
			return ending("s", protocol.SafetyStop("no"))(ctx, in)
		}
		return adding("a", "0.1")(ctx, in)
	}
	for name, c := range map[string]struct {
		member member
		done   func(protocol.OperatorOutput) bool
		most   int
		says   string
		exit   string
		cost   string
	}{
		"done":         {adding("a", "0.1"), long(4), 5, "xaaa", "complete", "0.3"},
		"at the last":  {adding("a", "0.1"), long(4), 3, "xaaa", "complete", "0.3"},
		"not done":     {adding("a", "0.1"), long(4), 2, "xaa", "max_turns", "0.2"},
		"default":      {adding("a", "0.1"), long(99), 0, "xaaaaaaaaaa", "max_turns", "1.0"},
		"not complete": {stops, long(9), 5, "xas", "safety_stop: no", "0.2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newLocal(map[protocol.OperatorID]member{"m": c.member})
			op := must(t)(pattern.Loop(d, pattern.LoopConfig{Operator: "m", Done: c.done, MaxIterations: c.most}))
			out := execute(t, op, "x")
			same(t, "output", []string{c.says, c.exit, c.cost}, []string{said(out), out.ExitReason.String(), out.Metadata.Cost.Text()})
			if got := len(out.Effects); got != len(d.inputs["m"]) || got != int(out.Metadata.TurnsUsed) {
				t.Errorf("%d effects of %d iterations", got, len(d.inputs["m"]))
			}
		})
	}
	if _, err := pattern.Loop(nil, pattern.LoopConfig{Operator: "m"}); protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("got %v", err)
	}
	d := newLocal(map[protocol.OperatorID]member{"m": failing(protocol.ErrToolFailed("x"))})
	op := must(t)(pattern.Loop(d, pattern.LoopConfig{Operator: "m", Done: long(1)}))
	if _, err := op.Execute(t.Context(), protocol.Text("x")); err == nil || err.Error() != "sub-dispatch error in m: execution failed: x" {
		t.Errorf("got %v", err)
	}
}
