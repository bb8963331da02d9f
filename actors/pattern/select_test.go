package pattern_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/pattern"
	"github.com/skelegent/skelegent-go/protocol"
)

var abc = []protocol.OperatorID{"a", "b", "c"}

func letters() *local {
	return newLocal(map[protocol.OperatorID]member{"a": adding("a", "0.1"), "b": adding("b", "0.1"), "c": adding("c", "0.1")})
}

// naming chooses these, one after the other, and then none.
func naming(ids ...protocol.OperatorID) pattern.Selector {
	return func(_ context.Context, c pattern.Choice) (protocol.OperatorID, error) {
		if c.Round >= len(ids) {
			return "", nil
		}
		return ids[c.Round], nil
	}
}

func TestSelectors(t *testing.T) {
	t.Parallel()
	has := func(word string) func(protocol.OperatorInput) bool {
		return func(in protocol.OperatorInput) bool { return strings.Contains(text(in), word) }
	}
	cases := []pattern.Case{{Operator: "a", Match: has("apple")}, {Operator: "b", Match: has("p")}}
	n := 0
	for name, c := range map[string]struct {
		selector pattern.Selector
		inputs   []string
		want     []protocol.OperatorID
	}{
		"round robin":   {pattern.RoundRobin(), []string{"", "", "", "", ""}, []protocol.OperatorID{"a", "b", "c", "a", "b"}},
		"random":        {pattern.Random(func(most int) int { n += 2; return n % most }), []string{"", "", ""}, []protocol.OperatorID{"c", "b", "a"}},
		"first match":   {pattern.FirstMatch(cases...), []string{"apple", "plum", "kiwi"}, []protocol.OperatorID{"a", "b", ""}},
		"match default": {pattern.FirstMatch(append(cases, pattern.Case{Operator: "c"})...), []string{"kiwi", "apple"}, []protocol.OperatorID{"c", "a"}},
	} {
		var got []protocol.OperatorID
		for _, in := range c.inputs {
			id, err := c.selector(t.Context(), pattern.Choice{Operators: abc, Input: protocol.Text(in)})
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, id)
		}
		same(t, name, c.want, got)
	}
	seen := map[protocol.OperatorID]bool{}
	for random := pattern.Random(nil); len(seen) < len(abc); {
		id, err := random(t.Context(), pattern.Choice{Operators: abc})
		if err != nil {
			t.Fatal(err)
		}
		seen[id] = true
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	d := letters()
	op := must(t)(pattern.Select(d, pattern.RoundRobin(), abc...))
	for _, want := range []string{"xa", "xb", "xc", "xa"} {
		out := execute(t, op, "x")
		same(t, "output", []string{want, "complete", want[1:], "0.1"}, []string{said(out), out.ExitReason.String(), effects(out), out.Metadata.Cost.Text()})
	}
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		selector pattern.Selector
		want     func(error) bool
	}{
		"none":     {pattern.FirstMatch(), func(err error) bool { return protocol.CodeOf(err) == protocol.CodeNotFound }},
		"stranger": {naming("z"), func(err error) bool { return err.Error() == "operator not found: z" }},
		"fails": {func(context.Context, pattern.Choice) (protocol.OperatorID, error) { return "", broken }, func(err error) bool {
			return errors.Is(err, broken)
		}},
	} {
		if _, err := must(t)(pattern.Select(d, c.selector, abc...)).Execute(t.Context(), protocol.Text("x")); err == nil || !c.want(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, make := range []func() (protocol.Operator, error){
		func() (protocol.Operator, error) { return pattern.Select(d, nil, abc...) },
		func() (protocol.Operator, error) { return pattern.Select(d, naming()) },
		func() (protocol.Operator, error) {
			return pattern.Supervisor(d, pattern.SupervisorConfig{Select: naming()})
		},
		func() (protocol.Operator, error) {
			return pattern.Supervisor(d, pattern.SupervisorConfig{Operators: abc})
		},
		func() (protocol.Operator, error) { return pattern.Swarm(d, pattern.SwarmConfig{}) },
	} {
		if _, err := make(); protocol.CodeOf(err) != protocol.CodeInvalidInput {
			t.Errorf("got %v", err)
		}
	}
}

func TestSupervisor(t *testing.T) {
	t.Parallel()
	long := func(out protocol.OperatorOutput) bool { return len(said(out)) > 3 }
	approval := protocol.ToolApprovalRequired{ToolName: "rm", CallID: "c1", Input: json.RawMessage(`{}`)}
	for name, c := range map[string]struct {
		a, b   member
		choose pattern.Selector
		done   func(protocol.OperatorOutput) bool
		rounds int
		says   string
		exit   string
		effs   string
		worked string
	}{
		"the selected one": {adding("a", "0.1"), adding("b", "0.1"), naming("b"), nil, 0, "xb", "complete", "b", "b 100"},
		"until done": {
			adding("a", "0.1"), adding("b", "0.1"), naming("a", "b", "a"), long, 0, "xaba", "complete", "a, b, a", "a 100, b 100, a 100",
		},
		"until none is selected": {adding("a", "0.1"), adding("b", "0.1"), naming("a", "b"), long, 0, "xab", "complete", "a, b", "a 100, b 100"},
		"handed to a member": {
			handingTo("b", `{"ticket":1}`), adding("b", "0.1"), naming("a", "a"), nil, 0, `{"ticket":1}b`, "complete", "h, b", "a 100, b 100",
		},
		"handed to a stranger, another is selected": {
			handingTo("z", `1`), adding("b", "0.1"), naming("a", "b"), nil, 0, `1b`, "complete", "h, b", "a 100, b 100",
		},
		"handed to a stranger, none is selected": {
			handingTo("z", `1`), adding("b", "0.1"), naming("a"), nil, 0, `xh`, "handed_off", "h, handoff to z", "a 100",
		},
		"too many rounds": {
			adding("a", "0.1"), adding("b", "0.1"), naming("a", "b", "a"), long, 2, "xab", "max_turns", "a, b", "a 100, b 100",
		},
		"back and forth": {
			handingTo("b", `1`), handingTo("a", `2`), naming("a"), nil, 3, "2h", "max_turns", "h, h, h", "a 100, b 100, a 100",
		},
		"awaiting approval": {
			ending("a", protocol.Exit(protocol.ExitAwaitingApproval), approval), adding("b", "0"), naming("a", "b"), nil, 0,
			"xa", "awaiting_approval", "a, tool_approval_required", "a 100",
		},
		"handed off without saying to whom": {
			ending("a", protocol.Exit(protocol.ExitHandedOff)), adding("b", "0"), naming("a", "b"), nil, 0, "xa", "handed_off", "a", "a 100",
		},
		"who failed hands nothing over": {
			ending("a", protocol.Exit(protocol.ExitError), protocol.Handoff{Operator: "b", State: json.RawMessage(`1`)}), adding("b", "0"),
			naming("a", "b"), nil, 0, "xa", "error", "a", "a 100",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newLocal(map[protocol.OperatorID]member{"a": c.a, "b": c.b})
			op := must(t)(pattern.Supervisor(d, pattern.SupervisorConfig{
				Operators: []protocol.OperatorID{"a", "b"}, Select: c.choose, Done: c.done, MaxRounds: c.rounds,
			}))
			out := execute(t, op, "x")
			same(t, "output", []string{c.says, c.exit, c.effs}, []string{said(out), out.ExitReason.String(), effects(out)})
			var worked []string
			for r := range strings.SplitSeq(records(out), ", ") {
				if !strings.HasPrefix(r, "tool of") {
					worked = append(worked, r)
				}
			}
			same(t, "who worked", c.worked, strings.Join(worked, ", "))
		})
	}
}

