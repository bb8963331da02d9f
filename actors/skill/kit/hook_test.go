package kit_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/skill/kit"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// hook is a rule of an event for all tools, with actions as YAML in one line each.
func hook(event, matcher string, actions ...string) string {
	text := "  " + event + ":\n    - matcher: " + quote(matcher) + "\n      hooks:\n"
	for _, a := range actions {
		text += "        - " + a + "\n"
	}
	return text
}

func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func command(text string) string { return "{type: command, command: " + quote(text) + "}" }
func prompt(text string) string  { return "{type: prompt, prompt: " + quote(text) + "}" }
func permission(decision, reason string) string {
	if reason == "" {
		return "{type: permission, decision: " + decision + "}"
	}
	return "{type: permission, decision: " + decision + ", reason: " + quote(reason) + "}"
}

// print is a hook that writes JSON.
func print(json string) string { return command("printf '%s' '" + json + "'") }

// hooked is a kit of one skill, guard, with hooks that count from the begin.
func hooked(t *testing.T, cfg kit.Config, hooks ...string) *kit.Kit {
	t.Helper()
	dir := tempDir(t)
	putSkill(t, dir, "guard", "hooks:\n"+strings.Join(hooks, ""), "Guard.")
	cfg.HooksAtDiscovery = true
	return newKit(t, dir, cfg)
}

func TestWhatAPreHookSays(t *testing.T) {
	t.Parallel()
	input := in{"command": "git status"}
	for name, test := range map[string]struct {
		action string
		open   string // what is told with FailOpen; as want if empty
		want   string
		fails  bool
	}{
		"nothing":                  {command("true"), "", `work got {"command":"git status"}`, false},
		"no JSON":                  {command("echo all is well"), "", "work got", false},
		"block":                    {print(`{"decision":"block","reason":"unsafe"}`), "", "The call was not made. A hook of the skill 'guard' blocked it: unsafe", true},
		"block without a reason":   {print(`{"decision":"block"}`), "", "Hook blocked the call", true},
		"allow, exit 1":            {command(`printf '{"decision":"allow"}'; exit 1`), "", "work got", false},
		"block, exit 1":            {command(`printf '{"decision":"block","reason":"no"}'; exit 1`), "", "blocked it: no", true},
		"exit 1":                   {command("exit 1"), "work got", "blocked it: Hook exited with code 1", true},
		"exit 2":                   {command("echo 'because of' this >&2; exit 2"), "", "blocked it: because of this", true},
		"exit 2, nothing said":     {command("exit 2"), "", "blocked it: Hook exited with code 2", true},
		"exit 2 is no allow":       {command(`printf '{"decision":"allow"}'; exit 2`), "", "Hook exited with code 2", true},
		"updated input":            {print(`{"updatedInput":{"command":"git status --short"}}`), "", `work got {"command":"git status --short"}`, false},
		"updated input, no object": {print(`{"updatedInput":"rm"}`), "work got", "Hook wrote an updatedInput that is no object", true},
		"updated input, null":      {print(`{"updatedInput":null}`), "", `work got {"command":"git status"}`, false},
		"permission deny":          {print(`{"permission_decision":"deny","permission_reason":"never"}`), "", "blocked it: never", true},
		"permission deny, bare":    {print(`{"permission_decision":"deny"}`), "", "Hook denied", true},
		"permission allow":         {print(`{"permission_decision":"allow"}`), "", "work got", false},
		"unknown fields":           {print(`{"systemMessage":"x","hookSpecificOutput":{"a":[1]},"decision":"allow"}`), "", "work got", false},
		"unknown mode":             {print(`{"permission_mode":"yolo"}`), "", "work got", false},
		"unknown decision":         {print(`{"decision":"perhaps"}`), "work got", "a decision that there is not", true},
		"unknown permission":       {print(`{"permission_decision":"perhaps"}`), "work got", "a permission_decision that there is not", true},
		"broken JSON":              {print(`{"decision":"block"`), "work got", "an answer that cannot be read", true},
		"wrong type":               {print(`{"decision":["block"]}`), "work got", "an answer that cannot be read", true},
		"an array is no answer":    {print(`[1]`), "", "work got", false},
		"action deny":              {permission("deny", ""), "", "blocked it: Hook denied", true},
		"action deny, reason":      {permission("deny", "not here"), "", "blocked it: not here", true},
		"action allow":             {permission("allow", ""), "", "work got", false},
		"hangs":                    {"{type: command, command: \"sleep 30 & sleep 30\", timeout: 1}", "work got", "Hook timed out after 1s", true},
		"endless output":           {command("yes"), "work got", "Hook was killed for its output", true},
		"more than is kept":        {command(`printf '{"reason":"'; head -c 20000 /dev/zero | tr '\0' x; printf '"}'`), "work got", "an answer that cannot be read", true},
		"reads nothing":            {command("exec <&-; true"), "", "work got", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, failure := range []kit.HookFailure{"", kit.FailOpen} {
				want, fails := test.want, test.fails
				if failure == kit.FailOpen && test.open != "" {
					want, fails = test.open, false
				}
				k := hooked(t, kit.Config{OnHookFailure: failure, Limits: kit.Limits{Output: 4096}}, hook("PreToolUse", "work", test.action))
				got := play(t, k, []tool.Tool{echo("work")}, agenttest.Call("work", input))
				wantContains(t, got[0].Content, want)
				if got[0].IsError != fails {
					t.Errorf("%s: got %+v", failure, got[0])
				}
			}
		})
	}
}

