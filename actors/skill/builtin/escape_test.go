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
		"new": "../outside/new", "loop": "loop", "in/up": "../../outside", "chain": "rel", "etc": "/etc", "good": "in",
		"in/good": "file",
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
		"..", "../outside/file", "in/../../outside/file", "in/..", `..\outside\file`, "/etc/passwd",
		filepath.Join(outside, "file"), `\etc`,
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

// Somebody makes a directory, and a file, into a link that leads out, and a file into a named pipe, and back, while the tools run. They
// may fail then, but never see or change what is outside, and never wait.
func TestLinksMadeWhileACallRunsLeadNowhere(t *testing.T) {
	t.Parallel()
	f, root, outside := trap(t)
	at := func(name string) string { return filepath.Join(root, name) }
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, outside, "only-outside", "")
	links := [][3]string{{"swap", "in", "../outside"}, {"leaf", "in/file", "../outside/file"}, {"drip", "in/file", "pipe"}}
	for _, link := range links {
		if err := os.Symlink(link[1], at(link[0])); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			for _, link := range links {
				if err := errors.Join(os.Symlink(link[1+i%2], at("next")), os.Rename(at("next"), at(link[0]))); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	read, list, write := named(t, f, "read_file"), named(t, f, "list_dir"), named(t, f, "write_file")
	done := map[string]int{}
	do := func(x tool.Tool, path string) string {
		input, err := json.Marshal(in{"path": path})
		if x == write {
			input, err = json.Marshal(in{"path": path, "content": fmt.Sprint("inside ", done)})
		}
		if err != nil {
			t.Fatal(err)
		}
		res, err := tool.Call(t.Context(), x, input)
		if err != nil {
			return ""
		}
		done[x.Metadata().Name]++
		return res.Text()
	}
	for range 60 {
		seen := do(write, "swap/made") + do(write, "swap/file")
		for range 15 {
			seen += do(read, "leaf") + do(read, "swap/file") + do(list, "swap")
		}
		seen += do(read, "drip")
		if strings.Contains(seen, `"outside"`) || strings.Contains(seen, "only-outside") {
			t.Fatal("what is outside was seen")
		}
	}
	if len(done) != 3 {
		t.Errorf("only this was ever possible: %v", done)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 2 || get(t, outside, "file") != "outside" {
		t.Errorf("changed outside: %v %v", left, err)
	}
}
