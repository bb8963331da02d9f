package trust_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/actors/skill"
	"github.com/skelegent/skelegent-go/actors/skill/trust"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestCheckBySource(t *testing.T) {
	t.Parallel()
	s, base := newStore(t), tempDir(t)
	trusted, other := newDir(t, base, "trusted"), newDir(t, base, "other")
	mustTrust(t, s, trusted)
	for name, tc := range map[string]struct {
		source skill.Source
		dir    string
		ok     bool
	}{
		"user":                   {skill.SourceUser, other, true},
		"custom":                 {skill.SourceCustom, other, true},
		"project":                {skill.SourceProject, other, false},
		"trusted project":        {skill.SourceProject, trusted, true},
		"below":                  {skill.SourceProject, newDir(t, trusted, "skills", "x"), true},
		"server":                 {skill.SourceMCP, "", false},
		"server with directory":  {skill.SourceMCP, other, false},
		"server, trusted":        {skill.SourceMCP, trusted, true},
		"no source":              {"", other, false},
		"unknown source":         {"plugin", other, false},
		"project that is gone":   {skill.SourceProject, filepath.Join(trusted, "gone"), false},
		"project without a path": {skill.SourceProject, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := s.Check(skill.Descriptor{Name: "x", Source: tc.source, Dir: tc.dir})
			if tc.ok {
				if err != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			wantCode(t, err, protocol.CodePermissionDenied)
			if want := "run `skelegent skills trust " + tc.dir + "`"; tc.dir != "" && err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("got %q, want %q in it", err, want)
			}
		})
	}
}

func TestCheckSaysThatTheFileIsDamaged(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	mustTrust(t, s, tempDir(t))
	writeFile(t, s.Path(), "{")
	d := skill.Descriptor{Name: "x", Source: skill.SourceProject, Dir: tempDir(t)}
	wantCode(t, s.Check(d), protocol.CodeInvalidInput)
	d.Source = skill.SourceUser
	if err := s.Check(d); err != nil {
		t.Errorf("a skill of the user needs no file: %v", err)
	}
}

// The line is copied to a shell, and the name of the directory is somebody else's.
func TestTheCommandOfTheErrorIsNoOther(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for _, name := range []string{"a b", "$(touch pwned)", "it's", "-x", "a;touch pwned", "a\ntouch pwned", "\x1b[2J", "`touch pwned`", "a  b", "\u202etxt", "\xff", "~", "#"} {
		dir := "/" + name
		err := s.Check(skill.Descriptor{Name: "x\x1b\n", Source: skill.SourceProject, Dir: dir})
		wantCode(t, err, protocol.CodePermissionDenied)
		_, command, _ := strings.Cut(err.Error(), "`")
		command = strings.TrimPrefix(strings.TrimSuffix(command, "`"), "skelegent skills trust ")
		if !utf8.ValidString(err.Error()) || strings.ContainsAny(err.Error(), "\x1b\n\u202e") {
			t.Errorf("%q", err)
		}
		work := t.TempDir()
		sh := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+command)
		sh.Dir = work
		out, err := sh.CombinedOutput()
		if left, _ := os.ReadDir(work); err != nil || (string(out) != dir && string(out) != "DIR") || len(left) > 0 {
			t.Errorf("%q: a shell reads %q, %v", dir, out, err)
		}
	}
}

func Example() {
	base, err := os.MkdirTemp("", "trust")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(base)
	project := filepath.Join(base, "project")
	if err := os.MkdirAll(filepath.Join(project, "skills", "tea"), 0o700); err != nil {
		panic(err)
	}
	text := "---\nname: tea\ndescription: Makes tea.\n---\nBoil water.\n"
	if err := os.WriteFile(filepath.Join(project, "skills", "tea", "SKILL.md"), []byte(text), 0o600); err != nil {
		panic(err)
	}
	found, err := skill.Discover(context.Background(), []skill.Scope{skill.Project(project)}, skill.Options{})
	if err != nil {
		panic(err)
	}
	tea, _ := found.Get("tea")

	store, err := trust.Open(filepath.Join(base, "trust.json"))
	if err != nil {
		panic(err)
	}
	fmt.Println(protocol.CodeOf(store.Check(tea)))
	if _, err := store.Trust(project); err != nil {
		panic(err)
	}
	fmt.Println(store.Check(tea))
	// Output:
	// permission_denied
	// <nil>
}