func TestWhatAPostHookSays(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		action, want string
		fails        bool
	}{
		"nothing":                  {command("true"), "work got {}", false},
		"block":                    {print(`{"decision":"block","reason":"it has a key"}`), "its result is withheld. A hook of the skill 'guard' withheld it: it has a key", true},
		"fails":                    {command("exit 1"), "Hook exited with code 1", true},
		"updated input is nothing": {print(`{"updatedInput":{"a":1}}`), "work got {}", false},
		"sees the output":          {command(`grep -q '"tool_output":"work got {}"' && exit 2`), "Hook exited with code 2", true},
		"ask is nothing":           {permission("ask", ""), "work got {}", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := play(t, hooked(t, kit.Config{}, hook("PostToolUse", "*", test.action)), []tool.Tool{echo("work")}, agenttest.Call("work", nil))
			wantContains(t, got[0].Content, test.want)
			if got[0].IsError != test.fails {
				t.Errorf("got %+v", got[0])
			}
			if test.fails {
				wantNone(t, got[0].Content, "work got")
			}
		})
	}
}

func TestWhatAHookIsTold(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	putSkill(t, dir, "guard", "hooks:\n"+
		hook("PreToolUse", "*", command("cat >> ../log; pwd >> ../log; echo $SESSION_ID ${SKILL_DIR} ${CLAUDE_PLUGIN_ROOT} $HOME >> ../log"))+
		hook("PostToolUse", "*", command("cat >> ../log")), "Guard.")
	k := newKit(t, dir, kit.Config{HooksAtDiscovery: true})
	model := agenttest.NewModel(t, agenttest.Call("shell", in{"command": "git status"}), agenttest.Call("nothing", nil), agenttest.Say("done"))
	agenttest.Run(t, newAgent(t, k, agent.Config{Provider: model, Tools: []tool.Tool{echo("shell")}}), protocol.Text("go"), agenttest.WithSession("sess-123"))
	raw, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(raw), "\n")
	guard := filepath.Join(dir, "guard")
	want := []string{
		`{"hook_event_name":"PreToolUse","tool_name":"shell","tool_input":{"command":"git status"},"tool_output":null}`,
		guard, "sess-123 " + guard + " " + guard,
		`{"hook_event_name":"PostToolUse","tool_name":"shell","tool_input":{"command":"git status"},"tool_output":"shell got {\"command\":\"git status\"}"}`,
		`{"hook_event_name":"PreToolUse","tool_name":"nothing","tool_input":{},"tool_output":null}`,
	}
	for i, w := range want {
		if i >= len(lines) || lines[i] != w {
			t.Fatalf("line %d: got %q, want %q", i, lines, w)
		}
	}
	wantContains(t, string(raw), `"tool_error":true}`)
}

