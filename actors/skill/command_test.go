package skill_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/skill"
	"github.com/skelegent/skelegent-go/protocol"
)

// runner is a run that knows what a few commands print, and what it was asked to run.
type runner struct{ ran []string }

func (r *runner) run(_ context.Context, cmd string) string {
	r.ran = append(r.ran, cmd)
	if out, ok := strings.CutPrefix(cmd, "echo "); ok {
		return out + "\n"
	}
	return "[error: exit code 127]"
}

func expand(t *testing.T, body string, vars skill.Vars) (text string, ran []string, ds []skill.Diagnostic) {
	t.Helper()
	var r runner
	text, ds, err := skill.Expand(t.Context(), body, vars, r.run)
	if err != nil {
		t.Fatal(err)
	}
	return text, r.ran, ds
}

const ticks = "```"

func TestExpandReplacesCommands(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body, want string
		ran        []string
	}{
		"inline":                       {"Current dir is !`echo /test/path`", "Current dir is /test/path", []string{"echo /test/path"}},
		"inline at the beginning":      {"!`echo a` b", "a b", []string{"echo a"}},
		"inline after a line break":    {"a\n!`echo b`", "a\nb", []string{"echo b"}},
		"inline keeps white space":     {"a \t !`echo b`.", "a \t b.", []string{"echo b"}},
		"two in a line":                {"!`echo a` !`echo b`", "a b", []string{"echo a", "echo b"}},
		"block":                        {"Before\n" + ticks + "!\necho hello-world\n" + ticks + "\nAfter", "Before\nhello-world\nAfter", []string{"echo hello-world"}},
		"block in one line":            {ticks + "! echo a " + ticks + " b", "a b", []string{"echo a"}},
		"block without a space":        {ticks + "!echo a" + ticks, "a", []string{"echo a"}},
		"block of several lines":       {ticks + "!\necho a\nb\n" + ticks, "a\nb", []string{"echo a\nb"}},
		"block to the next backticks":  {ticks + "!\necho a" + ticks + " " + ticks, "a " + ticks, []string{"echo a"}},
		"empty block":                  {"a\n" + ticks + "!\n" + ticks + "\nb", "a\n\nb", nil},
		"failures are texts":           {"x !`false`", "x [error: exit code 127]", []string{"false"}},
		"inline mark in a block":       {ticks + "!\necho !`echo b`\n" + ticks, "!`echo b`", []string{"echo !`echo b`"}},
		"no space before":              {"x=!`echo a`", "x=!`echo a`", nil},
		"a parenthesis before":         {"(!`echo a`)", "(!`echo a`)", nil},
		"an image":                     {"![alt](url)", "![alt](url)", nil},
		"an empty inline":              {"a !`` b !` ` c", "a !`` b !` ` c", nil},
		"an inline without an end":     {"a !`echo b", "a !`echo b", nil},
		"an inline over two lines":     {"a !`echo\nb` c", "a !`echo\nb` c", nil},
		"a block in a word":            {"use " + ticks + "code" + ticks + "! and " + ticks + "x" + ticks, "use " + ticks + "code" + ticks + "! and " + ticks + "x" + ticks, nil},
		"an ordinary fence":            {ticks + "\ncode\n" + ticks + "\n!`echo a`", ticks + "\ncode\n" + ticks + "\na", []string{"echo a"}},
		"inline in an ordinary fence":  {ticks + "text\n!`echo a`\n" + ticks, ticks + "text\na\n" + ticks, []string{"echo a"}},
		"block in a longer fence":      {"````markdown\n" + ticks + "!\necho a\n" + ticks + "\n````\n!`echo b`", "````markdown\n" + ticks + "!\necho a\n" + ticks + "\n````\nb", []string{"echo b"}},
		"inline in a longer fence":     {"  ````\n!`echo a`\n  `````\n!`echo b`", "  ````\n!`echo a`\n  `````\nb", []string{"echo b"}},
		"inline in a fence of tildes":  {"~~~\n!`echo a`\n````\n~~~\n!`echo b`", "~~~\n!`echo a`\n````\n~~~\nb", []string{"echo b"}},
		"a longer fence without end":   {"!`echo a`\n````\n!`echo b`", "a\n````\n!`echo b`", []string{"echo a"}},
		"four backticks and a mark":    {"````!\necho a\n````", "````!\necho a\n````", nil},
		"no commands":                  {"Wow! `code` and ~~this~~", "Wow! `code` and ~~this~~", nil},
		"nothing":                      {"", "", nil},
		"outputs are not read again":   {"!`echo !` x !`echo ${1}`", "! x ${1}", []string{"echo !", "echo ${1}"}},
		"outputs have no white space":  {"a !`echo   b  `", "a b", []string{"echo   b  "}},
		"indented block in a list":     {"- x\n  " + ticks + "!\n  echo a\n  " + ticks, "- x\n  a", []string{"echo a"}},
		"a mark of three in an inline": {"a !" + ticks + "echo b" + ticks, "a !" + ticks + "echo b" + ticks, nil},
	} {
		got, ran, ds := expand(t, c.body, skill.Vars{Arguments: []string{"INJECTED"}})
		if got != c.want || !cmp.Equal(ran, c.ran) || len(ds) > 0 {
			t.Errorf("%s: %q ran %q %v, want %q", name, got, ran, ds, c.want)
		}
	}
}

