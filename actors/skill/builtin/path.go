package builtin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/protocol"
)

const (
	maxPath  = 4096 // bytes
	maxDepth = 64   // parts of a path
)

// clean returns a path below the root as the operating system writes it, without looking at files.
func clean(name string) (string, error) {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' })
	switch {
	case name == "" || len(name) > maxPath || len(parts) > maxDepth || strings.ContainsFunc(name, unicode.IsControl):
		return "", ofKind(KindPath, protocol.CodeInvalidInput, "the path is empty, too long, or holds control characters")
	case slices.Contains(parts, ".."):
		return "", ofKind(KindPath, protocol.CodeInvalidInput, "the path must not contain \"..\": "+quoted(name))
	case filepath.IsAbs(name) || name[0] == '/' || name[0] == '\\' || !filepath.IsLocal(filepath.FromSlash(name)):
		return "", ofKind(KindEscapes, protocol.CodePermissionDenied,
			"the path must be relative to the working directory: "+quoted(name))
	}
	return filepath.FromSlash(path.Clean(name)), nil
}

// openDir opens a directory below the root. The dot at the end keeps a named pipe from being opened, and waited for.
func openDir(root *os.Root, name string) (*os.Root, error) {
	return root.OpenRoot(name + string(filepath.Separator) + ".")
}

// fileError translates an error of the operating system. Its text does not show where the root is.
func fileError(name string, err error) *protocol.Error {
	text := err.Error()
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		text = p.Err.Error()
	case errors.As(err, &l):
		text = l.Err.Error()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ofKind(KindNotFound, protocol.CodeNotFound, "there is no "+quoted(name)).Because(err)
	case text == "path escapes from parent": // package os has no name for it
		return ofKind(KindEscapes, protocol.CodePermissionDenied,
			"the path leads out of the working directory: "+quoted(name)).Because(err)
	case errors.Is(err, fs.ErrPermission):
		return ofKind(KindUnreadable, protocol.CodePermissionDenied, "no permission for "+quoted(name)).Because(err)
	}
	return ofKind(KindUnreadable, protocol.CodeToolError, quoted(name)+": "+oneLine(text)).Because(err)
}

func notRegular(name string) *protocol.Error {
	return ofKind(KindNotRegular, protocol.CodeInvalidInput, quoted(name)+" is no regular file")
}

// load returns what a regular file holds, up to MaxFile bytes.
func (f *FileSystem) load(dir *os.Root, base, name string) ([]byte, error) {
	// A regular file, by its name: to open something else may do something or wait for somebody.
	info, err := dir.Stat(base)
	if err != nil {
		return nil, fileError(name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, notRegular(name)
	}
	file, err := dir.OpenFile(base, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, fileError(name, err)
	}
	defer file.Close()                                                   //nolint:errcheck // only read
	if info, err = file.Stat(); err != nil || !info.Mode().IsRegular() { // and by what was opened
		return nil, notRegular(name).Because(err)
	}
	limit := f.config.MaxFile
	if info.Size() > limit {
		return nil, tooLarge(name, limit)
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	switch {
	case err != nil:
		return nil, fileError(name, err)
	case int64(len(data)) > limit:
		return nil, tooLarge(name, limit)
	}
	return data, nil
}

func tooLarge(name string, limit int64) *protocol.Error {
	return ofKind(KindTooLarge, protocol.CodeQuotaExceeded, fmt.Sprintf("%s is larger than %d bytes", quoted(name), limit))
}

// isText reports whether data is what read_file returns and write_file writes.
func isText(data []byte) bool { return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 }
