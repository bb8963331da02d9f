package trust

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/protocol"
)

// Limits of a store.
const (
	MaxEntries = 1024
	MaxFile    = 1 << 20 // bytes of the file
	MaxDir     = 4096    // bytes of a path
)

// FileName is the file of the user's own store, in a directory of his configuration.
const FileName = "trust.json"

// Entry is a directory that is trusted.
type Entry struct {
	Dir string    `json:"dir"` // absolute, without links
	At  time.Time `json:"at"`  // since when
}

// Store is the directories that are trusted. It is safe for concurrent use.
type Store struct{ path string }

// DefaultPath is the file of the user's own store: skelegent/trust.json where the system keeps configuration. The error, of code
// unsupported, is that there is no such place.
func DefaultPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", protocol.NewError(protocol.CodeUnsupported, "trust: there is no directory for configuration; name a file").Because(err)
	}
	return filepath.Join(dir, "skelegent", FileName), nil
}

// Open returns the store of a file, that of DefaultPath if the path is empty. A file that is not there trusts nothing, and is made
// by the first Trust. The error says that the file cannot be used: of code invalid_input if it is damaged or too large,
// permission_denied if it cannot be read, or if others may write it.
func Open(path string) (*Store, error) {
	var err error
	if path == "" {
		path, err = DefaultPath()
	} else {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, fileError("find", path, err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link to the file stays one
	}
	s := &Store{path: path}
	_, err = s.read()
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Path is where the store is kept.
func (s *Store) Path() string { return s.path }

// List returns what is trusted, sorted by directory. The errors are those of Open.
func (s *Store) List() ([]Entry, error) {
	list, err := s.read()
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Dir, b.Dir) })
	return list, err
}

// Trusted reports whether the directory, without links, is a trusted one or below one. It is not if it does not exist, or if the
// file cannot be used.
func (s *Store) Trusted(dir string) bool {
	ok, err := s.trusted(dir)
	return ok && err == nil
}

func (s *Store) trusted(dir string) (bool, error) {
	list, err := s.read()
	if err != nil {
		return false, err
	}
	real, err := realDir(dir)
	if err != nil {
		return false, nil //nolint:nilerr // what is not there is not trusted
	}
	return covered(list, real), nil
}

// Trust adds a directory, by its path without links, and returns its entry. One that is there stays as it is. The errors are those
// of Open, not_found and invalid_input for what is no directory that can be trusted, quota_exceeded if there are too many, and
// unavailable if the file cannot be written or another program keeps it.
//
// The root of a file system cannot be trusted: everything would be.
func (s *Store) Trust(dir string) (Entry, error) {
	real, err := realDir(dir)
	switch {
	case err != nil:
		return Entry{}, protocol.NewError(protocol.CodeNotFound, "trust: there is no directory "+quoted(dir)).Because(err)
	case !utf8.ValidString(real) || len(real) > MaxDir:
		return Entry{}, invalid("the path of the directory is too long, or no text")
	case filepath.Dir(real) == real:
		return Entry{}, invalid("the root of a file system cannot be trusted, everything would be; name a directory in it")
	}
	entry := Entry{Dir: real, At: time.Now().UTC().Truncate(time.Second)}
	err = s.change(func(list []Entry) ([]Entry, error) {
		if i := slices.IndexFunc(list, func(e Entry) bool { return e.Dir == real }); i >= 0 {
			entry = list[i]
			return nil, nil
		}
		return append(list, entry), nil
	})
	if err != nil {
		return Entry{}, err
	}
	return entry, nil
}

// Revoke removes the directory and all below it, and returns what it removed, sorted. It may be given as it was trusted or by a
// link to it, and need not exist any more. The errors are those of Open and Trust for the file; not_found if nothing of it was
// trusted; and conflict if it still is, since a directory above it is: then that has to be revoked.
func (s *Store) Revoke(dir string) ([]Entry, error) {
	names := make([]string, 0, 2)
	abs, err := filepath.Abs(dir)
	if err != nil || dir == "" {
		return nil, invalid("there is no directory to revoke")
	}
	names = append(names, abs)
	if real, err := realDir(dir); err == nil {
		names = append(names, real)
	}
	var removed []Entry
	above := ""
	err = s.change(func(list []Entry) ([]Entry, error) {
		keep := make([]Entry, 0, len(list))
		for _, e := range list {
			if slices.ContainsFunc(names, func(name string) bool { return within(name, e.Dir) }) {
				removed = append(removed, e)
				continue
			}
			if slices.ContainsFunc(names, func(name string) bool { return within(e.Dir, name) }) {
				above = e.Dir
			}
			keep = append(keep, e)
		}
		if len(removed) == 0 {
			return nil, nil
		}
		return keep, nil
	})
	slices.SortFunc(removed, func(a, b Entry) int { return strings.Compare(a.Dir, b.Dir) })
	switch {
	case err != nil:
		return nil, err
	case above != "":
		return removed, protocol.NewError(protocol.CodeConflict,
			"trust: "+quoted(dir)+" is still trusted, since "+quoted(above)+" is: revoke that")
	case len(removed) == 0:
		return nil, protocol.NewError(protocol.CodeNotFound, "trust: "+quoted(dir)+" is not trusted")
	}
	return removed, nil
}

// covered reports whether one of the entries is the directory, or above it.
func covered(list []Entry, real string) bool {
	return slices.ContainsFunc(list, func(e Entry) bool { return within(e.Dir, real) })
}

// within reports whether path is dir or below it. Both are absolute and clean.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// realDir is the directory's absolute path without links.
func realDir(dir string) (string, error) {
	if dir == "" || strings.ContainsRune(dir, 0) {
		return "", fs.ErrNotExist
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", errors.New("no directory")
	}
	return real, nil
}
