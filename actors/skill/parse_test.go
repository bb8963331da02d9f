package skill_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/skill"
	"github.com/skelegent/skelegent-go/protocol"
)

const codeReview = `---
name: code-review
description: >-
  Professional code review skill: identify defects, security risks,
  and best practice violations. Use when asked to review code quality.
license: Apache-2.0
shell: bash
paths:
  - "*.rs"
  - "*.py"
allowed-tools:
  - read_skill_resource
  - run_skill_script
  - Bash
metadata:
  author: my-team
  version: "1.0.0"
hooks:
  PreToolUse:
    - matcher: "Bash"
      hooks:
        - type: prompt
          prompt: "Verify command safety before execution"
  PostToolUse:
    - matcher: "*"
      hooks:
        - type: command
          command: "${SKILL_DIR}/scripts/log_usage.sh"
          timeout: 5
---

## Code Review

When asked to review code:
`

func TestParseReadsTheWholeOfACodeReviewWithoutWarnings(t *testing.T) {
	t.Parallel()
	d, body, ds, err := skill.Parse([]byte(codeReview))
	if err != nil || len(ds) != 0 {
		t.Fatal(err, ds)
	}
	if len(d.Digest) != 64 {
		t.Errorf("digest %q", d.Digest)
	}
	d.Digest = ""
	want := skill.Descriptor{
		Name: "code-review",
		Description: "Professional code review skill: identify defects, security risks, and best practice violations. " +
			"Use when asked to review code quality.",
		License:      "Apache-2.0",
		Shell:        "bash",
		Paths:        []string{"*.rs", "*.py"},
		AllowedTools: []string{"read_skill_resource", "run_skill_script", "Bash"},
		Metadata:     map[string]string{"author": "my-team", "version": "1.0.0"},
		Hooks: skill.Hooks{
			PreToolUse: []skill.HookRule{{Matcher: "Bash", Actions: []skill.HookAction{
				{Type: skill.HookPrompt, Prompt: "Verify command safety before execution"},
			}}},
			PostToolUse: []skill.HookRule{{Matcher: "*", Actions: []skill.HookAction{
				{Type: skill.HookCommand, Command: "${SKILL_DIR}/scripts/log_usage.sh", Timeout: 5 * time.Second},
			}}},
		},
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
	if want := "## Code Review\n\nWhen asked to review code:\n"; body != want {
		t.Errorf("body %q, want %q", body, want)
	}
}

func TestParseWarnsOfNamesAndLoads(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]string{
		"Code-Review": skill.RuleNameFormat, "-code": skill.RuleNameFormat, "code-": skill.RuleNameFormat,
		"code--review": skill.RuleNameFormat, "code_review": skill.RuleNameFormat, "código": skill.RuleNameFormat,
		strings.Repeat("a", 65): skill.RuleNameLength,
	} {
		d, _, ds, err := skill.Parse([]byte(skillFile(name, "Does.")))
		if err != nil || d.Name != name || !has(ds, rule) || skill.HasErrors(ds) || ds[0].Line != 2 {
			t.Errorf("%s: %q %v %v", name, d.Name, ds, err)
		}
	}
	if _, _, ds, err := skill.Parse([]byte(skillFile(strings.Repeat("a", 64), "Does."))); err != nil || len(ds) != 0 {
		t.Error(ds, err)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	front := func(lines ...string) string { return "---\n" + strings.Join(lines, "\n") + "\n---\nbody" }
	ok := []string{"name: a", "description: b"}
	with := func(lines ...string) string { return front(append(ok[:2:2], lines...)...) }
	deep := strings.Repeat("[", 20) + strings.Repeat("]", 20)
	for name, c := range map[string]struct {
		raw, rule string
		line      int
	}{
		"no front matter":             {"# Title\n", skill.RuleFrontMissing, 1},
		"empty":                       {"", skill.RuleFrontMissing, 1},
		"unclosed":                    {"---\nname: a\n", skill.RuleFrontUnclosed, 1},
		"text after the opening":      {"---foo\nname: a\n---\n", skill.RuleFrontLine, 1},
		"four dashes to open":         {"----\nname: a\n---\n", skill.RuleFrontLine, 1},
		"text after the closing":      {"---\nname: a\n---foo\n---\n", skill.RuleFrontLine, 3},
		"four dashes to close":        {"---\nname: a\n----\n", skill.RuleFrontLine, 3},
		"no mapping":                  {front("- a"), skill.RuleYAML, 2},
		"empty front matter":          {"---\n---\n", skill.RuleYAML, 2},
		"bad YAML":                    {with(`x: "a`), skill.RuleYAML, 0},
		"a second document":           {with("...", "hooks: {}"), skill.RuleYAML, 0},
		"no name":                     {front("description: b"), skill.RuleNameMissing, 1},
		"null name":                   {front("name:", "description: b"), skill.RuleNameMissing, 2},
		"blank name":                  {front(`name: " "`, "description: b"), skill.RuleNameMissing, 2},
		"name is a list":              {front(`name: [a]`, "description: b"), skill.RuleNameMissing, 2},
		"name with a line break":      {front(`name: "a\nb"`, "description: b"), skill.RuleControl, 2},
		"name with a bell":            {front(`name: "a\ab"`, "description: b"), skill.RuleControl, 2},
		"name that turns":             {front(`name: "a\u202eb"`, "description: b"), skill.RuleControl, 2},
		"name far too long":           {front("name: "+strings.Repeat("a", 257), "description: b"), skill.RuleNameLength, 2},
		"no description":              {front("name: a"), skill.RuleDescription, 1},
		"blank description":           {front("name: a", `description: ""`), skill.RuleDescription, 3},
		"null description":            {front("name: a", `description:`), skill.RuleDescription, 3},
		"description is a map":        {front("name: a", `description: {b: c}`), skill.RuleDescription, 3},
		"a field twice":               {with("license: x", "license: y"), skill.RuleDuplicateKey, 5},
		"a field in two spellings":    {with("allowed-tools: x", "allowed_tools: y"), skill.RuleDuplicateKey, 5},
		"an alias":                    {with("license: &x y", "compatibility: *x"), skill.RuleYAMLAlias, 4},
		"an anchor":                   {with("metadata: &x {a: b}"), skill.RuleYAMLAlias, 4},
		"too deep":                    {with("x: " + deep), skill.RuleYAMLDepth, 4},
		"no UTF-8":                    {with("license: \xff"), skill.RuleEncoding, 0},
		"UTF-16":                      {"\xff\xfe-\x00-\x00-\x00\n\x00", skill.RuleFrontMissing, 1},
		"a NUL":                       {with("license: a\x00b"), skill.RuleYAML, 0},
		"a complex key":               {with("? [a]", ": b"), skill.RuleYAML, 4},
		"a large front matter":        {with("license: " + strings.Repeat("x", skill.MaxFront)), skill.RuleFrontSize, 0},
		"a large body":                {with() + strings.Repeat("x", skill.MaxBody), skill.RuleBodySize, 0},
		"allowed-tools is a number":   {with("allowed-tools: 1"), skill.RuleAllowedTools, 4},
		"allowed-tools is a map":      {with("allowed-tools: {Bash: yes}"), skill.RuleAllowedTools, 4},
		"allowed-tools has a number":  {with("allowed-tools: [Bash, 1]"), skill.RuleAllowedTools, 4},
		"allowed-tools has too many":  {with("allowed-tools: " + strings.Repeat("x ", 257)), skill.RuleAllowedTools, 4},
		"allowed-tools has a control": {with(`allowed-tools: ["a\u0007b"]`), skill.RuleAllowedTools, 4},
		"paths is a map":              {with("paths: {a: b}"), skill.RulePathsFormat, 4},
		"paths has a number":          {with("paths: [1]"), skill.RulePathsFormat, 4},
		"paths has too many":          {with("paths: [" + strings.Repeat("a,", 65) + "a]"), skill.RulePathsFormat, 4},
		"paths has a long one":        {with("paths: [" + strings.Repeat("a", 257) + "]"), skill.RulePathsFormat, 4},
		"hooks is a list":             {with("hooks: [a]"), skill.RuleHooks, 4},
		"hooks in another spelling":   {with("Hooks: [a]"), skill.RuleHooks, 4},
	} {
		_, _, ds, err := skill.Parse([]byte(c.raw))
		if !errors.Is(err, &protocol.Error{Code: protocol.CodeInvalidInput}) || !has(ds, c.rule) || !skill.HasErrors(ds) {
			t.Errorf("%s: %v %v", name, ds, err)
			continue
		}
		if d := only(ds, c.rule)[0]; c.line > 0 && d.Line != c.line {
			t.Errorf("%s: line %d, want %d: %v", name, d.Line, c.line, d)
		}
	}
}

func TestParseRefusesABombOfAliases(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("---\nname: a\ndescription: b\nx0: &x0 [lol]\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&b, "x%d: &x%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d,", i-1), 9), ","))
	}
	b.WriteString("---\n")
	begun := time.Now()
	_, _, ds, err := skill.Parse([]byte(b.String()))
	if err == nil || !has(ds, skill.RuleYAMLAlias) || time.Since(begun) > 30*time.Second {
		t.Error(ds, err, time.Since(begun))
	}
}

func TestParseBodies(t *testing.T) {
	t.Parallel()
	head := "---\nname: a\ndescription: b\n---"
	for name, c := range map[string]struct{ raw, body, rule string }{
		"exact":                      {head + "\n\n# Instructions\n\nDo stuff.", "# Instructions\n\nDo stuff.", ""},
		"none":                       {head, "", ""},
		"spaces after the closing":   {head + " \t\nx", "x", ""},
		"more dashes in the body":    {head + "\na\n---\nb", "a\n---\nb", ""},
		"CRLF":                       {strings.ReplaceAll(head+"\n\nx\ny", "\n", "\r\n"), "x\r\ny", ""},
		"white space before":         {"\n\n" + head + "\nx", "x", skill.RuleFrontLine},
		"byte order mark":            {"\xef\xbb\xbf" + head + "\nx", "x", skill.RuleEncoding},
		"no UTF-8":                   {head + "\nx\xffy", "x\uFFFDy", skill.RuleEncoding},
		"indented dashes in a block": {"---\nname: a\ndescription: |\n  b\n  ---\n  c\n---\nx", "x", ""},
	} {
		d, body, ds, err := skill.Parse([]byte(c.raw))
		if err != nil || d.Name != "a" || body != c.body {
			t.Errorf("%s: %q %v", name, body, err)
		}
		if got := strings.Join(rules(ds), " "); got != c.rule {
			t.Errorf("%s: %v", name, ds)
		}
	}
}

func TestParseReadsValuesWithColonsAsIfInQuotes(t *testing.T) {
	t.Parallel()
	raw := "---\nname: a\ndescription: Use when: it's asked\n  to: review\nlicense: see: here\nmetadata:\n  x: y\n---\n"
	d, _, ds, err := skill.Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if d.Description != "Use when: it's asked to: review" || d.License != "see: here" || d.Metadata["x"] != "y" {
		t.Errorf("%+v", d)
	}
	if len(ds) != 1 || ds[0].Rule != skill.RuleYAMLQuoted || ds[0].Line != 3 {
		t.Error(ds)
	}
	// A block scalar has colons of its own, and is left alone even where something else is mended.
	raw = "---\nname: a\ndescription: |\n  Note: one: two\nlicense: see: here\n---\n"
	if d, _, _, err := skill.Parse([]byte(raw)); err != nil || d.Description != "Note: one: two" {
		t.Errorf("%q %v", d.Description, err)
	}
}

func TestParseMetadata(t *testing.T) {
	t.Parallel()
	raw := skillFile("a", "b", "metadata:", "  version: 1.10", "  on: true", "  at: 2024-01-02", "  text: \"1\"", "  deep: {x: y}", "  none:")
	d, _, ds, err := skill.Parse([]byte(raw))
	want := map[string]string{"version": "1.10", "on": "true", "at": "2024-01-02", "text": "1"}
	if diff := cmp.Diff(want, d.Metadata); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if got := only(ds, skill.RuleMetadata); len(got) != 5 || len(ds) != 5 || got[0].Line != 5 {
		t.Error(ds)
	}
	d, _, ds, err = skill.Parse([]byte(skillFile("a", "b", "metadata: [x]")))
	if err != nil || d.Metadata != nil || !has(ds, skill.RuleMetadata) {
		t.Error(d.Metadata, ds, err)
	}
}

func TestParseTakesOtherScalarsForTexts(t *testing.T) {
	t.Parallel()
	d, _, ds, err := skill.Parse([]byte(skillFile("123", "1.50", "license: 2", "compatibility: "+strings.Repeat("c", 501))))
	if err != nil || d.Name != "123" || d.Description != "1.50" || d.License != "2" {
		t.Errorf("%+v %v", d, err)
	}
	if got := rules(ds); !cmp.Equal(got, []string{skill.RuleCompatLength, skill.RuleType, skill.RuleType, skill.RuleType}) {
		t.Error(got)
	}
}

func TestParseDescriptions(t *testing.T) {
	t.Parallel()
	d, _, ds, err := skill.Parse([]byte(skillFile("a", `"one\u200b\u202e two\u0007"`)))
	if err != nil || d.Description != "one two" || !has(ds, skill.RuleControl) {
		t.Errorf("%q %v %v", d.Description, ds, err)
	}
	long := strings.Repeat("é", 1025)
	d, _, ds, err = skill.Parse([]byte(skillFile("a", long)))
	if err != nil || d.Description != long || !has(ds, skill.RuleDescriptionLength) {
		t.Error(ds, err)
	}
	if _, _, ds, _ := skill.Parse([]byte(skillFile("a", long[2:]))); len(ds) != 0 {
		t.Error(ds)
	}
}

func TestParseAllowedTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		field, rule string
		want        []string
	}{
		{"allowed-tools: Bash(git:*) Read", "", []string{"Bash(git:*)", "Read"}},
		{"allowed_tools: Bash(git:*) Read", "", []string{"Bash(git:*)", "Read"}},
		{`allowed-tools: ["Bash(git:*)", Read]`, "", []string{"Bash(git:*)", "Read"}},
		{"allowed-tools: Bash(git commit:*)  Read", "", []string{"Bash(git commit:*)", "Read"}},
		{"allowed-tools: Read, Grep", skill.RuleAllowedTools, []string{"Read", "Grep"}},
		{"allowed-tools: Bash(a b", "", []string{"Bash(a", "b"}},
		{`allowed-tools: ""`, skill.RuleAllowedTools, nil},
		{"allowed-tools: []", skill.RuleAllowedTools, nil},
		{"allowed-tools:", skill.RuleFieldNull, nil},
		{"allowedTools: Read", skill.RuleFieldName, []string{"Read"}},
		{"Allowed-Tools: Read", skill.RuleFieldName, []string{"Read"}},
	} {
		d, _, ds, err := skill.Parse([]byte(skillFile("a", "b", c.field)))
		if err != nil || !cmp.Equal(d.AllowedTools, c.want) || strings.Join(rules(ds), " ") != c.rule {
			t.Errorf("%s: %q %v %v", c.field, d.AllowedTools, ds, err)
		}
	}
}

func TestParsePaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ field, rule string }{
		{`["*.py", "src/**/*.rs", "tests/**"]`, ""},
		{`["../secret.txt"]`, skill.RulePathParent},
		{`["{foo,bar"]`, skill.RulePathUnbalanced},
		{`["**"]`, skill.RulePathBroad},
		{`["*"]`, skill.RulePathBroad},
		{`["a[b"]`, skill.RulePathUnbalanced},
		{`["a**"]`, skill.RulePathInvalid},
		{`""`, "bad"},
		{`"*.py"`, skill.RulePathsFormat},
		{`[]`, ""},
	} {
		d, _, ds, err := skill.Parse([]byte(skillFile("a", "b", "paths: "+c.field)))
		if c.rule == "bad" {
			if err == nil {
				t.Errorf("%s: %v", c.field, ds)
			}
			continue
		}
		if err != nil || strings.Join(rules(ds), " ") != c.rule || (c.field != "[]" && len(d.Paths) == 0) {
			t.Errorf("%s: %v %v %v", c.field, d.Paths, ds, err)
		}
	}
}

func TestParseShellUnknownFieldsAndNulls(t *testing.T) {
	t.Parallel()
	d, _, ds, err := skill.Parse([]byte(skillFile("a", "b", "shell: fish", "user-invocable: true", "license:")))
	if err != nil || d.Shell != skill.ShellBash {
		t.Error(d.Shell, err)
	}
	if got := rules(ds); !cmp.Equal(got, []string{skill.RuleFieldNull, skill.RuleShell, skill.RuleUnknownField}) {
		t.Error(got)
	}
	if d, _, ds, _ := skill.Parse([]byte(skillFile("a", "b", "shell: powershell"))); d.Shell != skill.ShellPowerShell || len(ds) > 0 {
		t.Error(d.Shell, ds)
	}
}

