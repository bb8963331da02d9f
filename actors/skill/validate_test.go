package skill_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/skill"
)

// validate writes a SKILL.md into a directory and validates that.
func validate(t *testing.T, name, text string) []skill.Diagnostic {
	t.Helper()
	dir := tempDir(t)
	put(t, dir, name+"/SKILL.md", text)
	return skill.Validate(filepath.Join(dir, name))
}

func TestValidateHasNothingAgainstAGoodSkill(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	put(t, dir, "code-review/SKILL.md", "---\nname: code-review\ndescription: Reviews.\nlicense: MIT\ncompatibility: Any.\n"+
		"metadata:\n  author: \"1\"\nallowed-tools: Bash(git:*) Read\n---\n\nSee [the list](references/list.md#top), `scripts/run.sh`,\n"+
		"[this](https://example.org/x), [that](#here), [mail](mailto:x@y.z) and ${SKILL_DIR}/scripts/other.sh.\n")
	put(t, dir, "code-review/references/list.md", "x")
	put(t, dir, "code-review/scripts/run.sh", "x")
	if ds := skill.Validate(filepath.Join(dir, "code-review")); len(ds) > 0 {
		t.Error(ds)
	}
}

func TestValidateIsStrict(t *testing.T) {
	t.Parallel()
	front := func(lines ...string) string {
		return "---\nname: my-skill\ndescription: Does.\n" + strings.Join(append(lines, "---", "", "Do stuff.", ""), "\n")
	}
	named := func(name string) string { return strings.Replace(front(), "my-skill", name, 1) }
	described := func(d string) string { return strings.Replace(front(), "Does.", d, 1) }
	for name, c := range map[string]struct {
		text, rule string
		line, col  int
	}{
		"an unknown field":           {front("user-invocable: true"), skill.RuleUnknownField, 4, 1},
		"hooks":                      {front("hooks: {}"), skill.RuleUnknownField, 4, 1},
		"paths":                      {front("paths: [a]"), skill.RuleUnknownField, 4, 1},
		"allowed_tools":              {front("allowed_tools: a"), skill.RuleUnknownField, 4, 1},
		"null license":               {front("license:"), skill.RuleFieldNull, 4, 0},
		"null metadata":              {front("metadata: ~"), skill.RuleFieldNull, 4, 11},
		"null allowed-tools":         {front("allowed-tools:"), skill.RuleFieldNull, 4, 0},
		"null name":                  {named(""), skill.RuleFieldNull, 2, 0},
		"null description":           {described(""), skill.RuleFieldNull, 3, 0},
		"a list of tools":            {front("allowed-tools:", "  - Bash"), skill.RuleAllowedTools, 5, 3},
		"license is a number":        {front("license: 1"), skill.RuleType, 4, 10},
		"name is a number":           {named("12"), skill.RuleType, 2, 7},
		"metadata is a list":         {front("metadata: [a]"), skill.RuleMetadata, 4, 11},
		"metadata has a number":      {front("metadata:", "  version: 1.0"), skill.RuleMetadata, 5, 12},
		"metadata has a map":         {front("metadata:", "  a:", "    b: c"), skill.RuleMetadata, 6, 5},
		"upper case":                 {named("My-skill"), skill.RuleNameFormat, 2, 7},
		"underscore":                 {named("my_skill"), skill.RuleNameFormat, 2, 7},
		"hyphen first":               {named("-my-skill"), skill.RuleNameFormat, 2, 7},
		"hyphen last":                {named("my-skill-"), skill.RuleNameFormat, 2, 7},
		"two hyphens":                {named("my--skill"), skill.RuleNameFormat, 2, 7},
		"another name":               {named("your-skill"), skill.RuleNameDirectory, 2, 7},
		"a long name":                {named(strings.Repeat("a", 65)), skill.RuleNameLength, 2, 7},
		"a blank name":               {named(`" "`), skill.RuleNameMissing, 2, 7},
		"a blank description":        {described(`""`), skill.RuleDescription, 3, 14},
		"a long description":         {described(strings.Repeat("é", 1025)), skill.RuleDescriptionLength, 3, 14},
		"a hidden character":         {described(`"a\u202eb"`), skill.RuleControl, 3, 14},
		"empty compatibility":        {front(`compatibility: ""`), skill.RuleCompatLength, 4, 16},
		"long compatibility":         {front("compatibility: " + strings.Repeat("a", 501)), skill.RuleCompatLength, 4, 16},
		"a colon without quotes":     {described("Use when: asked"), skill.RuleYAML, 0, 0},
		"a field twice":              {front("license: a", "license: b"), skill.RuleDuplicateKey, 5, 0},
		"an alias":                   {front("license: &a b", "compatibility: *a"), skill.RuleYAMLAlias, 4, 0},
		"no front matter":            {"Do stuff.", skill.RuleFrontMissing, 1, 0},
		"white space before":         {"\n" + front(), skill.RuleFrontLine, 1, 0},
		"a byte order mark":          {"\xef\xbb\xbf" + front(), skill.RuleEncoding, 1, 0},
		"no closing":                 {"---\nname: my-skill\n", skill.RuleFrontUnclosed, 1, 0},
		"no name":                    {"---\ndescription: Does.\n---\n", skill.RuleNameMissing, 1, 0},
		"no description":             {"---\nname: my-skill\n---\n", skill.RuleDescription, 1, 0},
		"no UTF-8 in the body":       {front() + "\xff", skill.RuleEncoding, 0, 0},
		"a large body":               {front() + strings.Repeat("x", skill.MaxBody), skill.RuleBodySize, 0, 0},
		"compatibility is a list":    {front("compatibility: [a]"), skill.RuleType, 4, 16},
		"metadata with a null":       {front("metadata: {a: }"), skill.RuleMetadata, 4, 0},
		"metadata with a number key": {front("metadata: {1: a}"), skill.RuleMetadata, 4, 0},
	} {
		ds := validate(t, "my-skill", c.text)
		got := only(ds, c.rule)
		if len(got) == 0 || got[0].Severity != skill.SeverityError {
			t.Errorf("%s: %v", name, ds)
			continue
		}
		if d := got[0]; (c.line > 0 && d.Line != c.line) || (c.col > 0 && d.Column != c.col) {
			t.Errorf("%s: %d:%d, want %d:%d", name, d.Line, d.Column, c.line, c.col)
		}
	}
}

