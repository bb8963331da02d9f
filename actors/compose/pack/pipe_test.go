//go:build unix

package pack_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/compose/pack"
)

func TestFilesWaitForNoPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "folder")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := pack.Files{Root: path}.Items(t.Context(), nil)
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil {
			t.Error("a named pipe is no folder")
		}
	case <-time.After(10 * time.Second):
		t.Error("it is waited for")
		if w, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0); err == nil {
			defer w.Close()
		}
		<-done
	}
}
