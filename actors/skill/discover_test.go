package skill_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/skill"
	"github.com/skelegent/skelegent-go/protocol"
)

func discover(t *testing.T, opts skill.Options, scopes ...skill.Scope) *skill.Catalogue {
	t.Helper()
	c, err := skill.Discover(t.Context(), scopes, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDiscoverOfNothingIsNoError(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	c := discover(t, skill.Options{}, skill.Project(dir), skill.User(dir), skill.Custom(filepath.Join(dir, "none")))
	if c.Len() != 0 || c.Text() != "" || len(c.Diagnostics()) != 0 {
		t.Error(c.Names(), c.Text(), c.Diagnostics())
	}
}

func TestDiscoverScopesInOrder(t *testing.T) {
	t.Parallel()
	root, home, custom := tempDir(t), tempDir(t), tempDir(t)
	put(t, root, "skills/a/SKILL.md", skillFile("a", "project skills"))
	put(t, root, ".agents/skills/a/SKILL.md", skillFile("a", "project agents"))
	put(t, root, ".agents/skills/b/SKILL.md", skillFile("b", "project agents"))
	put(t, home, ".agents/skills/b/SKILL.md", skillFile("b", "user"))
	put(t, home, ".agents/skills/c/SKILL.md", skillFile("c", "user"))
	put(t, custom, "c/SKILL.md", skillFile("c", "custom"))
	put(t, custom, "d/SKILL.md", skillFile("d", "custom"))
	c := discover(t, skill.Options{}, skill.Project(root), skill.User(home), skill.Custom(custom))
	var got []string
	for _, d := range c.List() {
		got = append(got, d.Name+" "+d.Description+" "+string(d.Source))
	}
	want := []string{"a project skills project", "b project agents project", "c user user", "d custom custom"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	ds := c.Diagnostics()
	if len(ds) != 3 || len(only(ds, skill.RuleShadowed)) != 3 || ds[0].File != filepath.Join(root, ".agents/skills/a/SKILL.md") ||
		!strings.Contains(ds[0].Message, filepath.Join(root, "skills/a/SKILL.md")) {
		t.Error(ds)
	}
	// It is the caller who puts a scope before another.
	c = discover(t, skill.Options{}, skill.Custom(custom), skill.User(home), skill.Project(root))
	if d, _ := c.Get("b"); d.Description != "user" {
		t.Error(d)
	}
}

func TestDiscoverKeepsTheSameFileOnce(t *testing.T) {
	t.Parallel()
	root := tempDir(t)
	path := put(t, root, "skills/a/SKILL.md", skillFile("a", "b"))
	c := discover(t, skill.Options{}, skill.Project(root), skill.Custom(filepath.Join(root, "skills")))
	if c.Len() != 1 || len(c.Diagnostics()) != 0 {
		t.Error(c.Names(), c.Diagnostics())
	}
	if d, ok := c.Get("a"); !ok || d.Location != path || d.Dir != filepath.Dir(path) || d.Source != skill.SourceProject {
		t.Error(d)
	}
}

func TestDiscoverOfSameNamesInOneDirectoryTakesTheFirstPath(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	for _, name := range []string{"z", "m/deep", "b-2", "b/x"} {
		put(t, dir, name+"/SKILL.md", skillFile("same", name))
	}
	d, _ := discover(t, skill.Options{}, skill.Custom(dir)).Get("same")
	if d.Description != "b/x" {
		t.Error(d.Description)
	}
}

func TestDiscoverFindsNestedSkills(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	for _, name := range []string{"flat", "group/one", "group/two"} {
		put(t, dir, name+"/SKILL.md", skillFile(filepath.Base(name), "x"))
	}
	put(t, dir, "flat/inner/SKILL.md", skillFile("inner", "within a skill"))
	put(t, dir, "SKILL.md", skillFile("top", "the directory itself"))
	c := discover(t, skill.Options{}, skill.Custom(dir))
	if got, want := c.Names(), []string{"flat", "one", "two"}; !cmp.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestDiscoverGoesFourLevelsDeep(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	put(t, dir, "1/2/3/four/SKILL.md", skillFile("four", "x"))
	put(t, dir, "1/2/3/4/five/SKILL.md", skillFile("five", "x"))
	if got := discover(t, skill.Options{}, skill.Custom(dir)).Names(); !cmp.Equal(got, []string{"four"}) {
		t.Error(got)
	}
	if got := discover(t, skill.Options{MaxDepth: 5}, skill.Custom(dir)).Names(); len(got) != 2 {
		t.Error(got)
	}
	if got := discover(t, skill.Options{MaxDepth: 1}, skill.Custom(dir)).Names(); len(got) != 0 {
		t.Error(got)
	}
}

func TestDiscoverSkipsDirectoriesThatHoldNoSkills(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	for _, name := range []string{".git", "node_modules", "target", "__pycache__", ".venv", "dist", "build"} {
		put(t, dir, name+"/SKILL.md", skillFile("x", "x"))
		put(t, dir, "group/"+name+"/sub/SKILL.md", skillFile("x", "x"))
	}
	put(t, dir, ".hidden/SKILL.md", skillFile("hidden", "x"))
	if c := discover(t, skill.Options{}, skill.Custom(dir)); !cmp.Equal(c.Names(), []string{"hidden"}) {
		t.Error(c.Names())
	}
}

func TestDiscoverIsNotFailedByOneBadSkill(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	put(t, dir, "good/SKILL.md", skillFile("good", "x"))
	put(t, dir, "blank/SKILL.md", skillFile("blank", `""`))
	put(t, dir, "yaml/SKILL.md", "---\nname: [\n---\n")
	put(t, dir, "none/SKILL.md", "# x")
	put(t, dir, "hooks/SKILL.md", skillFile("hooks", "x", "hooks: [x]"))
	put(t, dir, "large/SKILL.md", "---\nname: large\ndescription: |\n"+strings.Repeat("  x\n", 10<<20/4)+"---\n")
	put(t, dir, "other-name/SKILL.md", skillFile("Wrong_Name", "x"))
	if err := os.MkdirAll(filepath.Join(dir, "dir", "SKILL.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	pipe(t, filepath.Join(dir, "fifo", "SKILL.md"))
	put(t, dir, "secret", skillFile("secret", "x"))
	link(t, filepath.Join(dir, "secret"), filepath.Join(dir, "link", "SKILL.md"))
	link(t, "gone", filepath.Join(dir, "dangling", "SKILL.md"))
	c := discover(t, skill.Options{}, skill.Custom(dir))
	if got, want := c.Names(), []string{"Wrong_Name", "good"}; !cmp.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	var got []string
	for _, d := range c.Diagnostics() {
		rel, _ := filepath.Rel(dir, d.File)
		got = append(got, rel+" "+d.Rule)
	}
	want := []string{
		"blank/SKILL.md description-missing", "dangling/SKILL.md file-kind", "dir/SKILL.md file-kind", "fifo/SKILL.md file-kind",
		"hooks/SKILL.md hooks-format", "large/SKILL.md front-size", "link/SKILL.md file-kind", "none/SKILL.md front-missing",
		"other-name/SKILL.md name-format", "other-name/SKILL.md name-directory", "yaml/SKILL.md yaml",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDiscoverFollowsNoLinksOut(t *testing.T) {
	t.Parallel()
	dir, outside := tempDir(t), tempDir(t)
	put(t, outside, "evil/SKILL.md", skillFile("evil", "x"))
	put(t, dir, "real/SKILL.md", skillFile("real", "x"))
	put(t, dir, "notes.txt", "x")
	link(t, filepath.Join(outside, "evil"), filepath.Join(dir, "evil"))
	link(t, outside, filepath.Join(dir, "group", "all"))
	link(t, "..", filepath.Join(dir, "group", "cycle"))
	link(t, "../group", filepath.Join(dir, "group", "self"))
	link(t, "real", filepath.Join(dir, "alias"))
	link(t, "loop", filepath.Join(dir, "loop"))
	link(t, "notes.txt", filepath.Join(dir, "file"))
	c := discover(t, skill.Options{}, skill.Custom(dir))
	if !cmp.Equal(c.Names(), []string{"real"}) {
		t.Error(c.Names())
	}
	if d, _ := c.Get("real"); d.Dir != filepath.Join(dir, "real") {
		t.Error(d.Dir)
	}
	if ds := c.Diagnostics(); len(ds) != 3 || len(only(ds, skill.RuleLink)) != 3 {
		t.Error(ds)
	}
}

func TestDiscoverOfAProjectStaysInIt(t *testing.T) {
	t.Parallel()
	root, outside := tempDir(t), tempDir(t)
	put(t, outside, "evil/SKILL.md", skillFile("evil", "x"))
	link(t, outside, filepath.Join(root, "skills"))
	c := discover(t, skill.Options{}, skill.Project(root))
	if c.Len() != 0 || !has(c.Diagnostics(), skill.RuleLink) {
		t.Error(c.Names(), c.Diagnostics())
	}
	// One's own directories may be links.
	link(t, outside, filepath.Join(root, ".agents", "skills"))
	if c := discover(t, skill.Options{}, skill.User(root)); c.Len() != 1 {
		t.Error(c.Names(), c.Diagnostics())
	}
}

func TestDiscoverFailsForADirectoryThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	put(t, dir, "skills", "a file")
	for _, s := range []skill.Scope{skill.Project(dir), skill.Custom(filepath.Join(dir, "skills")), skill.Custom("")} {
		_, err := skill.Discover(t.Context(), []skill.Scope{s}, skill.Options{})
		if !errors.Is(err, &protocol.Error{Code: protocol.CodeInvalidInput}) {
			t.Error(err)
		}
	}
}

func TestDiscoverIsBounded(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	for i := range 20 {
		put(t, dir, fmt.Sprintf("s%02d/SKILL.md", i), skillFile(fmt.Sprintf("s%02d", i), "x"))
	}
	c := discover(t, skill.Options{MaxDirs: 5}, skill.Custom(dir))
	if c.Len() != 5 || len(only(c.Diagnostics(), skill.RuleLimit)) != 1 || c.Names()[4] != "s04" {
		t.Error(c.Names(), c.Diagnostics())
	}
	c = discover(t, skill.Options{MaxSkills: 7}, skill.Custom(dir))
	if c.Len() != 7 || len(only(c.Diagnostics(), skill.RuleLimit)) != 1 {
		t.Error(c.Names(), c.Diagnostics())
	}
	for _, o := range []skill.Options{{MaxDepth: -1}, {MaxDepth: 17}, {Readers: 65}, {MaxDirs: -1}, {MaxSkills: -1}, {Readers: -1}} {
		if _, err := skill.Discover(t.Context(), nil, o); protocol.CodeOf(err) != protocol.CodeInvalidInput {
			t.Error(o, err)
		}
	}
}

func TestDiscoverLeavesOutWhatIsNotAllowed(t *testing.T) {
	t.Parallel()
	root, home := tempDir(t), tempDir(t)
	put(t, root, "skills/a/SKILL.md", skillFile("a", "project"))
	put(t, home, ".agents/skills/a/SKILL.md", skillFile("a", "user"))
	c := discover(t, skill.Options{Allow: func(d skill.Descriptor) bool { return d.Source != skill.SourceProject }},
		skill.Project(root), skill.User(home))
	if d, _ := c.Get("a"); d.Description != "user" || !has(c.Diagnostics(), skill.RuleNotAllowed) {
		t.Error(d, c.Diagnostics())
	}
}

func TestDiscoverEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	put(t, dir, "a/SKILL.md", skillFile("a", "x"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := skill.Discover(ctx, []skill.Scope{skill.Custom(dir)}, skill.Options{}); protocol.CodeOf(err) != protocol.CodeCancelled {
		t.Error(err)
	}
}

func TestDiscoverLeavesOutNamesOfDirectoriesThatCannotBeShown(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	put(t, dir, "a\nb/SKILL.md", skillFile("a", "x"))
	put(t, dir, "c\u202ed/SKILL.md", skillFile("c", "x"))
	c := discover(t, skill.Options{}, skill.Custom(dir))
	if c.Len() != 0 || len(only(c.Diagnostics(), skill.RuleControl)) != 2 {
		t.Error(c.Names(), c.Diagnostics())
	}
}

func TestDiscoverWarnsOfCircles(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	put(t, dir, "a/SKILL.md", skillFile("a", "x", "depends_on: [b]"))
	put(t, dir, "b/SKILL.md", skillFile("b", "x", "depends_on: [a, gone]"))
	c := discover(t, skill.Options{}, skill.Custom(dir))
	if got := rules(c.Diagnostics()); !cmp.Equal(got, []string{skill.RuleDependencyCycle, skill.RuleDependencyMissing}) || c.Len() != 2 {
		t.Error(c.Diagnostics())
	}
}

// many makes n skills, each with a body.
func many(t testing.TB, n int) string {
	t.Helper()
	dir := tempDir(t)
	body := strings.Repeat("Some more of the instructions.\n", 1000)
	for i := range n {
		name := fmt.Sprintf("skill-%04d", i)
		put(t, dir, name+"/SKILL.md", strings.Replace(strings.Replace(codeReview, "code-review", name, 1), "## Code", body, 1))
	}
	return dir
}

func TestDiscoverOfTwoThousandSkillsIsFast(t *testing.T) {
	t.Parallel()
	dir := many(t, 2000)
	begun := time.Now()
	c := discover(t, skill.Options{}, skill.Custom(dir))
	took := time.Since(begun)
	t.Logf("took %s", took)
	if c.Len() != 2000 || len(c.Diagnostics()) != 0 || took > 20*time.Second { // the figure itself is the benchmark's
		t.Error(c.Len(), len(c.Diagnostics()), took)
	}
}

func BenchmarkDiscover2000(b *testing.B) {
	dir := many(b, 2000)
	for b.Loop() {
		c, err := skill.Discover(b.Context(), []skill.Scope{skill.Custom(dir)}, skill.Options{})
		if err != nil || c.Len() != 2000 {
			b.Fatal(err)
		}
	}
}
