package trust_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/skill/trust"
	"github.com/skelegent/skelegent-go/protocol"
)

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// document is a file with these entries.
func document(entries ...string) string {
	return `{"version":1,"trusted":[` + strings.Join(entries, ",") + `]}`
}

func TestADamagedFileTrustsNothing(t *testing.T) {
	t.Parallel()
	const good = `{"dir":"/tmp/x","at":"2026-01-01T00:00:00Z"}`
	for name, text := range map[string]string{
		"empty":            "",
		"garbage":          "\x00\x1b[2J\xff",
		"cut":              document(good)[:30],
		"null":             "null",
		"array":            "[]",
		"no version":       `{"trusted":[]}`,
		"newer version":    `{"version":2,"trusted":[],"rules":{}}`,
		"unknown field":    `{"version":1,"trusted":[],"all":true}`,
		"unknown of entry": document(`{"dir":"/tmp/x","at":"2026-01-01T00:00:00Z","glob":"*"}`),
		"something behind": document(good) + document(),
		"no directory":     document(`{"at":"2026-01-01T00:00:00Z"}`),
		"relative":         document(`{"dir":"tmp","at":"2026-01-01T00:00:00Z"}`),
		"with dots":        document(`{"dir":"/tmp/../","at":"2026-01-01T00:00:00Z"}`),
		"root":             document(`{"dir":"/","at":"2026-01-01T00:00:00Z"}`),
		"no time":          document(`{"dir":"/tmp/x","at":"yesterday"}`),
		"long directory":   document(`{"dir":"/` + strings.Repeat("x", trust.MaxDir) + `","at":"2026-01-01T00:00:00Z"}`),
		"too many":         document(strings.Split(strings.Repeat(good+"|", trust.MaxEntries)+good, "|")...),
		"too large":        document(good) + strings.Repeat(" ", trust.MaxFile),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, dir := filepath.Join(tempDir(t), "trust.json"), tempDir(t)
			s := open(t, path)
			mustTrust(t, s, dir)
			writeFile(t, path, text)
			_, err := trust.Open(path)
			wantCode(t, err, protocol.CodeInvalidInput)
			if err != nil && (!strings.Contains(err.Error(), path) || strings.ContainsRune(err.Error(), '\x1b')) {
				t.Errorf("%q", err)
			}
			if s.Trusted(dir) {
				t.Error("it is still trusted")
			}
			_, err = s.Trust(dir)
			wantCode(t, err, protocol.CodeInvalidInput)
			if _, err := s.Revoke(dir); err == nil {
				t.Error("it was revoked")
			}
			if raw, err := os.ReadFile(path); err != nil || string(raw) != text {
				t.Errorf("the file was written: %v", err)
			}
		})
	}
}

func TestTheFileIsOfItsOwnerOnly(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Log("there are no such modes here")
		return
	}
	s := newStore(t)
	mustTrust(t, s, tempDir(t))
	for path, want := range map[string]os.FileMode{
		s.Path(): 0o600, s.Path() + ".lock": 0o600, filepath.Dir(s.Path()): 0o700,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: got %v, %v, want %v", path, info.Mode().Perm(), err, want)
		}
	}
	if err := os.Chmod(s.Path(), 0o620); err != nil {
		t.Fatal(err)
	}
	_, err := trust.Open(s.Path())
	wantCode(t, err, protocol.CodePermissionDenied)
	if entries, err := os.ReadDir(filepath.Dir(s.Path())); err != nil || len(entries) != 2 {
		t.Errorf("something is left behind: %v, %v", entries, err)
	}
}

func TestTheFormOfTheFile(t *testing.T) {
	t.Parallel()
	s, dir := newStore(t), tempDir(t)
	e := mustTrust(t, s, dir)
	raw, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	at := e.At.Format("2006-01-02T15:04:05Z")
	entry, ok := got["trusted"].([]any)[0].(map[string]any)
	if got["version"] != 1.0 || !ok || entry["dir"] != dir || entry["at"] != at || len(entry) != 2 || len(got) != 2 {
		t.Errorf("got %s", raw)
	}
}

func TestALinkToTheFileStaysALink(t *testing.T) {
	t.Parallel()
	base := tempDir(t)
	real, name := filepath.Join(newDir(t, base, "dotfiles"), "trust.json"), filepath.Join(base, "trust.json")
	writeFile(t, real, document())
	link(t, real, name)
	mustTrust(t, open(t, name), base)
	if info, err := os.Lstat(name); err != nil || info.Mode()&os.ModeSymlink == 0 || !open(t, real).Trusted(base) {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
}

func TestAFileThatIsNone(t *testing.T) {
	t.Parallel()
	base := tempDir(t)
	_, err := trust.Open(base)
	wantCode(t, err, protocol.CodeInvalidInput)
	_, err = trust.Open(filepath.Join(base, "a\x00b"))
	if err == nil {
		t.Error("there is no such path")
	}
	file := filepath.Join(base, "file")
	writeFile(t, file, "")
	if s, err := trust.Open(filepath.Join(file, "trust.json")); err == nil {
		if _, err := s.Trust(base); err == nil {
			t.Error("it was written below a file")
		}
	}
}

func FuzzFile(f *testing.F) {
	f.Add([]byte(document(`{"dir":"/tmp/x","at":"2026-01-01T00:00:00Z"}`)))
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		path := filepath.Join(t.TempDir(), "trust.json")
		writeFile(t, path, string(raw))
		s, err := trust.Open(path)
		if err != nil {
			return
		}
		list, err := s.List()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if !filepath.IsAbs(e.Dir) || e.Dir == "/" {
				t.Errorf("got %q", e.Dir)
			}
		}
		if s.Trusted("/") {
			t.Error("all is trusted")
		}
	})
}
