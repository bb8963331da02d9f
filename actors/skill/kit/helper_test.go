package kit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/agenttest"
	"github.com/skelegent/skelegent-go/actors/skill"
	"github.com/skelegent/skelegent-go/actors/skill/kit"
	"github.com/skelegent/skelegent-go/actors/skill/runner"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// direct finds the system's programs only: a developer's own interpreters may be slow wrappers.
func direct() runner.Runner { return runner.Direct(runner.Config{Path: runner.DefaultPath}) }

// tempDir is a temporary directory by its path without links.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// put writes a file, and its directories, below dir.
func put(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// putSkill writes a skill: further lines of its front matter, and its body.
func putSkill(t testing.TB, dir, name, fields, body string) {
	t.Helper()
	if fields != "" {
		fields = strings.TrimSuffix(fields, "\n") + "\n"
	}
	put(t, dir, name+"/SKILL.md", "---\nname: "+name+"\ndescription: Does "+name+".\n"+fields+"---\n\n"+body)
}

// discovered is the skills below a directory. Any that could not be read fails the test.
func discovered(t testing.TB, dir string) *skill.Catalogue {
	t.Helper()
	found, err := skill.Discover(context.Background(), []skill.Scope{skill.Custom(dir)}, skill.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if skill.HasErrors(found.Diagnostics()) {
		t.Fatalf("a skill of the test cannot be read: %v", found.Diagnostics())
	}
	return found
}

// newKit is a kit of the skills below a directory, with a direct runner unless it has another.
func newKit(t testing.TB, dir string, cfg kit.Config) *kit.Kit {
	t.Helper()
	if cfg.Catalogue == nil && dir != "" {
		cfg.Catalogue = discovered(t, dir)
	}
	if cfg.Runner == nil {
		cfg.Runner = direct()
	}
	k, err := kit.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// newAgent is an agent with the skills.
func newAgent(t testing.TB, k *kit.Kit, cfg agent.Config) *agent.Agent {
	t.Helper()
	cfg.Limits.MaxTurns, cfg.Limits.MaxConsecutiveFailures = 50, 50
	cfg, err := k.Equip(cfg)
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// play has an agent with the skills take the steps, and returns what it was told of its calls.
func play(t testing.TB, k *kit.Kit, tools []tool.Tool, steps ...agenttest.Step) []protocol.ToolResultBlock {
	t.Helper()
	model := agenttest.NewModel(t, append(steps, agenttest.Say("done"))...)
	r := agenttest.Run(t, newAgent(t, k, agent.Config{Provider: model, Tools: tools}), protocol.Text("go"))
	if r.Err != nil || r.Text() != "done" {
		t.Fatalf("got %q, %v, %v", r.Text(), r.Output.ExitReason, r.Err)
	}
	return model.Request(-1).ToolResults()
}

// last is what the model was told of the last call.
func last(results []protocol.ToolResultBlock) string { return results[len(results)-1].Content }

type in = map[string]any

func activate(name string) agenttest.Step { return agenttest.Call(kit.ToolActivate, in{"name": name}) }

// echo is a tool that says what its input was.
func echo(name string, opts ...tool.Option) tool.Tool {
	t, err := tool.Raw(protocol.ToolMetadata{Name: name}, func(_ context.Context, input json.RawMessage) (tool.Result, error) {
		raw, err := protocol.Marshal(fmt.Sprintf("%s got %s", name, input))
		return tool.Result{Output: raw}, err
	}, opts...)
	if err != nil {
		panic(err)
	}
	return t
}

func wantContains(t testing.TB, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in %q", part, got)
		}
	}
}

func wantNone(t testing.TB, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(got, part) {
			t.Errorf("%q is in %q", part, got)
		}
	}
}
