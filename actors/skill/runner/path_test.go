package runner_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/skelegent/skelegent-go/actors/skill/runner"
	"github.com/skelegent/skelegent-go/protocol"
)

// tree is a skill's directory with all that a path can lead to, beside a file that is none of its business.
func tree(t *testing.T) (dir, secret string) {
	t.Helper()
	outside := t.TempDir()
	secret = write(t, outside, "secret.txt", "secret")
	dir = filepath.Join(t.TempDir(), "skill")
	write(t, dir, "README.md", "read me")
	write(t, dir, "scripts/run.py", "print()")
	write(t, dir, "large", strings.Repeat("x", 1<<20+1))
	write(t, dir, "full", strings.Repeat("x", 1<<20))
	write(t, dir, "binary", "a\xffb")
	write(t, dir, "a b/ü", "named")
	for link, to := range map[string]string{
		"out": secret, "outdir": outside, "in": "README.md", "in-absolute": filepath.Join(dir, "README.md"),
		"up": filepath.Join("..", "skill", "README.md"), "dangling": "nothing", "loop": "loop", "indir": "scripts",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	return dir, secret
}

func TestReadAndResolve(t *testing.T) {
	t.Parallel()
	dir, secret := tree(t)
	const unresolved = "-"
	for _, tc := range []struct {
		path     string
		text     string             // of Read
		kind     protocol.ErrorKind // of Read
		message  string
		resolved string // relative; unresolved if Resolve fails as Read does
	}{
		{path: "README.md", text: "read me", resolved: "README.md"},
		{path: "scripts/run.py", text: "print()", resolved: "scripts/run.py"},
		{path: "./scripts/./run.py", text: "print()", resolved: "scripts/run.py"},
		{path: "a b/ü", text: "named", resolved: "a b/ü"},
		{path: "in", text: "read me", resolved: "README.md"},
		{path: "in-absolute", text: "read me", resolved: "README.md"},
		{path: "up", text: "read me", resolved: "README.md"},
		{path: "indir/run.py", text: "print()", resolved: "scripts/run.py"},
		{path: "full", text: strings.Repeat("x", 1<<20), resolved: "full"},
		{path: "large", kind: runner.KindTooLarge, message: "larger than 1048576 bytes", resolved: "large"},
		{path: "binary", kind: runner.KindNotText, message: "not UTF-8", resolved: "binary"},
		{path: "missing.py", kind: runner.KindNotFound, message: "Resource file not found", resolved: unresolved},
		{path: "README.md/x", kind: runner.KindUnreadable, resolved: unresolved},
		{path: "dangling", kind: runner.KindNotFound, message: "Resource file not found", resolved: unresolved},
		{path: "loop", kind: runner.KindUnreadable, resolved: unresolved},
		{path: "scripts", kind: runner.KindUnreadable, resolved: unresolved},
		{path: ".", kind: runner.KindUnreadable, resolved: unresolved},
		{path: "out", kind: runner.KindEscapes, message: "Resolved path escapes the skill directory", resolved: unresolved},
		{path: "outdir/secret.txt", kind: runner.KindEscapes, message: "Resolved path escapes the skill directory", resolved: unresolved},
		{path: "outdir/missing", kind: runner.KindNotFound, resolved: unresolved},
		{path: secret, kind: runner.KindEscapes, message: "Resolved path escapes the skill directory", resolved: unresolved},
		{path: "/etc/passwd", kind: runner.KindEscapes, message: "Resolved path escapes the skill directory", resolved: unresolved},
		{path: "../secret.txt", kind: runner.KindPath, resolved: unresolved},
		{path: "foo/../../escape", kind: runner.KindPath, resolved: unresolved},
		{path: "scripts/../README.md", kind: runner.KindPath, resolved: unresolved},
		{path: `scripts\..\README.md`, kind: runner.KindPath, resolved: unresolved},
		{path: "..", kind: runner.KindPath, resolved: unresolved},
		{path: "", kind: runner.KindPath, resolved: unresolved},
		{path: "a\x00b", kind: runner.KindPath, resolved: unresolved},
		{path: strings.Repeat("x", 5000), kind: runner.KindPath, resolved: unresolved},
	} {
		t.Run(tc.path[:min(len(tc.path), 40)], func(t *testing.T) {
			t.Parallel()
			text, err := runner.Read(dir, tc.path, 0)
			if (err == nil) != (tc.kind == "") || err != nil && !isKind(err, tc.kind) || text != tc.text {
				t.Fatalf("Read: %d bytes, %v", len(text), err)
			}
			if err != nil && (!strings.Contains(err.Error(), tc.message) || len(err.Error()) > 200) {
				t.Errorf("error %q does not say %q", err, tc.message)
			}
			got, err := runner.Resolve(dir, tc.path)
			if tc.resolved == unresolved {
				if !isKind(err, tc.kind) {
					t.Errorf("Resolve: %q, %v", got, err)
				}
				return
			}
			real, _ := filepath.EvalSymlinks(dir)
			if err != nil || got != filepath.Join(real, tc.resolved) {
				t.Errorf("Resolve: %q, %v", got, err)
			}
		})
	}
}

func TestReadInALinkedDirectory(t *testing.T) {
	t.Parallel()
	dir, _ := tree(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if text, err := runner.Read(link, "README.md", 0); err != nil || text != "read me" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := runner.Read(link, "README.md", 3); !isKind(err, runner.KindTooLarge) {
		t.Errorf("limit: %v", err)
	}
	if _, err := runner.Read("relative", "README.md", 0); !isKind(err, runner.KindInvalid) {
		t.Errorf("relative: %v", err)
	}
	if _, err := runner.Read(filepath.Join(dir, "no"), "README.md", 0); !isKind(err, runner.KindNotFound) {
		t.Errorf("no directory: %v", err)
	}
}

// To open a named pipe would wait for somebody who writes.
func TestReadDoesNotWaitForAPipe(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: no named pipes among files")
	}
	dir := t.TempDir()
	do(t, runner.Direct(config()), runner.Spec{Command: []string{"/usr/bin/mkfifo", "pipe"}, Dir: dir})
	if _, err := runner.Read(dir, "pipe", 0); !isKind(err, runner.KindUnreadable) {
		t.Errorf("error = %v", err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "zero")); err != nil {
		t.Fatal(err)
	}
	if _, err := runner.Read(dir, "zero", 0); !isKind(err, runner.KindEscapes) {
		t.Errorf("error = %v", err)
	}
}

// A link that is exchanged all the time never leads outside: neither that of the file nor that of a directory on the way.
func TestReadIsNotLedOutsideByLinksMadeMeanwhile(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, path, swapped, inside, outside string }{
		{"file", "file", "file", "good", "secret.txt"},
		{"directory", "d/secret.txt", "d", "gooddir", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			outside, dir := t.TempDir(), t.TempDir()
			write(t, outside, "secret.txt", "secret")
			write(t, dir, "good", "good")
			write(t, dir, "gooddir/secret.txt", "good")
			var stop atomic.Bool
			var swapping sync.WaitGroup
			swap := func(to, by string) {
				_ = os.Remove(by)
				if os.Symlink(to, by) == nil {
					_ = os.Rename(by, filepath.Join(dir, tc.swapped))
				}
			}
			swap(tc.inside, filepath.Join(dir, "x"))
			swapping.Go(func() {
				for !stop.Load() {
					swap(filepath.Join(outside, tc.outside), filepath.Join(dir, "x"))
					swap(tc.inside, filepath.Join(dir, "x"))
				}
			})
			// And one where a real file or directory takes turns with a link, which no check of links beforehand can see.
			swapping.Go(func() {
				hold, evil := filepath.Join(dir, "hold"), filepath.Join(dir, "evil")
				real := filepath.Join(dir, tc.inside)
				if os.Symlink(filepath.Join(outside, tc.outside), evil) != nil {
					return
				}
				for !stop.Load() {
					_ = os.Rename(real, hold)
					_ = os.Rename(evil, real)
					_ = os.Rename(real, evil)
					_ = os.Rename(hold, real)
				}
			})
			defer func() {
				stop.Store(true)
				swapping.Wait()
			}()
			good, refused := 0, 0
			for good+refused < 6000 {
				text, err := runner.Read(dir, tc.path, 0)
				switch {
				case err != nil:
					refused++
				case text == "good":
					good++
				default:
					t.Fatalf("read %q", text)
				}
			}
			if good == 0 || refused == 0 {
				t.Logf("the links were not exchanged in time: %d good, %d refused", good, refused)
			}
		})
	}
}

func FuzzCheckPath(f *testing.F) {
	for _, seed := range []string{"a/b", "../a", "a/..", "/a", `\a`, `a\..\b`, "C:\\a", ".", "a//b", "...", "a\x00"} {
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, path string) {
		if runner.CheckPath(path) != nil {
			return
		}
		rel, err := filepath.Rel(dir, filepath.Join(dir, path))
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			t.Errorf("%q leads to %q", path, rel)
		}
	})
}