func TestSupervisorTellsTheSelector(t *testing.T) {
	t.Parallel()
	var rounds []string
	op := must(t)(pattern.Supervisor(letters(), pattern.SupervisorConfig{
		Operators: abc, Done: func(protocol.OperatorOutput) bool { return false },
		Select: func(_ context.Context, c pattern.Choice) (protocol.OperatorID, error) {
			last := "-"
			if c.Last != nil {
				last = said(*c.Last)
			}
			rounds = append(rounds, text(c.Input)+" "+string(c.Input.Trigger)+" "+last)
			return naming("a", "b")(t.Context(), c)
		},
	}))
	execute(t, op, "x")
	same(t, "choices", []string{"x user -", "xa task xa", "xab task xab"}, rounds)
	_, err := must(t)(pattern.Supervisor(letters(), pattern.SupervisorConfig{Operators: abc, Select: naming()})).Execute(t.Context(), protocol.Text("x"))
	if protocol.CodeOf(err) != protocol.CodeNotFound {
		t.Errorf("got %v", err)
	}
	_, err = must(t)(pattern.Supervisor(newLocal(nil), pattern.SupervisorConfig{Operators: abc, Select: naming("a")})).Execute(t.Context(), protocol.Text("x"))
	if err == nil || err.Error() != "sub-dispatch error in a: operator not found: a" {
		t.Errorf("got %v", err)
	}
}

