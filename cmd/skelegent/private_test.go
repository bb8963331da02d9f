package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A file with prompts is its owner's alone, also where it was anybody's before.
func TestWritePrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, link := filepath.Join(dir, "run.json"), filepath.Join(dir, "link.json")
	if err := os.WriteFile(file, []byte("old and longer"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, link, filepath.Join(dir, "new.json")} {
		if err := writePrivate(name, []byte("new")); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		info, statErr := os.Stat(name)
		if err != nil || statErr != nil || string(got) != "new" || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %q, %v, %v, %v", name, got, info.Mode(), err, statErr)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link: %v, %v", info, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".skelegent-*")); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if err := writePrivate(filepath.Join(dir, "none", "x"), nil); err == nil {
		t.Error("a directory that is not there")
	}
}
