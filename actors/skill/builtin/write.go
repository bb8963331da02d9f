package builtin

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

// Modes of what is made; the process's umask takes from them.
const (
	fileMode = 0o644
	dirMode  = 0o755
)

type writeInput struct {
	Path     string `json:"path" jsonschema:"the file, relative to the working directory"`
	Content  string `json:"content" jsonschema:"all that the file is to hold"`
	IfSHA256 string `json:"if_sha256,omitempty" jsonschema:"write only if the file now has this sha256, as read_file returned it"`
}

type writeResult struct {
	Path   string `json:"path"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Created says that there was no such file.
	Created bool `json:"created,omitempty"`
	// Unchanged says that the file held just this already.
	Unchanged bool `json:"unchanged,omitempty"`
}

// write writes a file beside the one it replaces and renames it, so that nobody ever sees a part of it. A process that ends
// between leaves a file behind whose name begins with .skg-. What another process writes between the look at the file and
// the rename is lost: if_sha256 is exact among the calls of this process only.
func (f *FileSystem) write(ctx context.Context, in writeInput) (writeResult, error) {
	name, err := f.checkWrite(&in)
	if err != nil {
		return writeResult{}, err
	}
	release, err := f.acquire(ctx)
	if err != nil {
		return writeResult{}, err
	}
	defer release()
	root, err := f.open(ctx)
	if err != nil {
		return writeResult{}, err
	}
	defer root.Close() //nolint:errcheck // only its descriptor
	w := writeResult{Path: in.Path, Bytes: len(in.Content), SHA256: sum([]byte(in.Content))}
	parent, base := filepath.Split(name)
	parent = filepath.Clean(parent)
	dir, err := openDir(root, parent)
	if errors.Is(err, fs.ErrNotExist) && in.IfSHA256 == "" {
		if err = root.MkdirAll(parent, dirMode); err == nil {
			dir, err = openDir(root, parent)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && in.IfSHA256 != "":
		return writeResult{}, gone(in.Path)
	case err != nil:
		return writeResult{}, fileError(in.Path, err)
	}
	defer dir.Close() //nolint:errcheck // only its descriptor
	mode, exists, err := f.compare(dir, base, in)
	if errors.Is(err, errSame) {
		w.Unchanged = true
		return w, nil
	}
	if err != nil {
		return writeResult{}, err
	}
	w.Created = !exists
	if err := replace(ctx, dir, base, in.Content, mode, exists); err != nil {
		if ctx.Err() != nil {
			err = protocol.AsError(ctx.Err())
		} else {
			err = fileError(in.Path, err)
		}
		return writeResult{}, err
	}
	return w, nil
}

// checkWrite looks at the input only.
func (f *FileSystem) checkWrite(in *writeInput) (name string, err error) {
	in.IfSHA256 = strings.ToLower(in.IfSHA256)
	if digest, err := hex.DecodeString(in.IfSHA256); err != nil || len(digest) != 0 && len(digest) != 32 {
		return "", protocol.ErrToolInput("field if_sha256: must be 64 hexadecimal digits")
	}
	if len(in.Content) > f.config.MaxWrite {
		return "", ofKind(KindTooLarge, protocol.CodeQuotaExceeded,
			fmt.Sprintf("the content has more than %d bytes", f.config.MaxWrite))
	}
	if !isText([]byte(in.Content)) {
		return "", protocol.ErrToolInput("field content: must not hold a NUL")
	}
	if name, err = clean(in.Path); err != nil {
		return "", err
	}
	if name == "." || strings.HasSuffix(in.Path, "/") {
		return "", notRegular(in.Path)
	}
	return name, nil
}

var errSame = errors.New("the file holds just this already")

// compare says whether the file may be written: its mode if it exists, errSame, or why not.
func (f *FileSystem) compare(dir *os.Root, base string, in writeInput) (mode fs.FileMode, exists bool, err error) {
	info, err := dir.Lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if in.IfSHA256 != "" {
			return 0, false, gone(in.Path)
		}
		return fileMode, false, nil
	case err != nil:
		return 0, false, fileError(in.Path, err)
	case !info.Mode().IsRegular():
		return 0, false, notRegular(in.Path)
	}
	now := ""
	if in.IfSHA256 != "" || info.Size() == int64(len(in.Content)) {
		data, err := f.load(dir, base, in.Path)
		if err != nil {
			return 0, false, err
		}
		if string(data) == in.Content {
			return 0, false, errSame
		}
		now = sum(data)
	}
	switch {
	case in.IfSHA256 == "" && f.config.RequireHash:
		return 0, false, changed(quoted(in.Path) + " exists: read it first and pass its sha256 as if_sha256")
	case in.IfSHA256 != "" && in.IfSHA256 != now:
		return 0, false, changed(quoted(in.Path) + " has changed since: read it again, then write it with its new sha256")
	}
	return info.Mode().Perm(), true, nil
}

func changed(text string) *protocol.Error { return ofKind(KindChanged, protocol.CodeConflict, text) }

func gone(name string) *protocol.Error {
	return changed("there is no " + quoted(name) + " any more: leave if_sha256 out to make it")
}

// replace has the file hold the content, all of it or nothing, and on the disk when it returns.
func replace(ctx context.Context, dir *os.Root, base, content string, mode fs.FileMode, exists bool) error {
	temp := ".skg-" + rand.Text() + ".tmp"
	file, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	if err == nil && exists { // umask took from it
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	err = errors.Join(err, ctx.Err())
	if err == nil {
		err = dir.Rename(temp, base)
	}
	if err != nil {
		_ = dir.Remove(temp) // nothing more can be done
		return err
	}
	if d, err := dir.Open("."); err == nil {
		_ = d.Sync() // not all systems can
		_ = d.Close()
	}
	return nil
}
