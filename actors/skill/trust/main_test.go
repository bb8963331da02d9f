package trust_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/skill/trust"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tempDir is a temporary directory by its path without links.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// newDir makes a directory below another one.
func newDir(t testing.TB, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func link(t testing.TB, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, path string) *trust.Store {
	t.Helper()
	s, err := trust.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newStore(t testing.TB) *trust.Store {
	t.Helper()
	return open(t, filepath.Join(tempDir(t), "config", "trust.json"))
}

func mustTrust(t testing.TB, s *trust.Store, dir string) trust.Entry {
	t.Helper()
	e, err := s.Trust(dir)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func wantCode(t testing.TB, err error, code protocol.Code) {
	t.Helper()
	if err == nil || protocol.CodeOf(err) != code {
		t.Errorf("got error %v (code %s), want %s", err, protocol.CodeOf(err), code)
	}
}