func TestValidateAllowsWhatIsJustShortEnough(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("a", 64)
	text := "---\nname: " + name + "\ndescription: " + strings.Repeat("é", 1024) + "\ncompatibility: " + strings.Repeat("a", 500) +
		"\n---\n" + strings.Repeat("x\n", 500)
	if ds := validate(t, name, text); len(ds) > 0 {
		t.Error(ds)
	}
}

func TestValidateWarnsOfLongBodiesAndMissingFiles(t *testing.T) {
	t.Parallel()
	head := "---\nname: my-skill\ndescription: Does.\n---\n\n"
	ds := validate(t, "my-skill", head+strings.Repeat("x\n", 501))
	if len(ds) != 1 || ds[0].Rule != skill.RuleBodyLines || ds[0].Severity != skill.SeverityWarning || ds[0].Line != 506 {
		t.Error(ds)
	}
	ds = validate(t, "my-skill", head+"See [it](references/gone.md).\nRun `scripts/run.sh`. See references/gone.md or [up](../../etc/passwd).\n")
	want := []string{"6:10 references/gone.md", "7:6 scripts/run.sh", "7:54 ../../etc/passwd"}
	var got []string
	for _, d := range only(ds, skill.RuleResourceMissing) {
		if d.Severity != skill.SeverityWarning {
			t.Error(d)
		}
		got = append(got, fmt.Sprintf("%d:%d %s", d.Line, d.Column, strings.Split(d.Message, `"`)[1]))
	}
	if strings.Join(got, ",") != strings.Join(want, ",") || len(ds) != 3 {
		t.Error(ds)
	}
}

func TestValidateRefusesHooksFilesAndWhatIsNoFile(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	put(t, dir, "a/SKILL.md", skillFile("a", "b"))
	put(t, dir, "a/hooks.json", "{}")
	if ds := skill.Validate(filepath.Join(dir, "a")); len(ds) != 1 || ds[0].Rule != skill.RuleHooksFile || !skill.HasErrors(ds) {
		t.Error(ds)
	}
	if ds := skill.Validate(filepath.Join(dir, "none")); !has(ds, skill.RuleFileMissing) {
		t.Error(ds)
	}
	put(t, dir, "empty/x", "")
	if ds := skill.Validate(filepath.Join(dir, "empty")); !has(ds, skill.RuleFileMissing) {
		t.Error(ds)
	}
	if err := os.MkdirAll(filepath.Join(dir, "dir", "SKILL.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	if ds := skill.Validate(filepath.Join(dir, "dir")); !has(ds, skill.RuleFileKind) {
		t.Error(ds)
	}
	pipe(t, filepath.Join(dir, "fifo", "SKILL.md"))
	if ds := skill.Validate(filepath.Join(dir, "fifo")); !has(ds, skill.RuleFileKind) {
		t.Error(ds)
	}
	link(t, filepath.Join(dir, "a", "SKILL.md"), filepath.Join(dir, "link", "SKILL.md"))
	if ds := skill.Validate(filepath.Join(dir, "link")); !has(ds, skill.RuleFileKind) {
		t.Error(ds)
	}
}

func TestValidateReadsNoMoreThanItMust(t *testing.T) {
	t.Parallel()
	ds := validate(t, "my-skill", "---\nname: my-skill\ndescription: |\n"+strings.Repeat("  x\n", 10<<20/4)+"---\n")
	if len(ds) != 1 || ds[0].Rule != skill.RuleFrontSize {
		t.Error(ds)
	}
}
