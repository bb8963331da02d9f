package trust_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/skelegent/skelegent-go/actors/skill/trust"
	"github.com/skelegent/skelegent-go/protocol"
)

func dirs(t testing.TB, s *trust.Store) []string {
	t.Helper()
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	all := []string{}
	for _, e := range list {
		all = append(all, e.Dir)
	}
	return all
}

func TestNothingIsTrustedAtFirst(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	if got := dirs(t, s); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	for _, dir := range []string{tempDir(t), "", "/", "/no/such/place", "a\x00b"} {
		if s.Trusted(dir) {
			t.Errorf("%q is trusted", dir)
		}
	}
	if _, err := os.Stat(filepath.Dir(s.Path())); err == nil {
		t.Error("to read made a directory")
	}
}

func TestTrustIsOfADirectoryAndAllBelow(t *testing.T) {
	t.Parallel()
	s, base := newStore(t), tempDir(t)
	project := newDir(t, base, "project")
	mustTrust(t, s, project)
	for dir, want := range map[string]bool{
		project:                           true,
		newDir(t, project, "skills", "x"): true,
		project + "/":                     true,
		filepath.Join(project, "skills") + "/../skills/": true,
		base:                                  false,
		newDir(t, base, "project-evil"):       false,
		newDir(t, base, "other"):              false,
		filepath.Join(project, "nowhere"):     false,
		filepath.Join(project, "..", "other"): false,
	} {
		if got := s.Trusted(dir); got != want {
			t.Errorf("Trusted(%q): got %v, want %v", dir, got, want)
		}
	}
}

func TestTrustIsSeenByOtherStoresOfTheFileAtOnce(t *testing.T) {
	t.Parallel()
	s, dir := newStore(t), tempDir(t)
	other := open(t, s.Path())
	e := mustTrust(t, s, dir)
	if !other.Trusted(dir) {
		t.Error("another store does not know of it")
	}
	if again := mustTrust(t, other, dir+"/."); again != e || len(dirs(t, s)) != 1 {
		t.Errorf("got %+v, want %+v once", again, e)
	}
	if _, err := other.Revoke(dir); err != nil || s.Trusted(dir) {
		t.Errorf("it is not revoked: %v", err)
	}
}

func TestALinkIsResolvedBeforeItIsTrusted(t *testing.T) {
	t.Parallel()
	s, base := newStore(t), tempDir(t)
	real := newDir(t, base, "real")
	link(t, real, filepath.Join(base, "link"))
	if e := mustTrust(t, s, filepath.Join(base, "link")); e.Dir != real {
		t.Errorf("got %q, want %q", e.Dir, real)
	}
	if !s.Trusted(real) || !s.Trusted(filepath.Join(base, "link")) {
		t.Error("the directory is not trusted by both of its names")
	}
}

func TestALinkOutOfATrustedDirectoryIsNotTrusted(t *testing.T) {
	t.Parallel()
	s, base := newStore(t), tempDir(t)
	project, evil := newDir(t, base, "project"), newDir(t, base, "evil")
	mustTrust(t, s, project)
	link(t, evil, filepath.Join(project, "skills"))
	if s.Trusted(filepath.Join(project, "skills")) {
		t.Error("what a link leads to is trusted")
	}
}

