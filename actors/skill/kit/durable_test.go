package kit_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/skill/kit"
	"github.com/skelegent/skelegent-go/actors/skill/runner"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/state/memory"
)

// full is a directory with a skill that has all there is.
func full(t *testing.T) string {
	t.Helper()
	dir := tempDir(t)
	putSkill(t, dir, "full", "depends_on: base\nallowed-tools: read_skill_resource run_skill_script work pay\nhooks:\n"+
		hook("PreToolUse", "work", command(`grep -q '"a":1' && { echo 'not one' >&2; exit 2; }; printf '{"updatedInput":{"a":3}}'`), prompt("Careful."))+
		hook("PostToolUse", "*", command("cat >/dev/null"), prompt("Look.")), "Now: !`echo fresh` in ${SKILL_DIR}")
	putSkill(t, dir, "base", "", "Base.")
	put(t, dir, "full/list.md", "- look")
	put(t, dir, "full/run.sh", "echo ran $1")
	return dir
}

func fullScript(t testing.TB) *agenttest.Model {
	t.Helper()
	return agenttest.NewModel(t,
		activate("full"),
		agenttest.Call(kit.ToolRead, in{"skill_name": "full", "path": "list.md"}).And("work", in{"a": 1}).And("work", in{"a": 2}),
		agenttest.Call(kit.ToolRun, in{"skill_name": "full", "script": "run.sh", "args": "it"}).And("other", nil),
		agenttest.Call("pay", nil),
		agenttest.Say("done"))
}

// Wherever its process ends, the run activates, reads, runs a script, is blocked and changed by hooks, and waits for a person, as
// if it had not.
func TestARunWithSkillsSurvivesKills(t *testing.T) {
	t.Parallel()
	dir := full(t)
	model := fullScript(t)
	op := func() protocol.Operator {
		k := newKit(t, dir, kit.Config{State: memory.New(memory.Config{})})
		return newAgent(t, k, agent.Config{
			Provider: model, Tools: agenttest.Watch(echo("work"), echo("other"), echo("pay", tool.RequiresApproval())),
		})
	}
	r := agenttest.SurvivesKills(t, op, protocol.Text("go"), agenttest.WithSession("s1"), agenttest.WithSignal("approve", nil),
		agenttest.WithUnknown(func(tb testing.TB, r agenttest.Result) {
			tb.Helper()
			if r.Text() != "done" {
				tb.Errorf("got %q, %v", r.Text(), r.Err)
			}
		}))
	if r.Text() != "done" {
		t.Fatalf("got %q, %v", r.Text(), r.Err)
	}
	got := model.Request(-1).ToolResults()
	for i, want := range []string{
		"Now: fresh in " + filepath.Join(dir, "full"), "- look", "A hook of the skill 'full' blocked it: not one", `work got {"a":3}`, "ran it",
		"Skill 'full' does not permit tool 'other'", "pay got",
	} {
		wantContains(t, got[i].Content, want)
	}
}

// counting is a runner that counts what it runs.
type counting struct {
	runner.Runner
	log string
}

func (c counting) Run(ctx context.Context, s runner.Spec) (runner.Result, error) {
	f, err := os.OpenFile(c.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(strings.ReplaceAll(s.Command[len(s.Command)-1], "\n", " ") + "\n")
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return runner.Result{}, err
	}
	return c.Runner.Run(ctx, s)
}

// The run is suspended for the approval, and goes on from the top: what hooks said is in the log.
func TestHooksAreAskedOnce(t *testing.T) {
	t.Parallel()
	dir := full(t)
	log := filepath.Join(dir, "log")
	model := fullScript(t)
	op := func() protocol.Operator {
		k := newKit(t, dir, kit.Config{Runner: counting{direct(), log}})
		return newAgent(t, k, agent.Config{Provider: model, Tools: []tool.Tool{echo("work"), echo("other"), echo("pay", tool.RequiresApproval())}})
	}
	agenttest.Durable(t, op, protocol.Text("go"), agenttest.WithSignal("approve", nil))
	raw, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	// One command of the body, two hooks before work, four behind calls that were made, one script.
	if n := strings.Count(string(raw), "\n"); n != 8 {
		t.Errorf("%d programs: %s", n, raw)
	}
}

// A node where the skill is another one, or is gone, goes on as the run began.
func TestARunGoesOnWhereTheSkillIsGone(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(t *testing.T, dir string){
		"gone": func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "guard")); err != nil {
				t.Fatal(err)
			}
		},
		"other": func(t *testing.T, dir string) {
			putSkill(t, dir, "guard", "allowed-tools: nothing", "Guard no more.")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t)
			putSkill(t, dir, "guard", "allowed-tools: pay work\nhooks:\n"+hook("PreToolUse", "work", permission("deny", "never")), "Guard.")
			putSkill(t, dir, "other", "", "Other.")
			model := agenttest.NewModel(t, activate("guard"), agenttest.Call("work", nil).And("pay", nil), agenttest.Call("work", nil).And("late", nil), agenttest.Say("done"))
			began := 0
			op := func() protocol.Operator {
				if began++; began == 2 {
					then(t, dir)
				}
				return newAgent(t, newKit(t, dir, kit.Config{}),
					agent.Config{Provider: model, Tools: []tool.Tool{echo("work"), echo("late"), echo("pay", tool.RequiresApproval())}})
			}
			r := agenttest.Durable(t, op, protocol.Text("go"), agenttest.WithSignal("approve", nil))
			if r.Text() != "done" || began < 2 {
				t.Fatalf("got %q, %v", r.Text(), r.Err)
			}
			got := model.Request(-1).ToolResults()
			wantContains(t, got[1].Content, "blocked it: never")
			wantContains(t, got[2].Content, "pay got")
			wantContains(t, got[3].Content, "blocked it: never")
			wantContains(t, got[4].Content, "does not permit tool 'late'; allowed-tools: pay, work")
		})
	}
}
