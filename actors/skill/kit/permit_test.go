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

func TestOnlyAllowedToolsCanBeCalled(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	putSkill(t, dir, "free", "", "Free.")
	putSkill(t, dir, "bash", "allowed-tools: Bash", "Bash.")
	putSkill(t, dir, "git", "allowed-tools: Bash(git:*) work", "Git.")
	putSkill(t, dir, "reads", "allowed-tools: read_skill_resource read_*", "Reads.")
	tools := []tool.Tool{echo("shell"), echo("work"), echo("read_file")}
	for name, test := range map[string]struct {
		active []string
		call   string
		want   string // of the refusal; empty if it is made
	}{
		"none active":                    {nil, "work", ""},
		"unrestricted":                   {[]string{"free"}, "work", ""},
		"permitted by its other name":    {[]string{"bash"}, "shell", ""},
		"not permitted":                  {[]string{"bash"}, "work", "Skill 'bash' does not permit tool 'work'; allowed-tools: Bash"},
		"unrestricted lifts nothing":     {[]string{"bash", "free"}, "work", "Skill 'bash' does not permit tool 'work'"},
		"union":                          {[]string{"bash", "git"}, "work", ""},
		"not in the union":               {[]string{"git", "bash"}, "read_file", "Skills 'bash', 'git' do not permit tool 'read_file'; allowed-tools: Bash, Bash(git:*), work"},
		"a part of a tool is not all":    {[]string{"git"}, "shell", "Skill 'git' does not permit tool 'shell'"},
		"glob":                           {[]string{"reads"}, "read_file", ""},
		"no such tool":                   {[]string{"bash"}, "nothing", "does not permit tool 'nothing'"},
		"activate is always permitted":   {[]string{"bash", "git", "free"}, "shell", ""},
		"a second one widens it at once": {[]string{"bash", "reads"}, "read_file", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var steps []agenttest.Step
			for _, s := range test.active {
				steps = append(steps, activate(s))
			}
			results := play(t, newKit(t, dir, kit.Config{}), tools, append(steps, agenttest.Call(test.call, nil))...)
			for _, r := range results[:len(results)-1] {
				if r.IsError {
					t.Errorf("got %+v", r)
				}
			}
			r := results[len(results)-1]
			wantContains(t, r.Content, test.want)
			if r.IsError != (test.want != "") {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// What a skill permits to itself is asked for, and what all active ones permit together.
func TestResourcesNeedTheUnionToo(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	putSkill(t, dir, "free", "", "Free.")
	putSkill(t, dir, "bash", "allowed-tools: Bash", "Bash.")
	got := play(t, newKit(t, dir, kit.Config{}), nil, activate("free"), activate("bash"),
		agenttest.Call(kit.ToolRead, in{"skill_name": "free", "path": "SKILL.md"}))
	wantContains(t, last(got), "Skill 'bash' does not permit tool 'read_skill_resource'; allowed-tools: Bash")
}

// The calls of an answer were asked for before the model saw what the skill permits.
func TestAListCountsFromTheNextAnswerOn(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	putSkill(t, dir, "bash", "allowed-tools: Bash", "Bash.")
	got := play(t, newKit(t, dir, kit.Config{}), []tool.Tool{echo("work")}, activate("bash").And("work", nil), agenttest.Call("work", nil))
	wantContains(t, got[1].Content, "work got")
	wantContains(t, got[2].Content, "does not permit")
}

func TestNamesAreTheConfigs(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	putSkill(t, dir, "bash", "allowed-tools: Bash", "Bash.")
	k := newKit(t, dir, kit.Config{Names: map[string]string{"Bash": "terminal"}})
	got := play(t, k, []tool.Tool{echo("shell"), echo("terminal")}, activate("bash"), agenttest.Call("shell", nil), agenttest.Call("terminal", nil))
	if !got[1].IsError || got[2].IsError {
		t.Errorf("got %+v", got)
	}
}

// An activation in the messages of a skill that is not here: nobody knows what it permits.
func TestAnUnknownActiveSkillPermitsNothing(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	putSkill(t, dir, "other", "", "Other.")
	for failure, want := range map[kit.HookFailure]string{kit.FailClosed: "is not installed here", kit.FailOpen: "work got"} {
		model := agenttest.NewModel(t, agenttest.Call("work", nil), agenttest.Say("done"))
		a := newAgent(t, newKit(t, dir, kit.Config{OnHookFailure: failure}), agent.Config{Provider: model, Tools: []tool.Tool{echo("work")}})
		input := protocol.Text("go")
		input.Context = activation("gone", "<skill_content name=\"gone\">\nGone.\n</skill_content>")
		agenttest.Run(t, a, input)
		if got := last(model.Request(1).ToolResults()); !strings.Contains(got, want) {
			t.Errorf("%s: got %s", failure, got)
		}
	}
}