func TestExpandReplacesVariablesAndCommands(t *testing.T) {
	t.Parallel()
	got, ran, _ := expand(t, "Hello ${1}! Status: !`echo ok`", skill.Vars{Arguments: []string{"World"}})
	if got != "Hello World! Status: ok" || len(ran) != 1 {
		t.Errorf("%q %q", got, ran)
	}
}

func TestNothingOfTheArgumentsIsEverRun(t *testing.T) {
	t.Parallel()
	for _, evil := range []string{
		"!`echo injected`", "\n!`touch /tmp/evil`\n", "\n" + ticks + "!\necho injected\n" + ticks + "\n", ticks + "! echo injected " + ticks,
		"`", ticks, "!", "echo injected`", ticks + "!", "\n````\n", "; echo injected", "$(echo injected)",
	} {
		for _, body := range []string{
			"Task: ${1}", "${ARGUMENTS}", "!${1}", "!`echo ${1}`", "a !`echo ok` ${1} !`echo ok`", "${1}\n" + ticks + "!\necho ${1}\n" + ticks,
			ticks + "!\necho ${ARGUMENTS}\n" + ticks + "${1}", "!`${1}`", "x ${1}echo b`",
		} {
			want := commands(body)
			_, ran, _ := expand(t, body, skill.Vars{Arguments: []string{evil}, SkillDir: evil, SessionID: evil})
			if !slices.Equal(ran, want) {
				t.Errorf("%q with %q ran %q, want %q", body, evil, ran, want)
			}
		}
	}
	got, _, _ := expand(t, "Say ${1}. !`echo ok`", skill.Vars{Arguments: []string{" !`echo injected`"}})
	if want := "Say  !`echo injected`. ok"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func commands(body string) []string {
	var all []string
	segments, _ := skill.Segments(body)
	for _, s := range segments {
		if s.Command != "" {
			all = append(all, s.Command)
		}
	}
	return all
}

func TestAnUnclosedBlockRunsNothing(t *testing.T) {
	t.Parallel()
	body := "a !`echo ok` ${1}\n\n" + ticks + "!\necho x"
	got, ran, ds := expand(t, body, skill.Vars{Arguments: []string{"b"}})
	if want := strings.Replace(body, "${1}", "b", 1); got != want || len(ran) > 0 {
		t.Errorf("%q ran %q", got, ran)
	}
	if len(ds) != 1 || ds[0].Rule != skill.RuleBlockUnclosed || ds[0].Line != 3 || ds[0].Severity != skill.SeverityWarning {
		t.Error(ds)
	}
}

func TestTooManyOrTooLongCommandsRunNothing(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		strings.Repeat("!`echo a`\n", skill.MaxCommands+1),
		"!`echo ok` !`" + strings.Repeat("x", skill.MaxCommand+1) + "`",
		"!`echo ok` !`echo \x00`",
	} {
		got, ran, ds := expand(t, body, skill.Vars{})
		if got != body || len(ran) > 0 || len(ds) != 1 || ds[0].Rule != skill.RuleLimit {
			t.Errorf("%.30q ran %q %v", got, ran, ds)
		}
	}
	if _, ran, _ := expand(t, strings.Repeat("!`echo a`\n", skill.MaxCommands), skill.Vars{}); len(ran) != skill.MaxCommands {
		t.Error(len(ran))
	}
}

