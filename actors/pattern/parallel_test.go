package pattern_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/skelegent/skelegent-go/actors/pattern"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestParallel(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	all.Add(3)
	together := func(m member) member { // it ends only if all three run at the same time
		return func(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
			all.Done()
			all.Wait()
			return m(ctx, in)
		}
	}
	d := newLocal(map[protocol.OperatorID]member{
		"a": together(adding("a", "0.1")), "b": together(adding("b", "0.2")), "c": together(adding("c", "0.3")),
	})
	budget := protocol.MustDecimal("1")
	ctx := protocol.WithInvocation(t.Context(), &protocol.Invocation{Call: protocol.Call{Budget: &budget}})
	in := protocol.Text("x").WithSession("s1")
	in.Config = &protocol.OperatorConfig{MaxCost: new(protocol.MustDecimal("3"))}
	out, err := pattern.Parallel(d, "a", "b", "c").Execute(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "message", "xa\nxb\nxc", said(out))
	same(t, "exit", "complete", out.ExitReason.String())
	same(t, "effects", "a, b, c", effects(out))
	same(t, "sub-dispatches", "a 100, tool of a 7, b 100, tool of b 7, c 100, tool of c 7", records(out))
	m := out.Metadata
	same(t, "sums", []any{uint64(30), uint64(15), "0.6", uint32(3), protocol.Millis(100), uint32(3)},
		[]any{m.TokensIn, m.TokensOut, m.Cost.Text(), m.TurnsUsed, m.Duration, m.UnpricedCalls})
	for _, id := range []protocol.OperatorID{"a", "b", "c"} {
		same(t, "budget", []string{"0.33333333"}, d.budgets(id))
		if got := d.inputs[id][0]; *got.Session != "s1" || got.Trigger != protocol.TriggerUser || got.Config.MaxCost.Text() != "1" {
			t.Errorf("%s got %+v", id, got)
		}
	}
}

func TestParallelOfNoneSaysNothing(t *testing.T) {
	t.Parallel()
	out := execute(t, pattern.Parallel(nil), "x")
	same(t, "output", []string{"", "complete"}, []string{said(out), out.ExitReason.String()})
}

func TestParallelExits(t *testing.T) {
	t.Parallel()
	approval := protocol.ToolApprovalRequired{ToolName: "rm", CallID: "c1", Input: json.RawMessage(`{}`)}
	handoff := protocol.Handoff{Operator: "z", State: json.RawMessage(`1`)}
	silent := func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		return protocol.Reply(""), nil
	}
	data := func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		return protocol.OperatorOutput{Message: protocol.BlockContent(protocol.DataBlock{Data: json.RawMessage(`1`)})}, nil
	}
	for name, c := range map[string]struct {
		members []member
		says    string
		exit    string
		effects string
	}{
		"the last that is not complete": {
			[]member{ending("a", protocol.Exit(protocol.ExitMaxTurns)), ending("b", protocol.SafetyStop("no")), adding("c", "0")},
			"xa\nxb\nxc", "safety_stop: no", "a, b, c",
		},
		"awaiting approval": {
			[]member{ending("a", protocol.Exit(protocol.ExitAwaitingApproval), approval), adding("b", "0")},
			"xa\nxb", "awaiting_approval", "a, tool_approval_required, b",
		},
		"handed off": {
			[]member{adding("a", "0"), ending("b", protocol.Exit(protocol.ExitHandedOff), handoff)},
			"xa\nxb", "handed_off", "a, b, handoff to z",
		},
		"a failure": {
			[]member{failing(errors.New("secret")), ending("b", protocol.Exit(protocol.ExitMaxTurns)), failing(protocol.ErrToolFailed("broken"))},
			"xb\nm0: internal error; see the node's log\nm2: execution failed: broken", "error", "b",
		},
		"nothing said": {[]member{adding("a", "0"), silent, data}, "xa\n" + `[{"type":"data","data":1}]`, "complete", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			members, ids := map[protocol.OperatorID]member{}, []protocol.OperatorID{}
			for i, m := range c.members {
				id := protocol.OperatorID("m" + string(rune('0'+i)))
				members[id], ids = m, append(ids, id)
			}
			out := execute(t, pattern.Parallel(newLocal(members), ids...), "x")
			same(t, "output", []string{c.says, c.exit, c.effects}, []string{said(out), out.ExitReason.String(), effects(out)})
			if name == "a failure" {
				same(t, "records", "m0 0 failed, m1 100, tool of b 7, m2 0 failed", records(out))
			}
		})
	}
}

func TestParallelFailsIfAllDo(t *testing.T) {
	t.Parallel()
	cause := protocol.NewError(protocol.CodeUnavailable, "later").After(0)
	d := newLocal(map[protocol.OperatorID]member{
		"a": failing(cause), "b": failing(protocol.ErrToolFailed("broken")),
		"p": func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) { panic("x") },
	})
	for name, c := range map[string]struct {
		members []protocol.OperatorID
		code    protocol.Code
		text    string
		retry   bool
	}{
		"both":      {[]protocol.OperatorID{"a", "b"}, protocol.CodeUnavailable, "all of 2 failed: a: later; b: execution failed: broken", false},
		"may pass":  {[]protocol.OperatorID{"a", "a"}, protocol.CodeUnavailable, "all of 2 failed: a: later; a: later", true},
		"not found": {[]protocol.OperatorID{"x"}, protocol.CodeNotFound, "all of 1 failed: x: operator not found: x", false},
		"panics":    {[]protocol.OperatorID{"p"}, protocol.CodeInternal, "all of 1 failed: p: dispatch failed: the operator panicked", false},
	} {
		_, err := pattern.Parallel(d, c.members...).Execute(t.Context(), protocol.Text("x"))
		if e := protocol.AsError(err); e == nil || e.Code != c.code || e.Message != c.text || e.Retryable != c.retry {
			t.Errorf("%s: got %#v", name, err)
		}
	}
	if _, err := pattern.Parallel(d, "a").Execute(t.Context(), protocol.Text("x")); !errors.Is(err, cause) {
		t.Errorf("the cause is lost: %v", err)
	}
}

func TestParallelEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var ended atomic.Int32
	waits := func(ctx context.Context, _ protocol.OperatorInput) (protocol.OperatorOutput, error) {
		<-ctx.Done()
		ended.Add(1)
		return protocol.OperatorOutput{}, ctx.Err()
	}
	d := newLocal(map[protocol.OperatorID]member{"a": waits, "b": waits, "c": func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		cancel()
		return protocol.Reply("c"), nil
	}})
	_, err := pattern.Parallel(d, "a", "b", "c").Execute(ctx, protocol.Text("x"))
	if protocol.CodeOf(err) != protocol.CodeCancelled || ended.Load() != int32(len(d.inputs["a"])+len(d.inputs["b"])) {
		t.Errorf("got %v, %d ended", err, ended.Load())
	}
}

// words has each word of the input done by an operator of that name.
func words(_ context.Context, in protocol.OperatorInput) (all []protocol.DispatchRequest, err error) {
	for word := range strings.FieldsSeq(text(in)) {
		all = append(all, protocol.DispatchRequest{Operator: protocol.OperatorID(word), Input: protocol.Text("part ")})
	}
	return all, nil
}

func TestFanOut(t *testing.T) {
	t.Parallel()
	d := newLocal(map[protocol.OperatorID]member{"a": adding("a", "0.1"), "b": adding("b", "0.2"), "f": failing(protocol.ErrToolFailed("broken"))})
	op := must(t)(pattern.FanOut(d, pattern.FanOutConfig{Split: words, Limit: 1}))
	out := execute(t, op, "b a b")
	same(t, "output", []string{"part b\npart a\npart b", "complete", "b, a, b", "0.5"},
		[]string{said(out), out.ExitReason.String(), effects(out), out.Metadata.Cost.Text()})
	same(t, "of nothing", "complete", execute(t, op, "").ExitReason.String())

	merging := must(t)(pattern.FanOut(d, pattern.FanOutConfig{Split: words, Merge: func(_ context.Context, results []protocol.DispatchResult) (protocol.Content, error) {
		s := ""
		for _, r := range results {
			if r.Err != nil {
				s += "[" + r.Err.Error() + "]"
			}
			s += said(r.Output) + ";"
		}
		return protocol.TextContent(s), nil
	}}))
	out = execute(t, merging, "a f b")
	same(t, "merged", []string{"part a;[execution failed: broken];part b;", "error", "a, b"}, []string{said(out), out.ExitReason.String(), effects(out)})
}

func TestFanOutIsBounded(t *testing.T) {
	t.Parallel()
	var running, most atomic.Int32
	two := make(chan struct{})
	d := newLocal(map[protocol.OperatorID]member{"a": func(context.Context, protocol.OperatorInput) (protocol.OperatorOutput, error) {
		n := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			continue
		}
		if n == 2 {
			select {
			case <-two:
			default:
				close(two)
			}
		}
		<-two // until two have run at the same time
		return protocol.Reply("a"), nil
	}})
	op := must(t)(pattern.FanOut(d, pattern.FanOutConfig{Split: words, Limit: 2}))
	if execute(t, op, strings.Repeat("a ", 20)); most.Load() != 2 || len(d.inputs["a"]) != 20 {
		t.Errorf("at most %d at once, %d in all", most.Load(), len(d.inputs["a"]))
	}
}

func TestFanOutErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	d := newLocal(map[protocol.OperatorID]member{"a": adding("a", "0.1")})
	if _, err := pattern.FanOut(d, pattern.FanOutConfig{}); protocol.CodeOf(err) != protocol.CodeInvalidInput {
		t.Errorf("got %v", err)
	}
	for name, c := range map[string]struct {
		cfg  pattern.FanOutConfig
		want func(error) bool
	}{
		"split": {pattern.FanOutConfig{Split: func(context.Context, protocol.OperatorInput) ([]protocol.DispatchRequest, error) {
			return nil, broken
		}}, func(err error) bool { return errors.Is(err, broken) }},
		"merge": {pattern.FanOutConfig{Split: words, Merge: func(context.Context, []protocol.DispatchResult) (protocol.Content, error) {
			return protocol.Content{}, broken
		}}, func(err error) bool { return errors.Is(err, broken) }},
		"too many": {pattern.FanOutConfig{Split: words, MaxParts: 2}, func(err error) bool { return protocol.CodeOf(err) == protocol.CodeQuotaExceeded }},
	} {
		if _, err := must(t)(pattern.FanOut(d, c.cfg)).Execute(t.Context(), protocol.Text("a a a")); !c.want(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
