package kit_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/skill"
	"github.com/skelegent/skelegent-go/actors/skill/builtin"
	"github.com/skelegent/skelegent-go/actors/skill/kit"
	"github.com/skelegent/skelegent-go/actors/skill/runner"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// research is a skill of code.
type research struct{ name string }

func (r research) Name() string      { return r.name }
func (research) Description() string { return "Web research." }
func (research) Tools() []tool.Tool  { return []tool.Tool{echo("web_search")} }
func (research) Prompt() string      { return "Search before you answer." }

func TestSkillsOfCodeAreThereFromTheBegin(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	putSkill(t, dir, "one", "", "Do one.")
	calculator, err := builtin.NewCalculator(builtin.CalculatorConfig{})
	if err != nil {
		t.Fatal(err)
	}
	k := newKit(t, dir, kit.Config{Code: []kit.Code{research{"research"}, calculator, research{"research"}}})
	model := agenttest.NewModel(t, agenttest.Call("web_search", nil).And("add", in{"a": 1, "b": 2}), agenttest.Say("done"))
	agenttest.Run(t, newAgent(t, k, agent.Config{Provider: model, System: "Be kind.", Tools: []tool.Tool{echo("work")}}), protocol.Text("go"))
	first := model.Request(0)
	want := []string{"work", "add", "subtract", "multiply", "divide", "web_search", kit.ToolActivate, kit.ToolRead, kit.ToolRun}
	if got := first.Tools(); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	system := first.System()
	if !strings.HasPrefix(system, "Be kind.\n\n"+calculator.Prompt()+"\n\nSearch before you answer.\n\nSkills give") || !strings.HasSuffix(system, "\n- one: Does one.") {
		t.Errorf("got %q", system)
	}
	got := model.Request(1).ToolResults()
	wantContains(t, got[0].Content, "web_search got")
	wantContains(t, got[1].Content, `"3"`)
	if k.Count() != 3 || !k.Has("research") || !k.Has("one") || k.Has("two") {
		t.Errorf("got %+v", k.List())
	}
}

func TestAllSkillsAreListed(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	putSkill(t, dir, "one", "", "Do one.")
	putSkill(t, dir, "zebra", "", "Do.")
	k := newKit(t, dir, kit.Config{Code: []kit.Code{research{"research"}, research{"zebra"}}})
	list := k.List()
	if len(list) != 3 || list[0].Name != "one" || list[0].Kind != kit.KindFile || list[0].Location != filepath.Join(dir, "one", skill.FileName) ||
		list[1].Name != "research" || list[1].Kind != kit.KindCode || !list[1].HasPrompt || !slices.Equal(list[1].Tools, []string{"web_search"}) {
		t.Errorf("got %+v", list)
	}
	if list[2].Kind != kit.KindCode || len(k.Diagnostics()) != 1 { // that of the program counts
		t.Errorf("got %+v, %v", list[2], k.Diagnostics())
	}
	if _, ok := k.Info("nothing"); ok {
		t.Error("there is nothing")
	}
	k.List()[1].Tools[0] = "changed"
	if info, _ := k.Info("research"); info.Tools[0] != "web_search" {
		t.Error("it was changed")
	}
}

// What is discovered later is in later runs, with one catalogue, and nothing of conversations changes.
func TestDiscoveringAgainAddsSkills(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	k, err := kit.New(kit.Config{Scopes: []skill.Scope{skill.Project(dir), skill.Custom(filepath.Join(dir, "more"))}, Runner: direct()})
	if err != nil {
		t.Fatal(err)
	}
	model := agenttest.NewModel(t, agenttest.Say("done").Times(4))
	a := newAgent(t, k, agent.Config{Provider: model, System: "Be kind."})
	discover := func(want ...string) agenttest.Request {
		t.Helper()
		if got, err := k.Discover(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %v, %v", got, err)
		}
		agenttest.Run(t, a, protocol.Text("go"))
		return model.Request(-1)
	}
	if r := discover(); len(r.Tools()) != 0 || r.System() != "Be kind." {
		t.Errorf("got %v, %q", r.Tools(), r.System())
	}
	putSkill(t, filepath.Join(dir, "skills"), "b", "", "B.")
	if r := discover("b"); len(r.Tools()) != 3 {
		t.Errorf("got %v", r.Tools())
	}
	putSkill(t, filepath.Join(dir, "more"), "a", "", "A.")
	putSkill(t, filepath.Join(dir, "more"), "b", "", "Another B.")
	r := discover("a")
	if strings.Count(r.System(), "Skills give specialised") != 1 || strings.Count(r.System(), "\n- b: ") != 1 || !strings.Contains(r.System(), "\n- a: ") {
		t.Errorf("got %q", r.System())
	}
	wantContains(t, string(r.InferRequest.Tools[0].InputSchema), `"enum":["a","b"]`)
	if len(k.Diagnostics()) == 0 {
		t.Error("nothing says that there are two")
	}
	discover()
}

