package runner

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/protocol"
)

// DefaultMaxFile is how many bytes Read reads if it is not told.
const DefaultMaxFile = 1 << 20

const maxPath = 4096

// CheckPath says whether a path may be used below a skill's directory at all, without looking at files: relative, with no
// part that is "..", neither empty nor too long. A backslash counts as a separator everywhere. The error is of KindPath, and
// of KindEscapes for an absolute path.
func CheckPath(rel string) error {
	parts := strings.FieldsFunc(rel, func(r rune) bool { return r == '/' || r == '\\' })
	switch {
	case rel == "" || len(rel) > maxPath || strings.ContainsRune(rel, 0):
		return failed(KindPath, protocol.CodeInvalidInput, "the path is empty, too long, or holds a NUL")
	case slices.Contains(parts, ".."):
		return failed(KindPath, protocol.CodeInvalidInput, "the path must not contain \"..\": "+shown(rel))
	case filepath.IsAbs(rel) || rel[0] == '/' || rel[0] == '\\' || !filepath.IsLocal(rel):
		return escapes(rel)
	}
	return nil
}

func escapes(rel string) *protocol.Error {
	return failed(KindEscapes, protocol.CodePermissionDenied, "Resolved path escapes the skill directory: "+shown(rel))
}

func notFound(rel string) *protocol.Error {
	return failed(KindNotFound, protocol.CodeNotFound, "Resource file not found: "+shown(rel))
}

func unreadable(rel string) *protocol.Error {
	return failed(KindUnreadable, protocol.CodeToolError, "Resource file cannot be read: "+shown(rel))
}

// Resolve returns the absolute path, without links, of a regular file in dir; dir itself may be a link. The errors are of
// KindPath, KindEscapes, KindNotFound and KindUnreadable.
//
// Who uses the path later opens it anew. Somebody who can write in the directory can exchange the file until then, but he
// could have written into it what he likes in the first place. Where that matters use Read.
func Resolve(dir, rel string) (string, error) {
	root, inside, err := enter(dir, rel)
	if err != nil {
		return "", err
	}
	defer root.Close() //nolint:errcheck // only read
	info, err := root.Stat(inside)
	if err != nil {
		return "", ofOpen(rel, err)
	}
	real := filepath.Join(root.Name(), inside)
	if now, err := os.Lstat(real); err != nil || !info.Mode().IsRegular() || !os.SameFile(info, now) {
		return "", unreadable(rel)
	}
	return real, nil
}

// Read returns the text of a regular file in dir, of maxBytes at most, DefaultMaxFile if 0. It reads by descriptor inside
// the directory: a link that is made while it runs cannot lead it outside. The errors are those of Resolve, KindTooLarge and
// KindNotText.
func Read(dir, rel string, maxBytes int64) (string, error) {
	set(&maxBytes, DefaultMaxFile)
	root, inside, err := enter(dir, rel)
	if err != nil {
		return "", err
	}
	defer root.Close() //nolint:errcheck // only read
	// A regular file, by its name: to open something else may do something or wait for somebody.
	if info, err := root.Stat(inside); err != nil || !info.Mode().IsRegular() {
		return "", ofOpen(rel, err)
	}
	f, err := root.OpenFile(inside, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return "", ofOpen(rel, err)
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() { // and by what was opened
		return "", unreadable(rel)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	switch {
	case err != nil:
		return "", unreadable(rel).Because(err)
	case info.Size() > maxBytes || int64(len(data)) > maxBytes:
		return "", failed(KindTooLarge, protocol.CodeQuotaExceeded,
			fmt.Sprintf("Resource file %s is larger than %d bytes", shown(rel), maxBytes))
	case !utf8.Valid(data):
		return "", failed(KindNotText, protocol.CodeInvalidInput, "Resource file is not UTF-8 text: "+shown(rel))
	}
	return string(data), nil
}

// enter opens the directory without links and returns where in it the path leads. A link to an absolute path is followed if
// that is inside.
func enter(dir, rel string) (root *os.Root, inside string, err error) {
	if err := CheckPath(rel); err != nil {
		return nil, "", err
	}
	dir, err = realDir(dir)
	if err != nil {
		return nil, "", err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(dir, rel))
	if err != nil {
		return nil, "", ofOpen(rel, err)
	}
	if !within(dir, real) {
		return nil, "", escapes(rel)
	}
	inside, err = filepath.Rel(dir, real)
	if err != nil {
		return nil, "", escapes(rel).Because(err)
	}
	root, err = os.OpenRoot(dir + string(filepath.Separator) + ".") // no named pipe that would be waited for
	if err != nil {
		return nil, "", unreadable(rel).Because(err)
	}
	return root, inside, nil
}

// ofOpen translates the error of opening a file; nil means that it is no regular file.
func ofOpen(rel string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return notFound(rel).Because(err)
	case err != nil && strings.Contains(err.Error(), "escapes"): // os has no name for it
		return escapes(rel).Because(err)
	}
	return unreadable(rel).Because(err)
}
