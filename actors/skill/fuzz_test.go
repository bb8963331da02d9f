package skill_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/actors/skill"
)

func FuzzParse(f *testing.F) {
	f.Add([]byte(codeReview))
	f.Add([]byte(skillFile("a", "Use when: x", "allowed_tools: [a, b]", "tags: [x]", "depends_on: a b", "instructions: |\n  a: b: c")))
	f.Add([]byte("\xef\xbb\xbf \r\n---\r\nname: &a b\r\nx: *a\r\n---\r\n\r\nbody"))
	f.Add([]byte("---\nhooks: {PreToolUse: [{matcher: a|b(c|d), hooks: [{type: permission, decision: ask, suggestions: [x]}]}]}\n---"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, body, ds, err := skill.Parse(raw)
		if (err != nil) != skill.HasErrors(ds) {
			t.Fatalf("%v but %v", err, ds)
		}
		for _, x := range ds {
			if s := x.String(); strings.ContainsAny(s, "\n\r") || !utf8.ValidString(s) || x.Line > 1+strings.Count(string(raw), "\n")+strings.Count(string(raw), "\r") {
				t.Fatalf("%q %d", s, x.Line)
			}
		}
		_ = skill.Instructions(raw)
		if err != nil {
			return
		}
		if strings.TrimSpace(d.Name) == "" || strings.TrimSpace(d.Description) == "" || !utf8.ValidString(body) {
			t.Fatalf("%q %q", d.Name, d.Description)
		}
		if line := d.CatalogueLine(); strings.ContainsAny(line, "\n\r") {
			t.Fatalf("%q", line)
		}
		d.Permits("Bash(x)")
		d.MatchesPath("a/b.c")
		block := skill.Content{Descriptor: d, Instructions: body}.PromptBlock()
		if strings.Count(strings.ToLower(block), "<skill_content") != 1 || strings.Count(strings.ToLower(block), "</skill_content") != 1 {
			t.Fatalf("%q", block)
		}
		again, _, _, err := skill.Parse(raw)
		if err != nil || again.Digest != d.Digest || again.Name != d.Name {
			t.Fatal("not the same twice", err)
		}
	})
}

func FuzzSegments(f *testing.F) {
	for _, s := range []string{
		"a !`b` ${1}", ticks + "!\na\n" + ticks, "````\n!`a`\n````\n!`b`", "~~~\n!`a`\n~~~", ticks + "!", "!`${1}` ${ARGUMENTS}", " !`a\n`",
	} {
		f.Add(s, " !`evil`\n"+ticks+"!evil"+ticks)
	}
	f.Fuzz(func(t *testing.T, body, arg string) {
		segments, ds := skill.Segments(body)
		var whole strings.Builder
		var want []string
		line := 1
		for i, s := range segments {
			if s.Raw == "" || s.Line != line || (i > 0 && s.Kind == skill.SegmentText && segments[i-1].Kind == skill.SegmentText) {
				t.Fatalf("%v", segments)
			}
			line += strings.Count(s.Raw, "\n")
			whole.WriteString(s.Raw)
			if s.Command != "" {
				want = append(want, s.Command)
				if !strings.Contains(s.Raw, s.Command) || s.Kind == skill.SegmentText {
					t.Fatalf("%v", s)
				}
			}
		}
		if whole.String() != body || (len(ds) > 0 && len(want) > 0) {
			t.Fatalf("%v of %q", segments, body)
		}
		// Whatever the arguments are, what runs is what the body has.
		var ran []string
		vars := skill.Vars{SkillDir: arg, SessionID: arg, Arguments: []string{arg}}
		_, _, err := skill.Expand(t.Context(), body, vars, func(_ context.Context, cmd string) string {
			ran = append(ran, cmd)
			return arg
		})
		if err == nil && !slices.Equal(ran, want) {
			t.Fatalf("ran %q, want %q", ran, want)
		}
	})
}
