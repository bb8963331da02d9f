package manifest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/protocol"
)

const reviewSkill = `---
name: review
description: Reviews code. Use it when somebody asks for a review.
allowed-tools: read_skill_resource run_skill_script clock
hooks:
  PreToolUse:
    - matcher: clock
      hooks: [{type: permission, decision: deny, reason: no clocks here}]
---
Read references/list.md, then run scripts/count.sh for ${1}.
`

// An agent finds a skill in the catalogue, activates it, reads a reference, runs its script, and is stopped by its hook and by its
// list of tools; in the next turn of the session all of that still holds.
func TestSkillsOfAnAgent(t *testing.T) {
	t.Parallel()
	l := newLLM(t, func(_ *llm, c chat) reply {
		if c.user() == "again" {
			if c.sinceUser() == 0 {
				return use("add", `{"a":"1","b":"2"}`)
			}
			return say("second")
		}
		switch c.number {
		case 1:
			return use("add", `{"a":"1","b":"2"}`)
		case 2:
			return use("activate_skill", `{"name":"review","arguments":"main.go"}`)
		case 3:
			return use("read_skill_resource", `{"skill_name":"review","path":"references/list.md"}`)
		case 4:
			return use("run_skill_script", `{"skill_name":"review","script":"scripts/count.sh","args":"'a b' c"}`)
		case 5:
			return use("clock", `{}`)
		case 6:
			return use("add", `{"a":"1","b":"2"}`)
		}
		return say("first")
	})
	dir := filepath.Join(t.TempDir(), "skills")
	for name, text := range map[string]string{
		"review/SKILL.md": reviewSkill, "review/references/list.md": "Look for leaks.", "review/scripts/count.sh": "echo $# arguments",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, dir, name, text)
	}
	conn := bed(t, provider+"  a: {provider: main, model: m, tools: [clock], skills: ["+dir+", calculator], skill_policy: {sandbox: direct}, "+
		"compaction: {strategy: sliding_window, max_messages: 8, keep: 2}}\n", bedConfig{model: l})
	in := protocol.Text("go").WithSession("s1")
	if got := textOf(t, dispatch(t, conn, "a", in)); got != "first" {
		t.Fatal(got)
	}
	reqs := l.requests()
	if s := reqs[0].system(); !strings.Contains(s, "- review: Reviews code.") || strings.Contains(s, "Read references") {
		t.Errorf("the catalogue: %s", s)
	}
	for i, want := range []string{
		1: `"3"`, 2: "Read references/list.md, then run scripts/count.sh for main.go.", 3: "Look for leaks.", 4: "2 arguments",
		5: "no clocks here", 6: "add",
	} {
		if got := reqs[i].last().Content; !strings.Contains(got, want) {
			t.Errorf("result %d: %s", i, got)
		}
	}
	shown := func(n int, text string) bool {
		return slices.ContainsFunc(reqs[n].Messages, func(m chatMessage) bool { return strings.Contains(m.Content, text) })
	}
	if shown(6, "Look for leaks.") || !shown(6, "Read references/list.md, then run") {
		t.Errorf("behind the compaction: %+v", reqs[6].Messages)
	}
	if got := reqs[6].last().Content; strings.Contains(got, `"3"`) {
		t.Errorf("a tool that the skill does not have: %s", got)
	}
	if got := textOf(t, dispatch(t, conn, "a", protocol.Text("again").WithSession("s1"))); got != "second" {
		t.Fatal(got)
	}
	reqs = l.requests()
	if got := reqs[len(reqs)-1].last().Content; strings.Contains(got, `"3"`) {
		t.Errorf("in the next turn: %s", got)
	}
	dispatch(t, conn, "a", protocol.Text("again").WithSession("s2"))
	reqs = l.requests()
	if got := reqs[len(reqs)-1].last().Content; !strings.Contains(got, `"3"`) {
		t.Errorf("in another session: %s", got)
	}
}

// The skills of a project that nobody trusts are listed, and do nothing.
func TestSkillsOfAProject(t *testing.T) {
	t.Parallel()
	l := newLLM(t, steps(use("activate_skill", `{"name":"review"}`), say("done")))
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "skills", "review"), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, home, "skills/review/SKILL.md", reviewSkill)
	writeFile(t, home, "key", apiKey)
	conn := bedIn(t, home, provider+"  a: {provider: main, model: m, skills: [project]}\n", bedConfig{model: l})
	dispatch(t, conn, "a", protocol.Text("go"))
	if s := l.requests()[0].system(); !strings.Contains(s, "- review: ") {
		t.Errorf("the catalogue: %s", s)
	}
	if got := l.requests()[1].last().Content; !strings.Contains(got, "not trusted") || strings.Contains(got, "Read references") {
		t.Errorf("told %s", got)
	}
}

// Files, the shell and the weather are skills of the program.
func TestSkillsOfTheProgram(t *testing.T) {
	t.Parallel()
	l := newLLM(t, steps(use("write_file", `{"path":"a.txt","content":"hello"}`), use("read_file", `{"path":"a.txt"}`), use("shell", `{"command":"cat a.txt"}`), say("done")))
	conn := bed(t, provider+`
  a: {provider: main, model: m, skills: [calculator, weather, {filesystem: .}, {shell: ., allow: ["cat a.txt"]}], skill_policy: {sandbox: direct}}
`, bedConfig{model: l})
	if got := textOf(t, dispatch(t, conn, "a", protocol.Text("go"))); got != "done" {
		t.Fatal(got)
	}
	reqs := l.requests()
	var read struct{ Text string }
	if err := json.Unmarshal([]byte(reqs[2].last().Content), &read); err != nil || read.Text != "hello" {
		t.Errorf("read %s", reqs[2].last().Content)
	}
	if got := reqs[3].last().Content; !strings.Contains(got, "hello") {
		t.Errorf("the shell: %s", got)
	}
	for _, name := range []string{"add", "get_weather", "list_dir"} {
		if !strings.Contains(strings.Join(reqs[0].toolNames(), ","), name) {
			t.Errorf("tools %v", reqs[0].toolNames())
		}
	}
}

func TestBadSkills(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, skills, want string }{
		{"unknown", "[cooking]", `4: operators.a.skills: there is no skill "cooking" of the program`},
		{"files of nowhere", "[filesystem]", "4: operators.a.skills: filesystem needs a directory: {filesystem: ./data}"},
		{"nothing", "[{}]", "4: operators.a.skills: an entry is a name, or has one of dir, filesystem and shell"},
		{"two at once", "[{dir: x, shell: y}]", "4: operators.a.skills: an entry is a name, or has one of dir, filesystem and shell"},
		{"allow of files", "[{filesystem: x, allow: [ls]}]", "4: operators.a.skills: allow and network are for shell"},
		{"unknown key", "[{url: x}]", `4: unknown key "url"`},
		{"unknown sandbox", "[./x], skill_policy: {sandbox: docker}", `4: operators.a.skill_policy.sandbox: sandbox "docker" is not one of auto, direct, bwrap`},
		{"unknown failure", "[./x], skill_policy: {hooks: maybe}", `4: operators.a.skill_policy.hooks: hooks "maybe" is not one of closed, open`},
		{"policy of nothing", "[], skill_policy: {hooks: open}", "4: operators.a.skill_policy: there are no skills"},
		{"of a chain", "[./x], kind: chain, links: [{id: a}]", "4: operators.a.provider: is for the kinds"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			refused(t, "providers:\n  p: {kind: openai}\noperators:\n  a: {provider: p, skills: "+tc.skills+"}\n", tc.want)
		})
	}
}
