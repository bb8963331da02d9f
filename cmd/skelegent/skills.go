package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/skelegent/skelegent-go/actors/skill"
	"github.com/skelegent/skelegent-go/actors/skill/trust"
	"github.com/skelegent/skelegent-go/protocol"
)

// skillStore is the file of the directories that are trusted.
type skillStore struct {
	a    *app
	file string
}

// open uses the file of the flag, of the variable, or else the user's own.
func (s *skillStore) open() (*trust.Store, error) {
	if s.file == "" {
		s.file = s.a.getenv("SKELEGENT_TRUST")
	}
	return trust.Open(s.file)
}

func newSkills(a *app) *cobra.Command {
	store := &skillStore{a: a}
	cmd := group(&cobra.Command{
		Use: "skills", Short: "Look at, check, run and trust Agent Skills",
		Long: `Look at, check, run and trust Agent Skills: directories with a SKILL.md. None of this needs a server.

Skills are found in ./skills and ./.agents/skills of a project, in ~/.agents/skills, and in directories that are named. Of
two with one name the one of the project is kept, then the one of the user; but one that is trusted before one that is not.

What the skills of a project bring, scripts, commands and hooks, is run only if its directory was trusted.`,
		Example: `  skelegent skills ls
  skelegent skills validate skills
  skelegent skills show code-review --prompt
  skelegent skills trust .
  skelegent skills run code-review scripts/lint.sh -- --fix main.go`,
	}, newSkillsList(a, store), newSkillsValidate(a), newSkillsShow(a, store), newSkillsRun(a, store), newSkillsTrust(a, store))
	cmd.PersistentFlags().StringVar(&store.file, "trust-file", "",
		"`FILE` of the directories that are trusted (SKELEGENT_TRUST; default the user's own)")
	return cmd
}

// skillScopes are the flags that say where skills are looked for.
type skillScopes struct {
	project string
	user    bool
	dirs    []string
}

func (f *skillScopes) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.project, "project", "", "look in the project in `DIR` (without any of these flags in . and in the user's)")
	cmd.Flags().BoolVar(&f.user, "user", false, "look in ~/.agents/skills")
	cmd.Flags().StringArrayVar(&f.dirs, "dir", nil, "look in the directories in `DIR`; may be given several times")
}

// scopes are where to look, those that win first. A directory that was named must be there.
func (f *skillScopes) scopes(cmd *cobra.Command, home string) ([]skill.Scope, error) {
	given := cmd.Flags().Changed
	if given("project") && f.project == "" {
		return nil, usagef("--project must not be empty")
	}
	none := !given("project") && !given("dir") && !f.user
	project, user := f.project, f.user
	if none {
		project, user = ".", home != ""
	}
	if f.user && home == "" {
		return nil, usagef("--user: there is no home directory; name the directory with --dir")
	}
	var all []skill.Scope
	if project != "" {
		if err := needDir("--project", project); err != nil {
			return nil, err
		}
		all = append(all, skill.Project(project))
	}
	if user {
		all = append(all, skill.User(home))
		if project != "" && sameDir(project, home) { // what is the user's own is that first
			all[0], all[1] = all[1], all[0]
		}
	}
	for _, dir := range f.dirs {
		if dir == "" {
			return nil, usagef("--dir must not be empty")
		}
		if err := needDir("--dir", dir); err != nil {
			return nil, err
		}
		all = append(all, skill.Custom(dir))
	}
	return all, nil
}

func needDir(flag, dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return protocol.NewError(protocol.CodePermissionDenied, fmt.Sprintf("%s: %.200q cannot be read", flag, dir))
	case err != nil || !info.IsDir():
		return protocol.NewError(protocol.CodeNotFound, fmt.Sprintf("%s: there is no directory %.200q", flag, dir))
	}
	return nil
}

func sameDir(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// home is the user's home directory, empty if there is none.
func (a *app) home() string {
	if runtime.GOOS == "windows" {
		return a.getenv("USERPROFILE")
	}
	return a.getenv("HOME")
}

// discoverSkills finds the skills of the scopes, as an agent does: one that is not trusted hides none that is.
func (a *app) discoverSkills(cmd *cobra.Command, f *skillScopes, known *trust.Store) (*skill.Catalogue, error) {
	scopes, err := f.scopes(cmd, a.home())
	if err != nil {
		return nil, err
	}
	return skill.Discover(cmd.Context(), scopes, skill.Options{Yields: func(d skill.Descriptor) bool { return known.Check(d) != nil }})
}

// findSkill is the skill of that name.
func (a *app) findSkill(cmd *cobra.Command, f *skillScopes, known *trust.Store, name string) (skill.Descriptor, *skill.Catalogue, error) {
	found, err := a.discoverSkills(cmd, f, known)
	if err != nil {
		return skill.Descriptor{}, nil, err
	}
	d, ok := found.Get(name)
	if !ok {
		text := fmt.Sprintf("there is no skill %.100q", name)
		switch names := found.Names(); {
		case len(names) > 0:
			text += "; there are: " + clip(strings.Join(names, ", "), 500)
		case len(found.Diagnostics()) > 0:
			text += "; `skelegent skills ls` says what could not be used"
		default:
			text += ", nor any other; say where to look with --project, --user or --dir"
		}
		return d, nil, protocol.NewError(protocol.CodeNotFound, text)
	}
	return d, found, nil
}

// maxDiagnostics is how much that is wrong people are told at once.
const maxDiagnostics = 100

// showDiagnostics says what is wrong with skills, on the standard error.
func (a *app) showDiagnostics(ds []skill.Diagnostic) {
	for _, d := range ds[:min(len(ds), maxDiagnostics)] {
		a.err.print(diagnosticText(a.err, d) + "\n")
	}
	if more := len(ds) - maxDiagnostics; more > 0 {
		a.err.printf("and %d more; --json has all of them\n", more)
	}
}

// diagnosticText is the line of a diagnostic: file:line: rule: message, and whether it is only a warning.
func diagnosticText(o *output, d skill.Diagnostic) string {
	line := visible(oneLine(d.String()))
	if d.Severity == skill.SeverityError {
		return o.in(red, line)
	}
	return o.in(yellow, line+" (warning)")
}

// visible is a text in which what is not seen, or moves what is, is written out: who reads what a skill runs sees all of it.
func visible(s string) string {
	hidden := func(r rune) bool { return unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) }
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, "\\u{%x}", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// countDiagnostics counts errors and warnings.
func countDiagnostics(ds []skill.Diagnostic) (failures, warnings int) {
	for _, d := range ds {
		if d.Severity == skill.SeverityError {
			failures++
		} else {
			warnings++
		}
	}
	return failures, warnings
}

// number is n of something, as people say it.
func number(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// skillTexts is a list that JSON has as one, also if it is empty.
func skillTexts(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// absolute is a path for people, as it is if it has no absolute one.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// stopped is the error of a context that has ended, nil if it has not.
func stopped(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