func TestSwarm(t *testing.T) {
	t.Parallel()
	ring := map[protocol.OperatorID][]protocol.OperatorID{"a": {"b"}, "b": {"a", "c"}}
	for name, c := range map[string]struct {
		a, b member
		most int
		says string
		exit string
		effs string
	}{
		"no handoff":  {adding("a", "0"), adding("b", "0"), 0, "xa", "complete", "a"},
		"two":         {handingTo("b", `"1"`), handingTo("c", `{"t":2}`), 2, `{"t":2}c`, "complete", "h, h, c"},
		"one allowed": {handingTo("b", `1`), handingTo("c", `2`), 1, "1h", "max_turns", "h, h"},
		"for ever":    {handingTo("b", `1`), handingTo("a", `2`), 0, "2h", "max_turns", strings.Repeat("h, ", 10) + "h"},
		"not allowed": {handingTo("c", `1`), adding("b", "0"), 0, "xh", "interceptor_halt: a may not hand off to c; it may to [b]", "h"},
		"to itself":   {handingTo("a", `1`), adding("b", "0"), 0, "xh", "interceptor_halt: a may not hand off to a; it may to [b]", "h"},
		"while complete": {
			ending("a", protocol.Exit(protocol.ExitComplete), protocol.Handoff{Operator: "c", State: json.RawMessage(`1`)}), adding("b", "0"), 0,
			"xa", "interceptor_halt: a may not hand off to c; it may to [b]", "a",
		},
		"who stopped hands nothing over": {
			ending("a", protocol.SafetyStop("no"), protocol.Handoff{Operator: "c", State: json.RawMessage(`1`)}), adding("b", "0"), 0,
			"xa", "safety_stop: no", "a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newLocal(map[protocol.OperatorID]member{"a": c.a, "b": c.b, "c": adding("c", "0")})
			op := must(t)(pattern.Swarm(d, pattern.SwarmConfig{Start: "a", Transitions: ring, MaxHandoffs: c.most}))
			out := execute(t, op, "x")
			same(t, "output", []string{c.says, c.exit, c.effs}, []string{said(out), out.ExitReason.String(), effects(out)})
		})
	}
	d := newLocal(map[protocol.OperatorID]member{"a": handingTo("b", `1`), "b": failing(protocol.ErrToolFailed("x"))})
	_, err := must(t)(pattern.Swarm(d, pattern.SwarmConfig{Start: "a", Transitions: ring})).Execute(t.Context(), protocol.Text("x"))
	if err == nil || err.Error() != "sub-dispatch error in b: execution failed: x" {
		t.Errorf("got %v", err)
	}
}

// Who is handed the work gets what an executor of handoffs would give it, within the session.
func TestHandoffInput(t *testing.T) {
	t.Parallel()
	for metadata, want := range map[string]string{
		``: `{"handoff":true}`, `null`: `{"handoff":true}`, `[1]`: `{"handoff":true}`, `{"trace":1}`: `{"handoff":true,"trace":1}`,
	} {
		d := newLocal(map[protocol.OperatorID]member{"a": handingTo("b", `{"ticket":123}`), "b": adding("b", "0")})
		in := protocol.Text("x").WithSession("s1")
		in.Metadata = json.RawMessage(metadata)
		op := must(t)(pattern.Swarm(d, pattern.SwarmConfig{Start: "a", Transitions: map[protocol.OperatorID][]protocol.OperatorID{"a": {"b"}}}))
		if _, err := op.Execute(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		got := d.inputs["b"][0]
		if text(got) != `{"ticket":123}` || got.Trigger != protocol.TriggerTask || *got.Session != "s1" || cmp.Diff(want, string(got.Metadata)) != "" {
			t.Errorf("%s: got %+v with %s", metadata, got, got.Metadata)
		}
	}
}
