package builtin_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/skill/builtin"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

func files(t testing.TB, c builtin.FileSystemConfig) (f *builtin.FileSystem, root string) {
	t.Helper()
	if c.Root == "" {
		c.Root = t.TempDir()
	}
	f, err := builtin.NewFileSystem(c)
	if err != nil {
		t.Fatal(err)
	}
	return f, c.Root
}

func hash(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

func TestReadFileReturnsTextLinesAndHash(t *testing.T) {
	t.Parallel()
	f, root := files(t, builtin.FileSystemConfig{})
	put(t, root, "a/b.txt", "one\ntwo\nthree")
	got := must(t, f, "read_file", in{"path": "a/b.txt"})
	want := map[string]any{
		"path": "a/b.txt", "text": "one\ntwo\nthree", "first_line": 1.0, "lines": 3.0, "total_lines": 3.0, "bytes": 13.0,
		"sha256": hash("one\ntwo\nthree"),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestReadFileReturnsRanges(t *testing.T) {
	t.Parallel()
	f, root := files(t, builtin.FileSystemConfig{MaxRead: 10})
	put(t, root, "f", "one\ntwo\nthree\nfour\n")
	put(t, root, "long", "ab\n"+strings.Repeat("é", 8)+"\nz\n")
	put(t, root, "last", strings.Repeat("x", 12))
	put(t, root, "empty", "")
	for _, c := range []struct {
		path                 string
		offset, limit        int
		text                 string
		first, lines, n, nxt float64
		cut                  bool
	}{
		{"f", 0, 0, "one\ntwo\n", 1, 2, 4, 3, false}, // three does not fit any more
		{"f", 3, 0, "three\n", 3, 1, 4, 4, false},
		{"f", 4, 0, "four\n", 4, 1, 4, 0, false},
		{"f", 1, 1, "one\n", 1, 1, 4, 2, false},
		{"f", 2, 1, "two\n", 2, 1, 4, 3, false},
		{"f", 9, 5, "", 9, 0, 4, 0, false},
		{"long", 2, 0, "ééééé", 2, 1, 3, 3, true},
		{"long", 1, 0, "ab\n", 1, 1, 3, 2, false},
		{"last", 0, 0, "xxxxxxxxxx", 1, 1, 1, 0, true},
		{"empty", 0, 0, "", 1, 0, 0, 0, false},
	} {
		got := must(t, f, "read_file", in{"path": c.path, "offset": c.offset, "limit": c.limit})
		next, _ := got["next_offset"].(float64)
		cut, _ := got["line_cut"].(bool)
		if got["text"] != c.text || got["first_line"] != c.first || got["lines"] != c.lines || got["total_lines"] != c.n ||
			next != c.nxt || cut != c.cut {
			t.Errorf("%s from %d, %d lines: got %v", c.path, c.offset, c.limit, got)
		}
	}
	for _, bad := range []in{{"path": "f", "offset": -1}, {"path": "f", "limit": -1}, {"offset": 1}, {"path": "f", "x": 1}} {
		_, err := call(t, f, "read_file", bad)
		wantKind(t, err, protocol.KindToolInvalidInput)
	}
}

func TestReadFileReadsOnlyTextOfLimitedSize(t *testing.T) {
	t.Parallel()
	f, root := files(t, builtin.FileSystemConfig{MaxFile: 100, MaxWrite: 50})
	put(t, root, "latin", "caf\xe9")
	put(t, root, "nul", "a\x00b")
	put(t, root, "fits", strings.Repeat("x", 100))
	put(t, root, "large", strings.Repeat("x", 101))
	for path, kind := range map[string]protocol.ErrorKind{
		"latin": builtin.KindNotText, "nul": builtin.KindNotText, "large": builtin.KindTooLarge, "none": builtin.KindNotFound,
		".": builtin.KindNotRegular, "fits/x": builtin.KindUnreadable,
	} {
		_, err := call(t, f, "read_file", in{"path": path})
		wantKind(t, err, kind)
		if strings.Contains(err.Error(), root) {
			t.Errorf("the error shows where the root is: %v", err)
		}
	}
	must(t, f, "read_file", in{"path": "fits"})
}

func TestWriteFileMakesAndReplacesFiles(t *testing.T) {
	t.Parallel()
	f, root := files(t, builtin.FileSystemConfig{})
	got := must(t, f, "write_file", in{"path": "reports/2026/a.txt", "content": "336"})
	want := map[string]any{"path": "reports/2026/a.txt", "bytes": 3.0, "sha256": hash("336"), "created": true}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(filepath.Join(root, "reports/2026/a.txt"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got = must(t, f, "write_file", in{"path": "reports/2026/a.txt", "content": "337", "if_sha256": strings.ToUpper(hash("336"))})
	if got["created"] != nil || get(t, root, "reports/2026/a.txt") != "337" {
		t.Errorf("got %v", got)
	}
	info, err := os.Stat(filepath.Join(root, "reports/2026/a.txt"))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o666 {
		t.Errorf("the mode was not kept: %v %v", info, err)
	}
	if left, err := os.ReadDir(filepath.Join(root, "reports/2026")); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestWriteFileDoesNotOverwriteWhatTheModelHasNotSeen(t *testing.T) {
	t.Parallel()
	f, root := files(t, builtin.FileSystemConfig{})
	put(t, root, "f", "changed")
	_, err := call(t, f, "write_file", in{"path": "f", "content": "mine", "if_sha256": hash("seen")})
	wantKind(t, err, builtin.KindChanged)
	if protocol.CodeOf(err) != protocol.CodeConflict || get(t, root, "f") != "changed" {
		t.Errorf("got %v", err)
	}
	for _, path := range []string{"gone", "no/such/dir"} {
		_, err = call(t, f, "write_file", in{"path": path, "content": "mine", "if_sha256": hash("seen")})
		wantKind(t, err, builtin.KindChanged)
	}
	if _, err := os.Lstat(filepath.Join(root, "no")); err == nil {
		t.Error("a directory was made for a file that was not written")
	}
	for _, bad := range []string{"zz", "abcd", hash("x") + "00"} {
		_, err = call(t, f, "write_file", in{"path": "f", "content": "mine", "if_sha256": bad})
		wantKind(t, err, protocol.KindToolInvalidInput)
	}
}

func TestRequireHashRefusesToOverwriteWithoutOne(t *testing.T) {
	t.Parallel()
	f, root := files(t, builtin.FileSystemConfig{RequireHash: true})
	must(t, f, "write_file", in{"path": "f", "content": "new"})
	for _, content := range []string{"old", "longer"} {
		_, err := call(t, f, "write_file", in{"path": "f", "content": content})
		wantKind(t, err, builtin.KindChanged)
	}
	must(t, f, "write_file", in{"path": "f", "content": "old", "if_sha256": hash("new")})
	if get(t, root, "f") != "old" {
		t.Error("not written")
	}
}

func TestWriteFileMayBeCalledAgain(t *testing.T) {
	t.Parallel()
	f, root := files(t, builtin.FileSystemConfig{RequireHash: true})
	put(t, root, "f", "before")
	for _, input := range []in{{"path": "new", "content": "a"}, {"path": "f", "content": "after", "if_sha256": hash("before")}} {
		must(t, f, "write_file", input)
		if got := must(t, f, "write_file", input); got["unchanged"] != true {
			t.Errorf("the second call: got %v", got)
		}
	}
	if !tool.CanRepeat(named(t, f, "write_file")) {
		t.Error("it does not say so")
	}
}

func TestOfWritersWithTheSameHashOneWins(t *testing.T) {
	t.Parallel()
	f, root := files(t, builtin.FileSystemConfig{})
	other, _ := files(t, builtin.FileSystemConfig{Root: root})
	put(t, root, "f", "base")
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			c := []*builtin.FileSystem{f, other}[i%2]
			_, errs[i] = call(t, c, "write_file", in{"path": "f", "content": fmt.Sprint("by ", i), "if_sha256": hash("base")})
		})
	}
	wg.Wait()
	won := -1
	for i, err := range errs {
		switch {
		case err == nil && won >= 0:
			t.Errorf("%d and %d have won", won, i)
		case err == nil:
			won = i
		default:
			wantKind(t, err, builtin.KindChanged)
		}
	}
	if get(t, root, "f") != fmt.Sprint("by ", won) {
		t.Errorf("%d won, and the file holds %q", won, get(t, root, "f"))
	}
}

func TestWriteFileHasLimits(t *testing.T) {
	t.Parallel()
	f, root := files(t, builtin.FileSystemConfig{MaxWrite: 10, MaxFile: 1})
	put(t, root, "large", strings.Repeat("x", 11))
	if err := os.Mkdir(filepath.Join(root, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		input in
		kind  protocol.ErrorKind
	}{
		{in{"path": "f", "content": "12345678901"}, builtin.KindTooLarge},
		{in{"path": "f", "content": "a\x00"}, protocol.KindToolInvalidInput},
		{in{"path": "large", "content": "a", "if_sha256": hash("x")}, builtin.KindTooLarge},
		{in{"path": "dir", "content": "a"}, builtin.KindNotRegular},
		{in{"path": "dir/", "content": "a"}, builtin.KindNotRegular},
		{in{"path": ".", "content": "a"}, builtin.KindNotRegular},
		{in{"path": "large/x", "content": "a"}, builtin.KindUnreadable},
		{in{"path": strings.Repeat("a/", 70) + "x", "content": "a"}, builtin.KindPath},
		{in{"path": strings.Repeat("a", 300), "content": "a"}, builtin.KindUnreadable},
		{in{"path": "a\nb", "content": "a"}, builtin.KindPath},
		{in{"path": "", "content": "a"}, builtin.KindPath},
	} {
		_, err := call(t, f, "write_file", c.input)
		wantKind(t, err, c.kind)
	}
	must(t, f, "write_file", in{"path": "f", "content": "1234567890"})
	must(t, f, "read_file", in{"path": "f"}) // what can be written can be read
}

func TestListDirIsSortedAndBounded(t *testing.T) {
	t.Parallel()
	f, root := files(t, builtin.FileSystemConfig{MaxEntries: 2})
	put(t, root, "b", "12345")
	put(t, root, "a/x", "")
	put(t, root, "c\x01", "")
	if err := os.Symlink("b", filepath.Join(root, "d")); err != nil {
		t.Fatal(err)
	}
	var names []string
	for after := ""; ; {
		got := must(t, f, "list_dir", in{"after": after})
		entries, _ := got["entries"].([]any)
		if len(entries) > 2 {
			t.Fatalf("got %v", got)
		}
		for _, e := range entries {
			m := e.(map[string]any)
			names = append(names, fmt.Sprint(m["name"], " ", m["type"], " ", m["size"]))
		}
		if after, _ = got["next_after"].(string); after == "" {
			break
		}
	}
	if d := cmp.Diff([]string{"a dir <nil>", "b file 5", "c\uFFFD file <nil>", "d link <nil>"}, names); d != "" {
		t.Error(d)
	}
	if got := must(t, f, "list_dir", in{"path": "a"}); len(got["entries"].([]any)) != 1 {
		t.Errorf("got %v", got)
	}
	_, err := call(t, f, "list_dir", in{"path": "b"})
	wantKind(t, err, builtin.KindUnreadable)
	_, err = call(t, f, "list_dir", in{"path": "none"})
	wantKind(t, err, builtin.KindNotFound)
}

func TestReadOnlyHasNoWriteFile(t *testing.T) {
	t.Parallel()
	f, _ := files(t, builtin.FileSystemConfig{ReadOnly: true, ApproveWrites: true})
	for _, x := range f.Tools() {
		if x.Metadata().Name == "write_file" {
			t.Error("it has")
		}
		if _, ask := tool.NeedsApproval(x, nil); ask {
			t.Errorf("%s needs approval", x.Metadata().Name)
		}
	}
	if strings.Contains(f.Prompt(), "write_file") || len(f.Tools()) != 2 {
		t.Error(f.Prompt())
	}
}

func TestWritesCanNeedApproval(t *testing.T) {
	t.Parallel()
	for _, approve := range []bool{true, false} {
		f, _ := files(t, builtin.FileSystemConfig{ApproveWrites: approve})
		for _, x := range f.Tools() {
			_, ask := tool.NeedsApproval(x, json.RawMessage(`{}`))
			if want := approve && x.Metadata().Name == "write_file"; ask != want {
				t.Errorf("%s: %v, want %v", x.Metadata().Name, ask, want)
			}
		}
	}
}

func TestRootMustBeADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "f", "")
	for _, root := range []string{"", ".", "rel", filepath.Join(dir, "none"), filepath.Join(dir, "f")} {
		_, err := builtin.NewFileSystem(builtin.FileSystemConfig{Root: root})
		wantKind(t, err, builtin.KindConfig)
	}
}

func TestFilesAreNotTouchedOnceTheContextHasEnded(t *testing.T) {
	t.Parallel()
	f, root := files(t, builtin.FileSystemConfig{})
	put(t, root, "f", "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, input := range map[string]string{
		"read_file": `{"path":"f"}`, "write_file": `{"path":"f","content":"y"}`, "list_dir": `{}`,
	} {
		if _, err := tool.Call(ctx, named(t, f, name), json.RawMessage(input)); protocol.CodeOf(err) != protocol.CodeCancelled {
			t.Errorf("%s: %v", name, err)
		}
	}
	if get(t, root, "f") != "x" {
		t.Error("written")
	}
}