func TestWhatIsActiveStaysSoWhenSkillsAreDiscovered(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	putSkill(t, dir, "one", "", "Do one.")
	k, err := kit.New(kit.Config{Scopes: []skill.Scope{skill.Custom(dir)}, Runner: direct()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Discover(t.Context()); err != nil {
		t.Fatal(err)
	}
	more := tool.Func("discover", "", func(ctx context.Context, _ struct{}) (string, error) {
		putSkill(t, dir, "two", "", "Do two.")
		names, err := k.Discover(ctx)
		return strings.Join(names, ","), err
	})
	got := play(t, k, []tool.Tool{more}, activate("one"), agenttest.Call("discover", nil), activate("one"), activate("two"))
	wantContains(t, got[1].Content, "two")
	wantContains(t, got[2].Content, "already activated")
	wantContains(t, got[3].Content, "Do two.")
}

func TestAToolOfTheSameNameIsRefused(t *testing.T) {
	t.Parallel()
	k := newKit(t, "", kit.Config{Code: []kit.Code{research{"research"}}})
	for _, name := range []string{"web_search", kit.ToolActivate, kit.ToolRead, kit.ToolRun} {
		if _, err := k.Equip(agent.Config{Tools: []tool.Tool{echo(name)}}); protocol.AsError(err).Code != protocol.CodeInvalidInput {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := newKit(t, "", kit.Config{Code: []kit.Code{research{"a"}, research{"b"}}}).Equip(agent.Config{}); err == nil {
		t.Error("two skills have one tool")
	}
}

func TestARegistryIsKept(t *testing.T) {
	t.Parallel()
	reg, err := tool.NewRegistry(echo("work"))
	if err != nil {
		t.Fatal(err)
	}
	k := oneSkill(t, kit.Config{})
	for range 2 { // two agents may have it
		cfg, err := k.Equip(agent.Config{Registry: reg})
		if err != nil || cfg.Registry != reg || reg.Len() != 4 {
			t.Errorf("got %v, %v", reg.Names(), err)
		}
	}
}

func TestConfigsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]kit.Config{
		"limit": {Limits: kit.Limits{Content: -1}}, "failure": {OnHookFailure: "perhaps"}, "no skill": {Code: []kit.Code{nil}}, "no name": {Code: []kit.Code{research{""}}},
	} {
		if _, err := kit.New(cfg); protocol.AsError(err).Code != protocol.CodeInvalidInput {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if k, err := kit.New(kit.Config{}); err != nil || k.Count() != 0 {
		t.Errorf("got %v", err)
	}
}

func TestTheSpecIsTheConfigs(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	putSkill(t, dir, "one", "", "Now: !`echo $EXTRA`")
	k := newKit(t, dir, kit.Config{
		Session: func(context.Context) string { return "mine" },
		Spec:    func(d skill.Descriptor, s *runner.Spec) { s.Env["EXTRA"] = d.Name + " of " + s.SessionID },
	})
	wantContains(t, last(play(t, k, nil, activate("one"))), "Now: one of mine")
}

// Nothing that is said goes to the log.
func TestTheLogHasNoContents(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.DebugLevel)
	dir := tempDir(t)
	putSkill(t, dir, "guard", "hooks:\n"+hook("PreToolUse", "*", command("echo topsecret; echo topsecret >&2; exit 1")), "topsecret !`echo topsecret`")
	k := newKit(t, dir, kit.Config{Logger: zap.New(core), OnHookFailure: kit.FailOpen})
	if _, err := k.Discover(t.Context()); err != nil {
		t.Fatal(err)
	}
	play(t, k, []tool.Tool{echo("work")}, agenttest.Call(kit.ToolActivate, in{"name": "guard", "arguments": "topsecret"}), agenttest.Call("work", in{"a": "topsecret"}))
	failed := false
	for _, e := range logs.All() {
		failed = failed || e.Message == "a hook failed"
		for _, v := range e.ContextMap() {
			if s, ok := v.(string); ok && strings.Contains(s+e.Message, "topsecret") {
				t.Errorf("got %v", e)
			}
		}
	}
	if !failed {
		t.Error("nothing says that a hook failed")
	}
}
