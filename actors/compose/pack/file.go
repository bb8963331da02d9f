package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
)

// maxWalked bounds how many names a source of files looks at.
const maxWalked = 10_000

// Files gives the files below a folder, in the order of their names. Nothing outside of the folder is read: links that lead
// out of it are left out, and so is what is no regular file, or has a name that begins with a dot.
type Files struct {
	// Root is the folder. It is opened for each run.
	Root string
	// Match are patterns of path.Match, for the name of a file or for its path below Root, with slashes; every file if empty.
	Match []string
	// Limit is how many files are read at most; DefaultFileLimit if 0.
	Limit int
	// MaxBytes is how long a file may be; DefaultMaxBytes if 0. A longer one is left out, as is one that is no text in UTF-8.
	MaxBytes int
	// Kind is what they are; File if empty.
	Kind Kind
}

// Items implements Source. The id of an item is its path below Root. The error is not_found where there is no such folder, and
// invalid_input for a pattern that is none or a folder with more than 10,000 names.
func (f Files) Items(ctx context.Context, _ *engine.Context) ([]Item, error) {
	for _, pattern := range f.Match {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, protocol.NewError(protocol.CodeInvalidInput, fmt.Sprintf("files: bad pattern %.100q", pattern))
		}
	}
	root, err := os.OpenRoot(f.Root + string(filepath.Separator) + ".") // a named pipe would be waited for
	if err != nil {
		return nil, failed("open the folder", err)
	}
	defer root.Close() //nolint:errcheck // nothing was written
	names, err := f.names(ctx, root.FS())
	if err != nil {
		return nil, err
	}
	var items []Item
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if item, ok := f.read(root, name); ok {
			items = append(items, item)
		}
	}
	return items, nil
}

// names walks the folder.
func (f Files) names(ctx context.Context, root fs.FS) (names []string, err error) {
	walked, limit := 0, orElse(f.Limit, DefaultFileLimit)
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		walked++
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case walked > maxWalked:
			return protocol.NewError(protocol.CodeInvalidInput, fmt.Sprintf("files: more than %d names in the folder", maxWalked))
		case err != nil && name == ".":
			return failed("read the folder", err)
		case err != nil: // a folder below that may not be read
			return fs.SkipDir
		case name != "." && strings.HasPrefix(d.Name(), "."):
			return skip(d)
		case d.IsDir() || !f.matches(name):
			return nil
		}
		if names = append(names, name); len(names) >= limit {
			return fs.SkipAll
		}
		return nil
	})
	return names, err
}

func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func (f Files) matches(name string) bool {
	return len(f.Match) == 0 || slices.ContainsFunc(f.Match, func(pattern string) bool {
		whole, _ := path.Match(pattern, name)
		base, _ := path.Match(pattern, path.Base(name))
		return whole || base
	})
}

// read reads a file; false if it is none, or went away. The root keeps it from being one outside.
func (f Files) read(root *os.Root, name string) (Item, bool) {
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return Item{}, false
	}
	kind, most := orElse(f.Kind, File), orElse(f.MaxBytes, DefaultMaxBytes)
	if info.Size() > int64(most) {
		return unfitItem(kind, name, int(info.Size()), ReasonTooLarge), true
	}
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Item{}, false
	}
	defer file.Close()                                                   //nolint:errcheck // nothing was written
	if info, err = file.Stat(); err != nil || !info.Mode().IsRegular() { // by its name it was
		return Item{}, false
	}
	raw, err := io.ReadAll(io.LimitReader(file, int64(most)+1))
	switch {
	case err != nil:
		return Item{}, false
	case len(raw) > most: // it grew
		return unfitItem(kind, name, len(raw), ReasonTooLarge), true
	case !utf8.Valid(raw) || bytes.IndexByte(raw, 0) >= 0:
		return unfitItem(kind, name, len(raw), ReasonNotText), true
	}
	return NewItem(kind, name, string(raw)), true
}

// failed says what could not be done, without paths of this machine.
func failed(what string, err error) error {
	code := protocol.CodeInternal
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code = protocol.CodeNotFound
	case errors.Is(err, fs.ErrPermission):
		code = protocol.CodePermissionDenied
	}
	return protocol.NewError(code, "files: cannot "+what).Because(err)
}