func TestParseLegacyFields(t *testing.T) {
	t.Parallel()
	d, body, ds, err := skill.Parse([]byte(skillFile("a", "b", `version: "1.0.0"`, "author: me", "tags: [code, review]",
		"instructions: Old ones.", "resources: [{name: x, path: y}]")))
	want := map[string]string{"version": "1.0.0", "author": "me", "tags": "code, review"}
	if diff := cmp.Diff(want, d.Metadata); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if body != "Do stuff.\n" {
		t.Errorf("body %q", body)
	}
	if got := rules(ds); !cmp.Equal(got, []string{skill.RuleLegacyField, skill.RuleLegacyField}) {
		t.Error(got)
	}
	d, _, _, _ = skill.Parse([]byte(skillFile("a", "b", "author: me", "metadata:", "  author: you")))
	if d.Metadata["author"] != "you" {
		t.Error(d.Metadata)
	}
	_, body, _, err = skill.Parse([]byte("---\nname: a\ndescription: b\ninstructions: Old ones.\n---\n \n"))
	if err != nil || body != "Old ones." {
		t.Errorf("%q %v", body, err)
	}
}

func TestInstructionsOfAnyFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ raw, want string }{
		{"# No front matter", "# No front matter"},
		{"---\nname: a\n", ""},
		{"---\nname: [\n---\nx", ""},
		{"---\nname: a\n---\n\n# Instructions\n\nDo stuff.", "# Instructions\n\nDo stuff."},
		{"---\nname: a\ninstructions: These.\n---\nbody", "These."},
	} {
		if got := skill.Instructions([]byte(c.raw)); got != c.want {
			t.Errorf("%q: %q, want %q", c.raw, got, c.want)
		}
	}
}

