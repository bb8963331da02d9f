package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// The acceptance cases D3 of the specification, by their numbers.

func TestD3Fact1TextAnswer(t *testing.T) {
	t.Parallel()
	m := &model{steps: []step{says("hi")}}
	out := execute(t, agent.Config{Provider: m}, protocol.Text("hello"))
	wantExit(t, out, protocol.Exit(protocol.ExitComplete), "hi")
	if out.Metadata.TurnsUsed != 1 || len(m.asks) != 1 {
		t.Errorf("%d turns, %d calls", out.Metadata.TurnsUsed, len(m.asks))
	}
}

func TestD3Fact2OnlyAllowedToolsAreOffered(t *testing.T) {
	t.Parallel()
	var allowed, blocked counter
	m := &model{steps: []step{says("", uses("c1", "allowed", `{}`)), says("done")}}
	in := protocol.Text("go")
	in.Config = &protocol.OperatorConfig{AllowedOperators: []string{"allowed"}}
	out := execute(t, agent.Config{
		Provider: m, Tools: []tool.Tool{blocked.tool("blocked"), allowed.tool("allowed")},
	}, in)
	wantExit(t, out, protocol.Exit(protocol.ExitComplete), "done")
	for _, ask := range m.asks {
		if len(ask.Tools) != 1 || ask.Tools[0].Name != "allowed" {
			t.Errorf("offered %v", ask.Tools)
		}
	}
	if allowed.n != 1 || blocked.n != 0 {
		t.Errorf("allowed ran %d times, blocked %d", allowed.n, blocked.n)
	}
}

func TestD3Fact3ApprovalRequired(t *testing.T) {
	t.Parallel()
	m := &model{steps: []step{says("May I?", uses("c1", "dangerous_tool", `{"cmd":"rm -rf /"}`))}}
	x, err := tool.Raw(protocol.ToolMetadata{Name: "dangerous_tool"}, nil, tool.RequiresApproval())
	if err != nil {
		t.Fatal(err)
	}
	out := execute(t, agent.Config{Provider: m, Tools: []tool.Tool{x}}, protocol.Text("go"))
	wantExit(t, out, protocol.Exit(protocol.ExitAwaitingApproval), "May I?")
	want := protocol.Effects{protocol.ToolApprovalRequired{
		ToolName: "dangerous_tool", CallID: "c1", Input: json.RawMessage(`{"cmd":"rm -rf /"}`),
	}}
	if d := cmp.Diff(want, out.Effects); d != "" || len(m.asks) != 1 {
		t.Errorf("%s; %d calls", d, len(m.asks))
	}
}

func TestD3Fact4ApprovalHoldsSafeCallsBack(t *testing.T) {
	t.Parallel()
	var safe, dangerous counter
	m := &model{steps: []step{says("", uses("c1", "safe", `{}`), uses("c2", "dangerous", `{}`), uses("c3", "none", `{}`))}}
	out := execute(t, agent.Config{
		Provider: m, Tools: []tool.Tool{safe.tool("safe"), dangerous.tool("dangerous", tool.RequiresApproval())},
	}, protocol.Text("go"))
	wantExit(t, out, protocol.Exit(protocol.ExitAwaitingApproval), "")
	if len(out.Effects) != 1 || safe.n+dangerous.n != 0 || len(out.Metadata.SubDispatches) != 0 {
		t.Errorf("%d effects, %d calls", len(out.Effects), safe.n+dangerous.n)
	}
}

func TestD3Fact5ContentFilter(t *testing.T) {
	t.Parallel()
	m := &model{steps: []step{says("I").stopped(protocol.StopContentFilter)}}
	out := execute(t, agent.Config{Provider: m}, protocol.Text("go"))
	wantExit(t, out, protocol.SafetyStop("content filter triggered"), "I")
}

func TestD3Fact6Budget(t *testing.T) {
	t.Parallel()
	busy := func(turns int, cost string) *model {
		m := &model{}
		for range turns {
			m.steps = append(m.steps, says("working", uses("c", "work", `{}`)).costs(cost))
		}
		m.steps = append(m.steps, says("done").costs(cost))
		return m
	}
	for name, c := range map[string]struct {
		model *model
		cost  *protocol.Decimal
		exit  protocol.ExitKind
		turns uint32
	}{
		"ten turns stop":  {busy(10, "0"), nil, protocol.ExitMaxTurns, 10},
		"five turns pass": {busy(5, "0"), nil, protocol.ExitComplete, 6},
		"1.50 of 1.00":    {busy(2, "1.50"), new(protocol.MustDecimal("1.00")), protocol.ExitBudgetExhausted, 1},
		"1.00 of 1.00":    {busy(2, "0.50"), new(protocol.MustDecimal("1.00")), protocol.ExitComplete, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n counter
			out := execute(t, agent.Config{
				Provider: c.model, Tools: []tool.Tool{n.tool("work")}, Limits: agent.Limits{MaxCost: c.cost},
			}, protocol.Text("go"))
			if out.ExitReason.Kind() != c.exit || out.Metadata.TurnsUsed != c.turns {
				t.Errorf("got %s after %d turns", out.ExitReason, out.Metadata.TurnsUsed)
			}
		})
	}
}

func TestD3Fact7ResultsAsTheModelSeesThem(t *testing.T) {
	t.Parallel()
	raw := func(name, output string) tool.Tool {
		x, err := tool.Raw(protocol.ToolMetadata{Name: name}, constant(output))
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	m := &model{steps: []step{says("", uses("1", "s", `{}`), uses("2", "n", `{}`), uses("3", "o", `{}`), uses("4", "e", `{}`)), says("done")}}
	execute(t, agent.Config{Provider: m, Tools: []tool.Tool{
		raw("s", `"as is"`), raw("n", `null`), raw("o", `{"a": 1}`), broken("e", protocol.ErrToolFailed("x")),
	}}, protocol.Text("go"))
	want := []protocol.ToolResultBlock{
		{ToolUseID: "1", Content: "as is"},
		{ToolUseID: "2", Content: "null"},
		{ToolUseID: "3", Content: `{"a":1}`},
		{ToolUseID: "4", Content: "Error: execution failed: x", IsError: true},
	}
	if d := cmp.Diff(want, results(m.asks[1])); d != "" {
		t.Error(d)
	}
}
