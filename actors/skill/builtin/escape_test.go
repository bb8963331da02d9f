//go:build unix

package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/skelegent/skelegent-go/actors/skill/builtin"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// trap is a root with links that lead out of it, and what is there.
func trap(t *testing.T) (f *builtin.FileSystem, root, outside string) {
	t.Helper()
	base := t.TempDir()
	root, outside = filepath.Join(base, "root"), filepath.Join(base, "outside")
	put(t, root, "in/file", "inside")
	put(t, outside, "file", "outside")
	for name, target := range map[string]string{
		"rel": "../outside", "abs": outside, "file-rel": "../outside/file", "file-abs": filepath.Join(outside, "file"),
		"new": "../outside/new", "loop": "loop", "in/up": "../../outside", "chain": "rel", "etc": "/etc", "good": "in", "in/good": "file",
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	f, _ = files(t, builtin.FileSystemConfig{Root: root})
	return f, root, outside
}

func TestNoPathLeadsOut(t *testing.T) {
	t.Parallel()
	f, root, outside := trap(t)
	for _, path := range []string{
		"..", "../outside/file", "in/../../outside/file", "in/..", `..\outside\file`, "/etc/passwd", filepath.Join(outside, "file"), `\etc`,
		"rel/file", "abs/file", "file-rel", "file-abs", "in/up/file", "chain/file", "etc/passwd", "loop", "rel/sub/file", "new",
		"./rel/file", "in//up///file", "a\x00b", "rel", "abs",
	} {
		for name, input := range map[string]in{
			"read_file": {"path": path}, "write_file": {"path": path, "content": "written"}, "list_dir": {"path": path},
		} {
			out, err := call(t, f, name, input)
			var e *protocol.Error
			if !errors.As(err, &e) || !strings.HasPrefix(string(e.Kind), "skill.") {
				t.Errorf("%s of %q: %v, %v", name, path, out, err)
			}
		}
	}
	if got := get(t, outside, "file"); got != "outside" {
		t.Errorf("written outside: %q", got)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 1 {
		t.Errorf("made outside: %v %v", left, err)
	}
	for _, path := range []string{"../outside", "abs/file", "file-rel"} {
		_, err := call(t, f, "read_file", in{"path": path})
		if strings.Contains(err.Error(), root) {
			t.Errorf("the error shows where the root is: %v", err)
		}
	}
}

func TestLinksWithinTheRootAreRead(t *testing.T) {
	t.Parallel()
	f, _, _ := trap(t)
	for _, path := range []string{"good/file", "in/good", "good/good"} {
		if got := must(t, f, "read_file", in{"path": path}); got["text"] != "inside" {
			t.Errorf("%s: %v", path, got)
		}
	}
	must(t, f, "write_file", in{"path": "good/other", "content": "x"})
	must(t, f, "list_dir", in{"path": "good"})
	_, err := call(t, f, "write_file", in{"path": "in/good", "content": "x"}) // the last part is a link
	wantKind(t, err, builtin.KindNotRegular)
}

func TestNamedPipesAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	f, root := files(t, builtin.FileSystemConfig{})
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := call(t, f, "read_file", in{"path": "pipe"})
	wantKind(t, err, builtin.KindNotRegular)
	_, err = call(t, f, "write_file", in{"path": "pipe", "content": "x"})
	wantKind(t, err, builtin.KindNotRegular)
	_, err = call(t, f, "list_dir", in{"path": "pipe"})
	wantKind(t, err, builtin.KindUnreadable)
	_, err = call(t, f, "write_file", in{"path": "pipe/x", "content": "x"})
	wantKind(t, err, builtin.KindUnreadable)
	if got := fmt.Sprint(must(t, f, "list_dir", in{})["entries"]); got != "[map[name:pipe type:other]]" {
		t.Error(got)
	}
}

// Somebody exchanges a directory for a link that leads out, a file for one, and a file for a named pipe, while the tools run. They may
// fail then, but never see or change what is outside, and never wait.
func TestLinksMadeWhileACallRunsLeadNowhere(t *testing.T) {
	t.Parallel()
	f, root, outside := trap(t)
	at := func(name string) string { return filepath.Join(root, name) }
	put(t, root, "swap/file", "inside")
	put(t, root, "leaf", "inside")
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	exchange := func(name, by string) {
		for ctx.Err() == nil {
			for _, pair := range [][2]string{{name, name + ".real"}, {by, name}, {name, by}, {name + ".real", name}} {
				_ = os.Rename(at(pair[0]), at(pair[1])) // a writer may have put a file of that name there
			}
		}
	}
	wg.Go(func() { exchange("swap", "rel") })
	wg.Go(func() { exchange("leaf", "file-rel") })
	wg.Go(func() { exchange("leaf2", "pipe") })
	reads := 0
	for i := range 400 {
		for _, path := range []string{"swap/file", "leaf", "leaf2"} {
			if out, err := call(t, f, "read_file", in{"path": path}); err == nil {
				reads++
				if out["text"] == "outside" {
					t.Errorf("read %s from outside", path)
				}
			}
		}
		put := func(path string) {
			input, _ := json.Marshal(in{"path": path, "content": fmt.Sprint("written ", i)})
			_, _ = tool.Call(ctx, named(t, f, "write_file"), input)
		}
		put("swap/made")
		put("swap/file")
		put("leaf2")
		if out, err := call(t, f, "list_dir", in{"path": "swap"}); err == nil && strings.Contains(fmt.Sprint(out), "only-outside") {
			t.Error("listed from outside")
		}
		if i == 0 {
			if err := os.WriteFile(filepath.Join(outside, "only-outside"), nil, 0o600); err != nil {
				t.Error(err)
			}
		}
		if t.Failed() {
			break
		}
	}
	stop()
	wg.Wait()
	if reads == 0 {
		t.Error("nothing was read: the test shows nothing")
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 2 || get(t, outside, "file") != "outside" {
		t.Errorf("changed outside: %v %v", left, err)
	}
}