func TestParseDependsOn(t *testing.T) {
	t.Parallel()
	for field, want := range map[string][]string{
		"depends_on: [b, c]": {"b", "c"}, "depends-on: b c": {"b", "c"}, "depends_on: {b: c}": nil,
	} {
		d, _, _, err := skill.Parse([]byte(skillFile("a", "b", field)))
		if err != nil || !cmp.Equal(d.DependsOn, want) {
			t.Errorf("%s: %v %v", field, d.DependsOn, err)
		}
	}
}

func TestDiagnosticsArePrinted(t *testing.T) {
	t.Parallel()
	d := skill.Diagnostic{File: "a/SKILL.md", Line: 2, Rule: skill.RuleNameFormat, Message: "bad"}
	if got, want := d.String(), "a/SKILL.md:2: name-format: bad"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := (skill.Diagnostic{Rule: "x", Message: "bad"}).String(), "x: bad"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (skill.Diagnostic{File: "a\nb", Rule: "x", Message: "bad"}).String(); strings.Contains(got, "\n") {
		t.Errorf("%q", got)
	}
}

func TestDiagnosticsOfOneFileAreBounded(t *testing.T) {
	t.Parallel()
	var fields []string
	for i := range 1000 {
		fields = append(fields, fmt.Sprintf("x%d: y", i))
	}
	_, _, ds, err := skill.Parse([]byte(skillFile("a", "b", append(fields, "hooks: [x]")...)))
	if err == nil || len(ds) != 100 || !skill.HasErrors(ds) {
		t.Error(len(ds), err)
	}
}
