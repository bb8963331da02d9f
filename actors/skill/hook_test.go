package skill_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/skill"
)

func withHooks(text string) []byte { return []byte(skillFile("a", "b", "hooks: "+text)) }

func TestHooksHaveTwoSpellingsOfEvents(t *testing.T) {
	t.Parallel()
	d, _, ds, err := skill.Parse(withHooks(`{pre_tool_use: [{matcher: Bash, hooks: [` +
		`{type: permission, decision: deny, reason: no, suggestions: [x, y]}, {type: command, command: run, shell: powershell}]}],` +
		` post_tool_use: []}`))
	want := skill.Hooks{PreToolUse: []skill.HookRule{{Matcher: "Bash", Actions: []skill.HookAction{
		{Type: skill.HookPermission, Decision: skill.DecisionDeny, Reason: "no", Suggestions: []string{"x", "y"}},
		{Type: skill.HookCommand, Command: "run", Shell: "powershell", Timeout: 10 * time.Second},
	}}}}
	if diff := cmp.Diff(want, d.Hooks); err != nil || len(ds) > 0 || diff != "" {
		t.Error(err, ds, diff)
	}
}

func TestASkillWhoseHooksCannotBeReadIsRefused(t *testing.T) {
	t.Parallel()
	rule := func(r string) string { return "{PreToolUse: [" + r + "]}" }
	action := func(a string) string { return rule("{matcher: Bash, hooks: [" + a + "]}") }
	for _, text := range []string{
		"x", "[]",
		"{Stop: []}", "{PreToolUSE: []}",
		"{PreToolUse: [], pre_tool_use: []}",
		"{PreToolUse: {matcher: Bash}}",
		rule("x"), rule("{hooks: []}"), rule("{matcher: Bash}"), rule("{matcher: Bash, hooks: x}"),
		rule(`{matcher: "", hooks: []}`), rule(`{matcher: "[", hooks: []}`), rule(`{matcher: "a|", hooks: []}`), rule(`{matcher: [a], hooks: []}`),
		rule(`{matcher: Bash, hooks: [], if: x}`),
		action("x"), action("{}"), action("{type: http, url: x}"), action("{type: command}"), action(`{type: command, command: " "}`),
		action("{type: command, command: x, timeout: 0}"), action("{type: command, command: x, timeout: -1}"),
		action("{type: command, command: x, timeout: soon}"), action("{type: command, command: x, shell: fish}"),
		action("{type: command, command: x, prompt: y}"), action("{type: command, command: x, async: true}"),
		action("{type: command, command: " + strings.Repeat("x", skill.MaxHookText+1) + "}"),
		action("{type: prompt}"), action("{type: prompt, prompt: [x]}"),
		action("{type: permission}"), action("{type: permission, decision: maybe}"),
		action("{type: permission, decision: deny, suggestions: x}"), action("{type: permission, decision: deny, suggestions: [[x]]}"),
		action("{type: permission, decision: deny, reason: " + strings.Repeat("x", skill.MaxHookReason+1) + "}"),
		action(strings.Repeat("{type: prompt, prompt: x},", skill.MaxHookActions) + "{type: prompt, prompt: x}"),
		rule(strings.Repeat("{matcher: a, hooks: []},", skill.MaxHookRules) + "{matcher: a, hooks: []}"),
	} {
		if _, _, ds, err := skill.Parse(withHooks(text)); err == nil || !has(ds, skill.RuleHooks) {
			t.Errorf("%.80s: %v %v", text, ds, err)
		}
	}
}

func TestALongTimeoutOfAHookIsCut(t *testing.T) {
	t.Parallel()
	d, _, ds, err := skill.Parse(withHooks("{PreToolUse: [{matcher: x, hooks: [{type: command, command: y, timeout: 9999}]}]}"))
	if err != nil || len(ds) != 1 || d.Hooks.PreToolUse[0].Actions[0].Timeout != skill.MaxHookTimeout {
		t.Error(d.Hooks, ds, err)
	}
}

func TestMatchersOfHooks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		matcher, tool string
		want          bool
	}{
		{"*", "Bash", true},
		{"Bash", "Bash", true},
		{"Bash", "Bash(git:*)", true},
		{"Bash(*)", "Bash(git:status)", true},
		{"Bash(git:*)", "Bash", false},
		{"Write", "Read", false},
		{"bash", "Bash", false},
		{"Bash", "BashExtra", false},
		{"Edit|Write", "Write", true},
		{"Edit|Write", "WriteMore", false},
		{"Bash(a|b)", "Bash(a|b)", true},
		{"mcp__*", "mcp__x__y", true},
	} {
		if got := (skill.HookRule{Matcher: c.matcher}).Matches(c.tool); got != c.want {
			t.Errorf("%s %s: %v", c.matcher, c.tool, got)
		}
	}
}
