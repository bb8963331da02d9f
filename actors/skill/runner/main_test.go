package runner_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/skelegent/skelegent-go/actors/skill/runner"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// config finds the system's programs only: a developer's own interpreters may be slow wrappers.
func config() runner.Config { return runner.Config{Path: runner.DefaultPath} }

// sandboxed returns a Bubblewrap. Where there is none the test is skipped, and says so.
func sandboxed(t testing.TB, c runner.Config) runner.Runner {
	t.Helper()
	b, err := runner.Bubblewrap(t.Context(), c)
	if err != nil {
		if os.Getenv("SKG_NEED_BWRAP") != "" {
			t.Fatalf("SKG_NEED_BWRAP is set, and bubblewrap does not work: %v", err)
		}
		t.Skipf("NOT TESTED: bubblewrap does not work here (apt-get install bubblewrap): %v", err)
	}
	return b
}

// both runs a test with a direct runner and with a sandbox.
func both(t *testing.T, c runner.Config, test func(t *testing.T, run runner.Runner)) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: the programs of this test are those of Unix")
	}
	t.Run(runner.NameDirect, func(t *testing.T) {
		t.Parallel()
		test(t, runner.Direct(c))
	})
	t.Run(runner.NameBubblewrap, func(t *testing.T) {
		t.Parallel()
		test(t, sandboxed(t, c))
	})
}

// sh is a Spec that runs a text in a shell, in a directory that it may write to.
func sh(t testing.TB, run runner.Runner, text string) runner.Spec {
	t.Helper()
	command, err := runner.Shell(run, runner.ShellBash, text)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return runner.Spec{Command: command, Dir: dir, Writable: []string{dir}, Timeout: 20 * time.Second}
}

// do runs what must be possible to run.
func do(t testing.TB, run runner.Runner, s runner.Spec) runner.Result {
	t.Helper()
	r, err := run.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func isKind(err error, kind protocol.ErrorKind) bool {
	return errors.Is(err, &protocol.Error{Kind: kind})
}

func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// marker is a duration for sleep that no other process on this machine sleeps for.
func marker(t testing.TB) string {
	t.Helper()
	return "60." + strconv.FormatInt(time.Now().UnixNano(), 10) + strconv.Itoa(os.Getpid())
}

// sleepers are the processes whose arguments are sleep and the marker.
func sleepers(t testing.TB, marker string) (pids []int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: processes are looked for in /proc")
	}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		if args := bytes.Split(data, []byte{0}); len(args) > 1 && string(args[1]) == marker {
			pid, err := strconv.Atoi(strings.Split(file, "/")[2])
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// wait waits until the condition holds.
func wait(t testing.TB, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}
