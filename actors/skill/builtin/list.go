package builtin

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/skelegent/skelegent-go/protocol"
)

// maxScan is how many entries of a directory are looked at.
const maxScan = 20_000

type listInput struct {
	Path  string `json:"path,omitempty" jsonschema:"the directory, relative to the working directory; that itself if not given"`
	After string `json:"after,omitempty" jsonschema:"list only names that come after this one"`
}

type listEntry struct {
	Name string `json:"name"`
	Type string `json:"type"`           // file, dir, link, or other
	Size int64  `json:"size,omitempty"` // of a file, in bytes
}

type listResult struct {
	Path    string      `json:"path"`
	Entries []listEntry `json:"entries"`
	// NextAfter is what after must be for the rest; empty at the end.
	NextAfter string `json:"next_after,omitempty"`
	// Incomplete says that the directory has more entries than are looked at: some are never listed.
	Incomplete bool `json:"incomplete,omitempty"`
}

func (f *FileSystem) list(ctx context.Context, in listInput) (listResult, error) {
	if in.Path == "" {
		in.Path = "."
	}
	name, err := clean(in.Path)
	if err != nil {
		return listResult{}, err
	}
	root, err := f.open(ctx)
	if err != nil {
		return listResult{}, err
	}
	defer root.Close() //nolint:errcheck // only read
	dir, err := openDir(root, name)
	if err != nil {
		return listResult{}, fileError(in.Path, err)
	}
	defer dir.Close() //nolint:errcheck // only read
	entries, err := readDir(dir, maxScan+1)
	if err != nil {
		return listResult{}, fileError(in.Path, err)
	}
	r := listResult{Path: in.Path, Entries: []listEntry{}, Incomplete: len(entries) > maxScan}
	for _, e := range sorted(entries[:min(len(entries), maxScan)]) {
		if in.After != "" && e.shown <= in.After {
			continue
		}
		if n := len(r.Entries); n == f.config.MaxEntries {
			r.NextAfter = r.Entries[n-1].Name
			break
		}
		if err := ctx.Err(); err != nil {
			return listResult{}, protocol.AsError(err)
		}
		info, err := dir.Lstat(e.name) // and not DirEntry.Info, which looks by the path
		if err != nil {
			continue // it is gone, or not ours to see
		}
		r.Entries = append(r.Entries, entry(e.shown, info))
	}
	return r, nil
}

func readDir(dir *os.Root, n int) ([]fs.DirEntry, error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // only read
	entries, err := d.ReadDir(n)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return entries, nil
}

// named is an entry with its name as a model sees it, where what does not show is replaced.
type named struct{ name, shown string }

// sorted returns the entries in the order of what is shown, by which a listing goes on.
func sorted(entries []fs.DirEntry) []named {
	list := make([]named, len(entries))
	for i, e := range entries {
		list[i] = named{name: e.Name(), shown: oneLine(e.Name())}
	}
	slices.SortFunc(list, func(a, b named) int { return cmp.Or(cmp.Compare(a.shown, b.shown), cmp.Compare(a.name, b.name)) })
	return list
}

func entry(name string, info fs.FileInfo) listEntry {
	e := listEntry{Name: name, Type: "other"}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		e.Type, e.Size = "file", info.Size()
	case mode.IsDir():
		e.Type = "dir"
	case mode&fs.ModeSymlink != 0:
		e.Type = "link"
	}
	return e
}
