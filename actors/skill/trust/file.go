package trust

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"

	"github.com/skelegent/skelegent-go/protocol"
)

// version is that of the file's form.
const version = 1

// How long a change waits for another one, and how often it looks.
const (
	lockWait = 10 * time.Second
	lockLook = 5 * time.Millisecond
)

// document is the file.
type document struct {
	Version int     `json:"version"`
	Trusted []Entry `json:"trusted"`
}

// read returns the entries of the file, none if it is not there.
func (s *Store) read() ([]Entry, error) {
	raw, err := s.load()
	if err != nil || raw == nil {
		return nil, err
	}
	var form struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(raw, &form); err == nil && form.Version > version {
		return nil, s.damaged("it is of a newer version")
	}
	var doc document
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		return nil, s.damaged("it cannot be read as JSON of this form").Because(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, s.damaged("something is behind its end")
	}
	if doc.Version != version {
		return nil, s.damaged("it does not say that it is of version 1")
	}
	if len(doc.Trusted) > MaxEntries {
		return nil, s.damaged(fmt.Sprintf("it has more than %d entries", MaxEntries))
	}
	for i, e := range doc.Trusted {
		if !filepath.IsAbs(e.Dir) || filepath.Clean(e.Dir) != e.Dir || filepath.Dir(e.Dir) == e.Dir || len(e.Dir) > MaxDir {
			return nil, s.damaged(fmt.Sprintf("the directory of entry %d is no absolute path without . and .., or a root", i+1))
		}
	}
	return doc.Trusted, nil
}

// load returns what is in the file, nil if it is not there.
func (s *Store) load() ([]byte, error) {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fileError("read", s.path, err)
	}
	if !info.Mode().IsRegular() { // to open something else may wait for somebody
		return nil, s.damaged("it is no regular file")
	}
	f, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fileError("read", s.path, err)
	}
	defer f.Close() //nolint:errcheck // only read
	if info, err = f.Stat(); err != nil {
		return nil, fileError("read", s.path, err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return nil, protocol.NewError(protocol.CodePermissionDenied,
			"trust: others may write "+quoted(s.path)+", so it trusts nothing; look at it, and then make it yours with chmod 600")
	}
	raw, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	switch {
	case err != nil:
		return nil, fileError("read", s.path, err)
	case len(raw) > MaxFile:
		return nil, s.damaged(fmt.Sprintf("it is larger than %d bytes", MaxFile))
	}
	return raw, nil
}

func (s *Store) damaged(why string) *protocol.Error {
	return invalid("the file " + quoted(s.path) + " is damaged: " + why + "; restore it, or remove it and trust anew")
}

// change replaces the entries by what f makes of them, nil for no change, while no other program does.
func (s *Store) change(f func([]Entry) ([]Entry, error)) (err error) {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return fileError("write", s.path, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	lock := flock.New(s.path+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, lockLook); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return protocol.NewError(protocol.CodeUnavailable, "trust: another program changes "+quoted(s.path)).Because(err)
		}
		return fileError("lock", s.path, err)
	}
	defer func() {
		if e := lock.Close(); e != nil && err == nil {
			err = fileError("unlock", s.path, e)
		}
	}()
	list, err := s.read()
	if err != nil {
		return err
	}
	list, err = f(list)
	if err != nil || list == nil {
		return err
	}
	return s.write(list)
}

// write replaces the file whole or not at all.
func (s *Store) write(list []Entry) error {
	raw, err := json.MarshalIndent(document{Version: version, Trusted: list}, "", "  ")
	if err != nil {
		return fileError("write", s.path, err)
	}
	if len(list) > MaxEntries || len(raw)+1 > MaxFile {
		return protocol.NewError(protocol.CodeQuotaExceeded, "trust: there are too many directories; revoke some")
	}
	tmp, err := os.CreateTemp(filepath.Dir(s.path), filepath.Base(s.path)+".*.tmp") // mode 0600
	if err != nil {
		return fileError("write", s.path, err)
	}
	_, err = tmp.Write(append(raw, '\n'))
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), s.path)
	}
	if err != nil {
		return fileError("write", s.path, errors.Join(err, os.Remove(tmp.Name())))
	}
	return nil
}
