package builtin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/skill/builtin"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestSkillsHaveTheToolsThatAreKnownOfThem(t *testing.T) {
	t.Parallel()
	deps := builtin.Deps{
		FileSystem: builtin.FileSystemConfig{Root: t.TempDir()}, Shell: builtin.ShellConfig{Runner: &recorder{}, Dir: t.TempDir()},
	}
	all, err := builtin.All(deps)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	seen := map[string]bool{}
	for _, c := range all {
		if c.Description() == "" || c.Prompt() == "" {
			t.Errorf("%s does not say what it is for", c.Name())
		}
		again := c.Tools()
		for i, x := range c.Tools() {
			m := x.Metadata()
			if err := tool.CheckName(m.Name); err != nil || seen[m.Name] || m.Description == "" || x == again[i] {
				t.Errorf("tool %s: %v", m.Name, err)
			}
			if err := tool.CheckSchema(m.InputSchema); err != nil || !json.Valid(m.InputSchema) {
				t.Errorf("tool %s: %v", m.Name, err)
			}
			seen[m.Name] = true
			got[c.Name()] = append(got[c.Name()], m.Name)
		}
	}
	want := map[string][]string{
		"calculator": {"add", "subtract", "multiply", "divide"}, "filesystem": {"read_file", "write_file", "list_dir"},
		"shell": {"shell"}, "weather": {"get_weather"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestByNameFindsEachSkill(t *testing.T) {
	t.Parallel()
	deps := builtin.Deps{
		FileSystem: builtin.FileSystemConfig{Root: t.TempDir()}, Shell: builtin.ShellConfig{Runner: &recorder{}, Dir: t.TempDir()},
	}
	for _, name := range builtin.Names() {
		if c, err := builtin.ByName(name, deps); err != nil || c.Name() != name {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	_, err := builtin.ByName("cooking", deps)
	if protocol.CodeOf(err) != protocol.CodeNotFound || !strings.Contains(err.Error(), "[calculator filesystem shell weather]") {
		t.Error(err)
	}
	for _, name := range []string{builtin.NameFileSystem, builtin.NameShell} {
		c, err := builtin.ByName(name, builtin.Deps{})
		wantKind(t, err, builtin.KindConfig)
		if c != nil {
			t.Errorf("%s: a skill beside the error", name)
		}
	}
}

func TestAllLeavesOutWhatIsNotConfigured(t *testing.T) {
	t.Parallel()
	all, err := builtin.All(builtin.Deps{})
	if err != nil || len(all) != 2 || all[0].Name() != builtin.NameCalculator || all[1].Name() != builtin.NameWeather {
		t.Errorf("%v, %v", all, err)
	}
	_, err = builtin.All(builtin.Deps{FileSystem: builtin.FileSystemConfig{Root: "relative"}})
	wantKind(t, err, builtin.KindConfig)
}