func TestMatchers(t *testing.T) {
	t.Parallel()
	for matcher, want := range map[string]bool{
		"*": true, "write_file": true, "Write": true, "Wri*": true, "write_*": true, "Read|Write": true, "[Ww]rite_file": true,
		"Read": false, "write": false, "Write(src)": false, "Writ": false, "WRITE_FILE": false,
	} {
		t.Run(matcher, func(t *testing.T) {
			t.Parallel()
			k := hooked(t, kit.Config{}, hook("PreToolUse", matcher, permission("deny", "")))
			got := play(t, k, []tool.Tool{echo("write_file")}, agenttest.Call("write_file", nil))
			if got[0].IsError != want {
				t.Errorf("got %+v", got[0])
			}
		})
	}
}

// Skills by name, rules and actions as in the file; what ends it ends it for all.
func TestHooksComeInOrder(t *testing.T) {
	t.Parallel()
	note := func(what string) string { return command("echo " + what + " >> ../log") }
	for name, test := range map[string]struct{ middle, want string }{
		"all":                  {note("m1-2"), "a1 a2 m1-1 m1-2 m2 z"},
		"block ends it":        {print(`{"decision":"block"}`), "a1 a2 m1-1"},
		"exit 2 ends it":       {command("exit 2"), "a1 a2 m1-1"},
		"deny ends it":         {permission("deny", ""), "a1 a2 m1-1"},
		"continue ends it":     {print(`{"continue":false}`), "a1 a2 m1-1"},
		"other continue":       {print(`{"continue":"false"}`), "a1 a2 m1-1 m2 z"},
		"allow goes on":        {permission("allow", ""), "a1 a2 m1-1 m2 z"},
		"prompt goes on":       {prompt("hm"), "a1 a2 m1-1 m2 z"},
		"other tools are none": {note("x") + "\n    - matcher: other\n      hooks: [" + note("other") + "]", "a1 a2 m1-1 x m2 z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t)
			middle := test.middle
			putSkill(t, dir, "z-skill", "hooks:\n"+hook("PreToolUse", "*", note("z")), "")
			putSkill(t, dir, "a-skill", "hooks:\n"+hook("PreToolUse", "*", note("a1"), note("a2")), "")
			putSkill(t, dir, "m-skill", "hooks:\n"+hook("PreToolUse", "work", note("m1-1"), middle)+
				"    - matcher: \"*\"\n      hooks:\n        - "+note("m2")+"\n", "")
			play(t, newKit(t, dir, kit.Config{HooksAtDiscovery: true}), []tool.Tool{echo("work")}, agenttest.Call("work", nil))
			raw, err := os.ReadFile(filepath.Join(dir, "log"))
			if got := strings.Join(strings.Fields(string(raw)), " "); got != test.want || err != nil {
				t.Errorf("got %q, want %q, %v", got, test.want, err)
			}
		})
	}
}

func TestLaterHooksSeeTheChangedInput(t *testing.T) {
	t.Parallel()
	k := hooked(t, kit.Config{}, hook("PreToolUse", "*", print(`{"updatedInput":{"a":1}}`),
		command(`grep -q '"tool_input":{"a":1}' && printf '{"updatedInput":{"a":2}}'`), prompt("x")))
	wantContains(t, last(play(t, k, []tool.Tool{echo("work")}, agenttest.Call("work", in{"a": 0}))), `work got {"a":2}`)
}

func TestAChangedInputMustFitTheTool(t *testing.T) {
	t.Parallel()
	add := tool.Func("sum", "", func(_ context.Context, in struct {
		A int `json:"a"`
	},
	) (int, error) {
		return in.A + 1, nil
	})
	k := hooked(t, kit.Config{}, hook("PreToolUse", "sum", print(`{"updatedInput":{"a":"x","b":1}}`)))
	got := play(t, k, []tool.Tool{add}, agenttest.Call("sum", in{"a": 1}))
	if !got[0].IsError || !strings.Contains(got[0].Content, "rejected the input") {
		t.Errorf("got %+v", got[0])
	}
}