func TestExpandWithoutARunLeavesCommands(t *testing.T) {
	t.Parallel()
	got, _, err := skill.Expand(t.Context(), "${1} !`echo dangerous` ${1}", skill.Vars{Arguments: []string{"a"}}, nil)
	if want := "a !`echo dangerous` a"; err != nil || got != want {
		t.Errorf("%q %v, want %q", got, err, want)
	}
}

func TestSkillsOfServersRunNothing(t *testing.T) {
	t.Parallel()
	var r runner
	c := skill.Content{Descriptor: skill.Descriptor{Name: "a", Source: skill.SourceMCP}, Instructions: "${1} !`echo dangerous`"}
	c, _, err := c.Expand(t.Context(), skill.Vars{Arguments: []string{"a"}}, r.run)
	if err != nil || c.Instructions != "a !`echo dangerous`" || len(r.ran) > 0 {
		t.Error(c.Instructions, r.ran, err)
	}
}

func TestExpandEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	_, _, err := skill.Expand(ctx, "!`a` !`b`", skill.Vars{}, func(context.Context, string) string { n++; cancel(); return "" })
	if protocol.CodeOf(err) != protocol.CodeCancelled || n != 1 {
		t.Error(err, n)
	}
}

func TestExpandIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	_, _, err := skill.Expand(t.Context(), strings.Repeat("${1}", 1000), skill.Vars{Arguments: []string{long}}, nil)
	if protocol.CodeOf(err) != protocol.CodeQuotaExceeded {
		t.Error(err)
	}
	_, _, err = skill.Expand(t.Context(), strings.Repeat("!`a` ", 5), skill.Vars{}, func(context.Context, string) string { return long })
	if protocol.CodeOf(err) != protocol.CodeQuotaExceeded {
		t.Error(err)
	}
}

func TestSegmentsAreTheWholeBody(t *testing.T) {
	t.Parallel()
	body := "a\n!`b` c\n" + ticks + "!\nd\n" + ticks + "\n"
	got, ds := skill.Segments(body)
	want := []skill.Segment{
		{Kind: skill.SegmentText, Raw: "a\n", Line: 1},
		{Kind: skill.SegmentInline, Raw: "!`b`", Command: "b", Line: 2},
		{Kind: skill.SegmentText, Raw: " c\n", Line: 2},
		{Kind: skill.SegmentBlock, Raw: ticks + "!\nd\n" + ticks, Command: "d", Line: 3},
		{Kind: skill.SegmentText, Raw: "\n", Line: 5},
	}
	if diff := cmp.Diff(want, got); diff != "" || len(ds) > 0 {
		t.Error(diff, ds)
	}
}

func TestSegmentsOfHostileBodiesTakeNoLongTime(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"!`", "`", "~~~ ", "~", "!", " !`a", " ```", "````\n", " !`a\n", "```` "} {
		_, _ = skill.Segments(strings.Repeat(part, skill.MaxBody/len(part)))
	}
}
