package kit_test

import (
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/skill/kit"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// asks is what a run that is not durable waits for: the calls of an answer that a person must allow.
func asks(t *testing.T, k *kit.Kit, work tool.Tool) []protocol.ToolApprovalRequired {
	t.Helper()
	model := agenttest.NewModel(nil, agenttest.Call("work", in{"a": 1}), agenttest.Say("done"))
	r := agenttest.Run(t, newAgent(t, k, agent.Config{Provider: model, Tools: []tool.Tool{work}}), protocol.Text("go"))
	all := agenttest.Effects[protocol.ToolApprovalRequired](r)
	if (len(all) > 0) != (r.Output.ExitReason.Kind() == protocol.ExitAwaitingApproval) || r.Err != nil {
		t.Errorf("got %v, %v, %v", all, r.Output.ExitReason, r.Err)
	}
	return all
}

func TestAnAskNeedsAPerson(t *testing.T) {
	t.Parallel()
	for name, action := range map[string]string{
		"action": permission("ask", "is it meant"), "command": print(`{"permission_decision":"ask","updatedInput":{"a":2}}`),
	} {
		all := asks(t, hooked(t, kit.Config{}, hook("PreToolUse", "work", action)), echo("work"))
		if len(all) != 1 || all[0].ToolName != "work" {
			t.Fatalf("%s: got %+v", name, all)
		}
		if want := map[string]string{"action": `{"a":1}`, "command": `{"a":2}`}[name]; string(all[0].Input) != want {
			t.Errorf("%s: got %s", name, all[0].Input)
		}
	}
}

// Deny before ask before allow, in whatever order they come.
func TestTheStrongestDecisionCounts(t *testing.T) {
	t.Parallel()
	for _, overrides := range []bool{false, true} {
		for list, want := range map[string]string{
			"allow ask": "ask", "ask allow": "ask", "ask deny": "deny", "allow deny": "deny", "deny allow": "deny", "allow allow": "",
		} {
			var actions []string
			for decision := range strings.FieldsSeq(list) {
				actions = append(actions, permission(decision, ""))
			}
			k := hooked(t, kit.Config{Overrides: overrides}, hook("PreToolUse", "work", actions...))
			model := agenttest.NewModel(nil, agenttest.Call("work", nil), agenttest.Say("done"))
			r := agenttest.Run(t, newAgent(t, k, agent.Config{Provider: model, Tools: []tool.Tool{echo("work")}}), protocol.Text("go"))
			got := ""
			switch {
			case len(agenttest.Effects[protocol.ToolApprovalRequired](r)) > 0:
				got = "ask"
			case model.Request(1).ToolResults()[0].IsError:
				got = "deny"
			}
			if got != want {
				t.Errorf("%s: got %q, want %q", list, got, want)
			}
		}
	}
}

func TestAllowTakesNoApprovalAway(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		action    string
		overrides bool
		asks      bool
	}{
		"allow":                            {permission("allow", ""), false, true},
		"allow, overrides":                 {permission("allow", ""), true, false},
		"allow of a command":               {print(`{"permission_decision":"allow"}`), false, true},
		"decision allow is none":           {print(`{"decision":"allow"}`), true, true},
		"bypassPermissions":                {print(`{"permission_mode":"bypassPermissions"}`), false, true},
		"bypassPermissions, overrides":     {print(`{"permission_mode":"bypassPermissions"}`), true, false},
		"auto, overrides":                  {print(`{"permission_mode":"auto"}`), true, false},
		"acceptEdits of others, overrides": {print(`{"permission_mode":"acceptEdits"}`), true, true},
		"default":                          {print(`{"permission_mode":"default"}`), true, true},
	} {
		k := hooked(t, kit.Config{Overrides: test.overrides}, hook("PreToolUse", "work", test.action))
		if got := asks(t, k, echo("work", tool.RequiresApproval())); (len(got) > 0) != test.asks {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestAcceptEditsIsForEdits(t *testing.T) {
	t.Parallel()
	k := hooked(t, kit.Config{Overrides: true, Names: map[string]string{"Write": "work"}},
		hook("PreToolUse", "Write", print(`{"permission_mode":"acceptEdits"}`)))
	if got := asks(t, k, echo("work", tool.RequiresApproval())); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

// The last mode counts, for the rest of the run; those that take approvals away do not lift plan.
func TestPlanPermitsWhatOnlyReads(t *testing.T) {
	t.Parallel()
	mode := func(m string) string { return print(`{"permission_mode":"` + m + `"}`) }
	k := hooked(t, kit.Config{}, hook("PreToolUse", "plan", mode("auto"), mode("plan"), command("true")),
		"    - matcher: auto\n      hooks: ["+mode("auto")+"]\n    - matcher: default\n      hooks: ["+mode("default")+"]\n")
	tools := []tool.Tool{echo("plan"), echo("auto"), echo("default"), echo("work"), echo("read_file")}
	var steps []agenttest.Step
	for _, name := range []string{"work", "plan", "work", "read_file", "auto", "work", "default", "work"} {
		steps = append(steps, agenttest.Call(name, nil))
	}
	var got string
	for _, r := range play(t, k, tools, steps...) {
		got += map[bool]string{true: "-", false: "+"}[r.IsError]
		if r.IsError {
			wantContains(t, r.Content, "mode plan", "read_file")
		}
	}
	if got != "+--+--++" {
		t.Errorf("got %s", got)
	}
}

func TestADurableRunWaitsForAnAsk(t *testing.T) {
	t.Parallel()
	k := hooked(t, kit.Config{}, hook("PreToolUse", "work", permission("ask", "is it meant")))
	for signal, want := range map[string]string{"approve": "work got", "deny": "was denied"} {
		model := agenttest.NewModel(t, agenttest.Call("work", nil), agenttest.Say("done"))
		op := func() protocol.Operator {
			return newAgent(t, k, agent.Config{Provider: model, Tools: []tool.Tool{echo("work")}})
		}
		r := agenttest.SurvivesKills(t, op, protocol.Text("go"), agenttest.WithSignal(signal, nil))
		wantContains(t, last(model.Request(1).ToolResults()), want)
		reason := r.Waits[0].Approval.Pending[0].Reason
		wantContains(t, reason.Detail(), "A hook of the skill 'guard' asks: is it meant")
	}
}
