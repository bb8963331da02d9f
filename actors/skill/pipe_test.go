//go:build unix

package skill_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/skill"
)

// pipe makes a named pipe that nobody writes to.
func pipe(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

// unstuck fails the test if f does not return, and lets it go on then: the pipe gets a writer.
func unstuck(t *testing.T, path string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Errorf("%s is waited for", filepath.Base(path))
		if w, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0); err == nil {
			defer w.Close()
		}
		<-done
	}
}

// A pipe where a directory is looked for would be waited for, for ever: whoever can write in a project could stop its agents.
func TestNoPipeIsWaitedFor(t *testing.T) {
	t.Parallel()
	discover := func(scope skill.Scope) (*skill.Catalogue, error) {
		return skill.Discover(context.Background(), []skill.Scope{scope}, skill.Options{})
	}
	t.Run("scope", func(t *testing.T) {
		t.Parallel()
		root := tempDir(t)
		path := filepath.Join(root, "skills")
		pipe(t, path)
		for name, scope := range map[string]skill.Scope{"project": skill.Project(root), "custom": skill.Custom(path)} {
			unstuck(t, path, func() {
				if found, err := discover(scope); err == nil || !strings.Contains(err.Error(), "cannot be read") {
					t.Errorf("%s: got %v, %v", name, found.Names(), err)
				}
			})
		}
	})
	t.Run("resources", func(t *testing.T) {
		t.Parallel()
		root := tempDir(t)
		put(t, root, "one/SKILL.md", skillFile("one", "Does one."))
		path := filepath.Join(root, "one", "scripts")
		pipe(t, path)
		found, err := discover(skill.Custom(root))
		if err != nil {
			t.Fatal(err)
		}
		d, _ := found.Get("one")
		unstuck(t, path, func() {
			if c, err := skill.Load(d); err != nil || len(c.Resources) != 0 {
				t.Errorf("got %v, %v", c.Resources, err)
			}
		})
	})
	t.Run("validate", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(tempDir(t), "one")
		pipe(t, path)
		unstuck(t, path, func() {
			if ds := skill.Validate(path); !has(ds, skill.RuleFileMissing) {
				t.Errorf("got %v", ds)
			}
		})
	})
}
