package skill_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/skill"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

// link makes a symbolic link.
func link(t testing.TB, target, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// skillFile is a small SKILL.md with some more fields.
func skillFile(name, description string, fields ...string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n" + strings.Join(append(fields, ""), "\n") + "---\n\nDo stuff.\n"
}

// rules are the rules of diagnostics, sorted.
func rules(ds []skill.Diagnostic) []string {
	var all []string
	for _, d := range ds {
		all = append(all, d.Rule)
	}
	slices.Sort(all)
	return all
}

// only are the diagnostics of a rule.
func only(ds []skill.Diagnostic, rule string) []skill.Diagnostic {
	var all []skill.Diagnostic
	for _, d := range ds {
		if d.Rule == rule {
			all = append(all, d)
		}
	}
	return all
}

func has(ds []skill.Diagnostic, rule string) bool { return len(only(ds, rule)) > 0 }