func TestADirectoryThatBecomesALinkIsNotTrusted(t *testing.T) {
	t.Parallel()
	s, base := newStore(t), tempDir(t)
	project, evil := newDir(t, base, "a", "project"), newDir(t, base, "evil", "project")
	mustTrust(t, s, project)
	if err := os.Remove(project); err != nil {
		t.Fatal(err)
	}
	if s.Trusted(project) {
		t.Error("what is gone is trusted")
	}
	link(t, evil, project)
	if s.Trusted(project) || s.Trusted(evil) {
		t.Error("what replaced it is trusted")
	}
	for _, name := range []string{project, filepath.Join(base, "a")} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	link(t, filepath.Join(base, "evil"), filepath.Join(base, "a")) // above it
	if s.Trusted(project) {
		t.Error("what is reached through a link is trusted")
	}
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	s, base := newStore(t), tempDir(t)
	project, other := newDir(t, base, "project"), newDir(t, base, "other")
	below := newDir(t, project, "skills")
	link(t, project, filepath.Join(base, "link"))
	for _, dir := range []string{below, other, project} {
		mustTrust(t, s, dir)
	}
	removed, err := s.Revoke(below)
	wantCode(t, err, protocol.CodeConflict)
	if len(removed) != 1 || !s.Trusted(below) || !strings.Contains(err.Error(), project) {
		t.Errorf("got %v, %v", removed, err)
	}
	mustTrust(t, s, below)
	if removed, err = s.Revoke(filepath.Join(base, "link")); err != nil || len(removed) != 2 || removed[0].Dir != project {
		t.Errorf("got %v, %v", removed, err)
	}
	if s.Trusted(project) || s.Trusted(below) || !s.Trusted(other) {
		t.Errorf("got %v", dirs(t, s))
	}
	_, err = s.Revoke(project)
	wantCode(t, err, protocol.CodeNotFound)
	_, err = s.Revoke("")
	wantCode(t, err, protocol.CodeInvalidInput)
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Revoke(other); err != nil || len(dirs(t, s)) != 0 {
		t.Errorf("what is gone is not revoked: %v", err)
	}
}

func TestWhatCannotBeTrusted(t *testing.T) {
	t.Parallel()
	s, base := newStore(t), tempDir(t)
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link(t, "loop", filepath.Join(base, "loop"))
	link(t, "/", filepath.Join(base, "root"))
	for dir, code := range map[string]protocol.Code{
		"":                                     protocol.CodeNotFound,
		filepath.Join(base, "nothing"):         protocol.CodeNotFound,
		file:                                   protocol.CodeNotFound,
		"a\x00b":                               protocol.CodeNotFound,
		filepath.Join(base, "loop"):            protocol.CodeNotFound,
		"/":                                    protocol.CodeInvalidInput,
		filepath.Join(base, "root"):            protocol.CodeInvalidInput,
		newDir(t, base, "no\xfftext"):          protocol.CodeInvalidInput,
		filepath.Join(base, "\x1b[2J"):         protocol.CodeNotFound,
		base + "/" + strings.Repeat("x", 5000): protocol.CodeNotFound,
	} {
		_, err := s.Trust(dir)
		wantCode(t, err, code)
		if err != nil && (strings.ContainsRune(err.Error(), '\x1b') || len(err.Error()) > 500) {
			t.Errorf("%q", err)
		}
	}
	if got := dirs(t, s); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestChangesAtTheSameTimeAreAllKept(t *testing.T) {
	t.Parallel()
	s, base := newStore(t), tempDir(t)
	const n = 24
	want := make([]string, n)
	var wg sync.WaitGroup
	for i := range want {
		want[i] = newDir(t, base, strings.Repeat("d", i+1))
		wg.Go(func() {
			own, err := trust.Open(s.Path()) // as another program would
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := own.Trust(want[i]); err != nil {
				t.Error(err)
			}
			if !s.Trusted(want[i]) {
				t.Errorf("%s is not trusted", want[i])
			}
		})
	}
	wg.Wait()
	slices.Sort(want)
	if got := dirs(t, s); !slices.Equal(got, want) {
		t.Errorf("got %d of %d", len(got), n)
	}
}

func TestTooManyDirectoriesAreRefused(t *testing.T) {
	t.Parallel()
	s, base := newStore(t), tempDir(t)
	newDir(t, filepath.Dir(s.Path()))
	writeFile(t, s.Path(), document(slices.Repeat([]string{`{"dir":"/x","at":"2026-01-01T00:00:00Z"}`}, trust.MaxEntries)...))
	_, err := s.Trust(base)
	wantCode(t, err, protocol.CodeQuotaExceeded)
	if got := dirs(t, s); len(got) != trust.MaxEntries {
		t.Errorf("got %d", len(got))
	}
}
