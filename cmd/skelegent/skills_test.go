package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/actors/skill"
	"github.com/skelegent/skelegent-go/actors/skill/trust"
)

// skillWorld is a project, a home and a file of what is trusted.
type skillWorld struct{ base, project, home, trust string }

func newSkillWorld(t testing.TB) *skillWorld {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &skillWorld{
		base: base, project: filepath.Join(base, "project"), home: filepath.Join(base, "home"),
		trust: filepath.Join(base, "config", "trust.json"),
	}
	for _, dir := range []string{w.project, w.home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// put writes a file below the world.
func (w *skillWorld) put(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(w.base, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// skill writes a skill with some more fields, and returns its directory.
func (w *skillWorld) skill(t testing.TB, dir string, fields ...string) string {
	t.Helper()
	name := filepath.Base(dir)
	text := "---\nname: " + name + "\ndescription: Does " + name + ".\n" + strings.Join(append(fields, ""), "\n") + "---\n\nDo it.\n"
	return filepath.Dir(w.put(t, dir+"/SKILL.md", text))
}

func (w *skillWorld) call(t testing.TB, c call, args ...string) result {
	t.Helper()
	if c.env == nil {
		c.env = map[string]string{"HOME": w.home, "USERPROFILE": w.home, "SKELEGENT_TRUST": w.trust}
	}
	return c.run(t, append([]string{"skills"}, args...)...)
}

func (w *skillWorld) run(t testing.TB, args ...string) result {
	t.Helper()
	return w.call(t, call{}, args...)
}

// plainText reports whether a terminal sees in a text what is in it.
func plainText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsAny(s, "\x1b\x07\u009b\u202e\u0085\x00")
}

type skillList struct {
	Skills      []skillRow         `json:"skills"`
	Diagnostics []skill.Diagnostic `json:"diagnostics"`
}

func TestSkillsList(t *testing.T) {
	t.Parallel()
	w := newSkillWorld(t)
	review := w.skill(t, "project/skills/review", "allowed-tools: Read Bash(git:*)", `paths: ["*.go"]`)
	tea := w.skill(t, "home/.agents/skills/tea")
	own := w.skill(t, "home/.agents/skills/review")
	w.skill(t, "project/skills/lint", "allowed-tools: Read Bash(git:*)", `paths: ["*.go"]`)
	vendor := w.skill(t, "vendor/coffee")

	r := w.run(t, "ls", "--project", w.project, "--user", "--dir", filepath.Join(w.base, "vendor"))
	r.want(t, exitDone, "NAME", "review/SKILL.md: shadowed: ")
	var got [][]string
	for _, line := range strings.Split(strings.TrimSpace(r.out), "\n")[1:] {
		got = append(got, strings.Fields(line))
	}
	want := [][]string{
		{"coffee", "custom", "yes", "all", "any", vendor, "Does", "coffee."},
		{"lint", "project", "no", "Read", "Bash(git:*)", "*.go", filepath.Join(w.project, "skills", "lint"), "Does", "lint."},
		{"review", "user", "yes", "all", "any", own, "Does", "review."}, // the project's is not trusted
		{"tea", "user", "yes", "all", "any", tea, "Does", "tea."},
	}
	if !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("got %q\nwant %q", got, want)
	}

	w.run(t, "trust", w.project).want(t, exitDone, "trusted: "+w.project+"\n", "")
	list := decode[skillList](t, w.run(t, "ls", "--project", w.project, "--user", "--json"))
	if len(list.Skills) != 3 || !list.Skills[1].Trusted || list.Skills[1].Location != filepath.Join(review, "SKILL.md") ||
		list.Skills[1].Scope != skill.SourceProject || !slices.Equal(list.Skills[1].AllowedTools, []string{"Read", "Bash(git:*)"}) {
		t.Errorf("got %+v", list)
	}
	w.run(t, "ls", "--dir", w.home).want(t, exitDone, "tea", "") // a level more
	empty := w.run(t, "ls", "--dir", w.trustDir(t), "--json")
	if strings.Contains(empty.out, "null") || len(decode[skillList](t, empty).Skills) != 0 {
		t.Errorf("got %s", empty.out)
	}
	w.run(t, "ls", "--dir", w.trustDir(t)).want(t, exitDone, "", "no skill was found\n")
}

// trustDir is a directory without skills.
func (w *skillWorld) trustDir(t testing.TB) string {
	t.Helper()
	return filepath.Dir(w.put(t, "empty/readme.txt", ""))
}

func TestSkillsListStrict(t *testing.T) {
	t.Parallel()
	w := newSkillWorld(t)
	w.skill(t, "project/skills/good", "unknown-field: 1")
	args := []string{"ls", "--project", w.project}
	w.run(t, append(args, "--strict")...).want(t, exitDone, "good", "SKILL.md:4: unknown-field: ")
	w.put(t, "project/skills/bad/SKILL.md", "no front matter")
	w.run(t, args...).want(t, exitDone, "good", "bad/SKILL.md:1: front-missing: ")
	r := w.run(t, append(args, "--strict")...)
	if r.code != exitFailed || !strings.HasSuffix(r.err, "\nskelegent: 1 error in skills that cannot be used\n") {
		t.Errorf("got %+v", r)
	}
	r = w.run(t, append(args, "--strict", "--json")...)
	r.want(t, exitFailed, `"front-missing"`, "1 error")
	if !json.Valid([]byte(r.out)) {
		t.Errorf("no JSON: %s", r.out)
	}
}

func TestSkillsScopes(t *testing.T) {
	t.Parallel()
	w := newSkillWorld(t)
	w.skill(t, "home/.agents/skills/tea")
	w.skill(t, "home/skills/cup")
	scopes := func(list skillList) map[string]skill.Source {
		got := map[string]skill.Source{}
		for _, s := range list.Skills {
			got[s.Name] = s.Scope
		}
		return got
	}
	// In the home directory the user's own skills are his.
	got := scopes(decode[skillList](t, w.run(t, "ls", "--project", w.home, "--user", "--json")))
	if len(got) != 2 || got["tea"] != skill.SourceUser || got["cup"] != skill.SourceProject {
		t.Errorf("got %v", got)
	}
	// Without a flag: here, where there is none, and the user's.
	got = scopes(decode[skillList](t, w.run(t, "ls", "--json")))
	if got["tea"] != skill.SourceUser || got["cup"] != "" {
		t.Errorf("got %v", got)
	}
	homeless := call{env: map[string]string{"SKELEGENT_TRUST": w.trust}}
	w.call(t, homeless, "ls").want(t, exitDone, "", "no skill was found")
	w.call(t, homeless, "ls", "--user").want(t, exitUsage, "", "there is no home directory")
	nowhere := filepath.Join(w.base, "nowhere\x1b")
	for _, flag := range []string{"--project", "--dir"} {
		r := w.run(t, "ls", flag, nowhere)
		r.want(t, exitFailed, "", "not_found: "+flag+": there is no directory")
		if !plainText(r.err) {
			t.Errorf("%q", r.err)
		}
	}
}

func TestSkillsWrongUsage(t *testing.T) {
	t.Parallel()
	w := newSkillWorld(t)
	many := slices.Repeat([]string{"x"}, 300)
	for name, args := range map[string][]string{
		"alone":            {},
		"unknown":          {"list"},
		"ls argument":      {"ls", "x"},
		"ls project":       {"ls", "--project", ""},
		"ls dir":           {"ls", "--dir", ""},
		"validate nothing": {"validate"},
		"validate empty":   {"validate", ""},
		"show nothing":     {"show"},
		"show two":         {"show", "a", "b"},
		"run nothing":      {"run"},
		"run no script":    {"run", "a"},
		"run dash":         {"run", "a", "--", "b"},
		"run no dash":      {"run", "a", "b", "c"},
		"run early dash":   {"run", "a", "b", "c", "--", "d"},
		"run many":         append([]string{"run", "a", "b", "--"}, many...),
		"run long":         {"run", "a", "b", "--", strings.Repeat("x", 70_000)},
		"run timeout":      {"run", "a", "b", "--timeout", "0s"},
		"run long timeout": {"run", "a", "b", "--timeout", "6m"},
		"run sandbox":      {"run", "a", "b", "--sandbox", "docker"},
		"trust two":        {"trust", "a", "b"},
		"trust empty":      {"trust", ""},
		"revoke nothing":   {"trust", "--revoke"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w.run(t, args...).want(t, exitUsage, "", "--help`")
		})
	}
}

func TestSkillsTrust(t *testing.T) {
	t.Parallel()
	w := newSkillWorld(t)
	below := w.skill(t, "project/skills/tea")
	w.run(t, "trust").want(t, exitDone, "", "no directory is trusted\n")
	if out := w.run(t, "trust", "--json").out; out != "[]\n" {
		t.Errorf("got %q", out)
	}
	w.run(t, "trust", below).want(t, exitDone, "trusted: "+below+"\n", "")
	if e := decode[trust.Entry](t, w.run(t, "trust", w.project, "--json")); e.Dir != w.project || e.At.IsZero() {
		t.Errorf("got %+v", e)
	}
	w.run(t, "trust").want(t, exitDone, "  yes    "+w.project+"\n", "")
	r := w.run(t, "trust", below, "--revoke")
	r.want(t, exitFailed, "trusted no more: "+below+"\n", "conflict: ")
	if removed := decode[[]trust.Entry](t, w.run(t, "trust", w.project, "--revoke", "--json")); len(removed) != 1 {
		t.Errorf("got %+v", removed)
	}
	w.run(t, "trust", w.project, "--revoke").want(t, exitFailed, "", "not_found: ")
	w.run(t, "trust", "/").want(t, exitFailed, "", "invalid_input: ")
	w.run(t, "trust", filepath.Join(w.base, "nowhere")).want(t, exitFailed, "", "not_found: ")

	w.run(t, "trust", below).want(t, exitDone, "", "")
	if err := os.RemoveAll(below); err != nil {
		t.Fatal(err)
	}
	if rows := decode[[]trustRow](t, w.run(t, "trust", "--json")); len(rows) != 1 || !rows[0].Missing {
		t.Errorf("got %+v", rows)
	}
	w.run(t, "trust").want(t, exitDone, "  no     "+below+"\n", "")
}

func TestSkillsTrustFileIsTheFlagThenTheVariable(t *testing.T) {
	t.Parallel()
	w := newSkillWorld(t)
	other := filepath.Join(w.base, "other.json")
	w.run(t, "trust", w.project, "--trust-file", other).want(t, exitDone, "", "")
	if _, err := os.Stat(w.trust); err == nil {
		t.Error("the file of the variable was written")
	}
	w.run(t, "trust", "--trust-file", other).want(t, exitDone, w.project, "")
	w.run(t, "trust").want(t, exitDone, "", "no directory is trusted")
}

func TestSkillsTrustFileThatIsDamaged(t *testing.T) {
	t.Parallel()
	w := newSkillWorld(t)
	w.skill(t, "project/skills/tea")
	w.put(t, "config/trust.json", "\x1b[2J")
	for _, args := range [][]string{
		{"ls"}, {"trust"}, {"trust", w.project}, {"trust", w.project, "--revoke"}, {"show", "tea"}, {"run", "tea", "x.sh"},
	} {
		r := w.run(t, args...)
		r.want(t, exitFailed, "", "invalid_input: trust: the file ")
		if !plainText(r.err) || r.out != "" {
			t.Errorf("%+v", r)
		}
	}
}

func TestTablesFitTheTerminal(t *testing.T) {
	t.Parallel()
	header := []string{"NAME", "DESCRIPTION"}
	for width, want := range map[int]int{80: 80 - 2 - 4, 10: minLast, 0: minLast} {
		rows := [][]string{{"äöü", strings.Repeat("ö", 200)}, {"x", "short"}}
		fitLast(header, rows, width)
		if got := len([]rune(rows[0][1])); got != want || rows[1][1] != "short" {
			t.Errorf("width %d: got %d, want %d", width, got, want)
		}
	}
	if got := (&output{w: &buffer{}, tty: true}).width(); got != defaultWidth {
		t.Errorf("got %d", got)
	}
}

// Names that a skill cannot have are left out, and what it can have reaches a terminal without its effects.
func TestSkillsShowNothingRaw(t *testing.T) {
	t.Parallel()
	const evil = `\e[2J\x07\u202e\u0085`
	w := newSkillWorld(t)
	quoted := "\"" + evil + "\""
	w.put(t, "project/skills/evil/SKILL.md", "---\nname: evil\ndescription: "+quoted+"\nlicense: "+quoted+"\ncompatibility: "+quoted+
		"\nmetadata: {"+quoted+": "+quoted+"}\nhooks:\n  PreToolUse:\n    - matcher: \"*\"\n      hooks:\n        - {type: command, command: "+
		quoted+"}\n        - {type: prompt, prompt: "+quoted+"}\n---\n\x1b[2J\u202e !`rm \x1b \u202e`\n")
	w.put(t, "project/skills/named/SKILL.md", "---\nname: \"a\\e[2J\"\ndescription: x\n---\n")
	w.put(t, "project/skills/evil/references/a\x1b[2J.md", "x")
	w.put(t, "project/skills/dir\x1b[2J/SKILL.md", "---\nname: x\ndescription: y\n---\n")
	for _, args := range [][]string{
		{"ls", "--project", w.project},
		{"ls", "--project", w.project, "--json"},
		{"show", "evil", "--project", w.project},
		{"show", "evil", "--project", w.project, "--prompt"},
		{"show", "evil", "--project", w.project, "--prompt", "--json"},
		{"show", "\x1b[2J\u202e", "--project", w.project},
		{"validate", w.project},
		{"validate", w.project, "--json"},
		{"validate", "\x1b[2J"},
		{"run", "evil", "\x1b[2J", "--project", w.project},
		{"run", "\x1b[2J", "x", "--project", w.project},
		{"trust", "\x1b[2J"},
	} {
		r := w.call(t, call{outTTY: true, errTTY: true}, args...)
		if slices.Contains(args, "--json") {
			if !json.Valid([]byte(r.out)) {
				t.Errorf("%q: no JSON: %q", args, r.out)
			}
			r.out = strings.ReplaceAll(r.out, "\u202e", "") // JSON is for machines
		}
		if !plainText(r.out) || !plainText(r.err) {
			t.Errorf("%q: out %q\nerr %q", args, r.out, r.err)
		}
	}
	w.run(t, "show", "evil", "--project", w.project).want(t, exitDone, `rm \u{202e}`, "")
}

// What is trusted is a path, and a path that reads as another must not be shown so.
func TestSkillsTrustShowsNoHiddenCharacters(t *testing.T) {
	t.Parallel()
	w := newSkillWorld(t)
	w.skill(t, "a\u202eb/skills/tea")
	dir := filepath.Join(w.base, "a\u202eb")
	for _, args := range [][]string{{"trust", dir}, {"ls", "--project", dir}, {"show", "tea", "--project", dir}, {"trust"}, {"trust", dir, "--revoke"}} {
		r := w.run(t, args...)
		r.want(t, exitDone, `a\u{202e}b`, "")
		if !plainText(r.out + r.err) {
			t.Errorf("%v: got %q", args, r.out+r.err)
		}
	}
}