func TestPromptsComeBehindTheResults(t *testing.T) {
	t.Parallel()
	k := hooked(t, kit.Config{}, hook("PreToolUse", "work", prompt("Verify </skill_hook> safety."))+
		hook("PostToolUse", "*", prompt("Check the output.")))
	model := agenttest.NewModel(t, agenttest.Call("work", nil).And("work", nil).And("other", nil), agenttest.Say("done"))
	agenttest.Run(t, newAgent(t, k, agent.Config{Provider: model, Tools: []tool.Tool{echo("work"), echo("other")}}), protocol.Text("go"))
	got := model.Request(1).Conversation()
	want := []string{
		"user: go", "call call_1: work {}", "call call_2: work {}", "call call_3: other {}",
		"result call_1: work got {}", "result call_2: work got {}", "result call_3: other got {}",
		"user: <skill_hook skill=\"guard\" event=\"PreToolUse\" tool=\"work\">\nVerify &lt;/skill_hook> safety.\n</skill_hook>",
		"user: <skill_hook skill=\"guard\" event=\"PostToolUse\" tool=\"work\">\nCheck the output.\n</skill_hook>",
		"user: <skill_hook skill=\"guard\" event=\"PostToolUse\" tool=\"other\">\nCheck the output.\n</skill_hook>",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %s", strings.Join(got, "\n"))
	}
}

func TestHooksCountFromTheActivationOn(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	putSkill(t, dir, "guard", "hooks:\n"+hook("PreToolUse", "work", permission("deny", "")), "Guard.")
	k := newKit(t, dir, kit.Config{})
	got := play(t, k, []tool.Tool{echo("work")}, agenttest.Call("work", nil), activate("guard").And("work", nil), agenttest.Call("work", nil))
	if got[0].IsError || got[1].IsError || got[2].IsError || !got[3].IsError {
		t.Errorf("got %+v", got)
	}
}

// What a hook withholds was not shown, so the skill is not active.
func TestAnActivationThatIsWithheldIsNone(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	putSkill(t, dir, "guard", "hooks:\n"+hook("PostToolUse", "activate_skill", permission("deny", "")), "Guard.")
	putSkill(t, dir, "one", "", "One.")
	got := play(t, newKit(t, dir, kit.Config{HooksAtDiscovery: true}), nil, activate("one"),
		agenttest.Call(kit.ToolRead, in{"skill_name": "one", "path": "SKILL.md"}))
	wantContains(t, got[1].Content, "not activated")
}

func TestHooksAreNotAskedBehindWhatWasNotMade(t *testing.T) {
	t.Parallel()
	k := hooked(t, kit.Config{}, hook("PreToolUse", "*", permission("deny", ""))+hook("PostToolUse", "*", prompt("x")))
	model := agenttest.NewModel(t, agenttest.Call("work", nil), agenttest.Say("done"))
	agenttest.Run(t, newAgent(t, k, agent.Config{Provider: model, Tools: []tool.Tool{echo("work")}}), protocol.Text("go"))
	if got := model.Request(1).Conversation(); len(got) != 3 {
		t.Errorf("got %q", got)
	}
}

func TestAHookWithoutARunnerHasFailed(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	putSkill(t, dir, "guard", "hooks:\n"+hook("PreToolUse", "*", command("true")), "")
	for _, failure := range []kit.HookFailure{kit.FailClosed, kit.FailOpen} {
		k, err := kit.New(kit.Config{Catalogue: discovered(t, dir), HooksAtDiscovery: true, OnHookFailure: failure})
		if err != nil {
			t.Fatal(err)
		}
		if got := play(t, k, []tool.Tool{echo("work")}, agenttest.Call("work", nil)); got[0].IsError != (failure == kit.FailClosed) {
			t.Errorf("%s: got %+v", failure, got[0])
		}
	}
}

func TestASandboxThatFailsFailsTheHook(t *testing.T) {
	t.Parallel()
	k := hooked(t, kit.Config{Runner: broken{direct()}}, hook("PreToolUse", "*", command("true")))
	wantContains(t, last(play(t, k, []tool.Tool{echo("work")}, agenttest.Call("work", nil))), "Hook could not be run: no name spaces")
}

// The hooks of one call have a limit together.
func TestHooksOfACallHaveATimeTogether(t *testing.T) {
	t.Parallel()
	slow := "{type: command, command: \"sleep 30\", timeout: 30}"
	k := hooked(t, kit.Config{OnHookFailure: kit.FailOpen, Limits: kit.Limits{Hooks: 300 * time.Millisecond}},
		hook("PreToolUse", "*", slow, slow, slow, slow))
	start := time.Now()
	play(t, k, []tool.Tool{echo("work")}, agenttest.Call("work", nil))
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("took %v", d)
	}
}
