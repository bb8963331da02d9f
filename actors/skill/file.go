package skill

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
)

// maxEntries is how many entries of one directory are looked at.
const maxEntries = 10_000

// openDir opens a directory. The dot at the end keeps a named pipe of its name from being opened, and waited for.
func openDir(dir string) (*os.Root, error) { return os.OpenRoot(withDot(dir)) }

func withDot(dir string) string { return dir + string(filepath.Separator) + "." }

// openRegular opens a regular file of a directory for reading. It follows no link that leaves the directory, and does not wait for
// a pipe that nobody writes to.
func openRegular(root *os.Root, name string) (*os.File, *problem) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		info, lerr := root.Lstat(name)
		switch {
		case lerr == nil && info.Mode()&fs.ModeSymlink != 0:
			return nil, &problem{0, RuleFileKind, "the file is a symbolic link that leads to no file of its directory"}
		case lerr == nil && !info.Mode().IsRegular():
			return nil, notRegular()
		case errors.Is(err, fs.ErrNotExist):
			return nil, &problem{0, RuleFileMissing, "there is no such file"}
		}
		return nil, &problem{0, RuleFileRead, "the file cannot be opened: " + reason(err)}
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close() // only read
		return nil, notRegular()
	}
	return f, nil
}

func notRegular() *problem { return &problem{0, RuleFileKind, "the file is no regular file"} }

// reason is an error of the operating system without the path, which is said elsewhere.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return oneLine(err.Error())
}

// readHead reads as much of a file as its front matter needs, and at most maxHead bytes.
func readHead(f io.Reader) (head []byte, complete bool, err error) {
	buf := make([]byte, 0, 4096)
	for {
		n, err := io.ReadFull(f, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		complete = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !complete {
			return nil, false, err
		}
		if _, _, more := split(buf, complete); !more {
			return buf, complete, nil
		}
		buf = append(make([]byte, 0, min(4*cap(buf), maxHead)), buf...)
	}
}

// readDir returns the entries of a directory, sorted by name, and whether there are more than are looked at.
func readDir(root *os.Root, name string) (entries []fs.DirEntry, more bool, err error) {
	f, err := root.Open(withDot(name))
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }() // only read
	entries, err = f.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if len(entries) > maxEntries {
		return entries[:maxEntries], true, nil
	}
	return entries, false, nil
}

// plainName reports whether the name of a file can be shown to a model as it is.
func plainName(name string) bool { return utf8.ValidString(name) && !hasUnseen(name) }

// inside reports whether path is dir or below it. Both are absolute and clean.
func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
