package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/skill/runner"
	"github.com/skelegent/skelegent-go/protocol"
)

// families are programs that do what they can to outlive their end; %s is how long they sleep.
var families = map[string]string{
	"itself":             `exec sleep %s`,
	"child":              `sleep %s; echo > late`,
	"grandchildren":      `(sleep %[1]s; echo > late) & (sleep %[1]s & sleep %[1]s; echo > late) & wait`,
	"ignores terms":      `trap '' TERM HUP INT; (trap '' TERM HUP INT; sleep %[1]s; echo > late) & sleep %[1]s; sleep %[1]s`,
	"holds the pipes":    `sleep %[1]s & sleep %[1]s`,
	"job control":        `set -m; sleep %[1]s & sleep %[1]s & wait`,
	"stopped":            `sleep %[1]s & until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done; kill -STOP $! $$`,
	"closes its outputs": `exec >/dev/null 2>&1; sleep %[1]s & wait`,
}

// At the time limit all that a program started is dead when Run returns.
func TestTimeLimitKillsTheWholeFamily(t *testing.T) {
	t.Parallel()
	both(t, config(), func(t *testing.T, run runner.Runner) {
		for name, script := range families {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				mark := marker(t)
				s := sh(t, run, strings.ReplaceAll(strings.ReplaceAll(script, "%[1]s", mark), "%s", mark))
				s.Timeout = 400 * time.Millisecond
				r := do(t, run, s)
				if !r.TimedOut() || r.OK() || r.ExitCode != 137 || r.Duration > 10*time.Second {
					t.Errorf("got %+v", r)
				}
				if left := sleepers(t, mark); len(left) > 0 {
					t.Errorf("%d processes live on", len(left))
				}
				if _, err := os.Stat(filepath.Join(s.Dir, "late")); err == nil {
					t.Error("it went on after its end")
				}
			})
		}
	})
}

// So it is when the context ends, but that is an error.
func TestCancelKillsTheWholeFamily(t *testing.T) {
	t.Parallel()
	both(t, config(), func(t *testing.T, run runner.Runner) {
		for name, script := range families {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				why := errors.New("no longer wanted")
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				mark := marker(t)
				s := sh(t, run, strings.ReplaceAll(strings.ReplaceAll(script, "%[1]s", mark), "%s", mark))
				done := make(chan error, 1)
				go func() {
					_, err := run.Run(ctx, s)
					done <- err
				}()
				wait(t, "the program", func() bool { return len(sleepers(t, mark)) > 0 })
				cancel(why)
				if err := <-done; protocol.CodeOf(err) != protocol.CodeCancelled || !errors.Is(err, why) {
					t.Errorf("error = %v", err)
				}
				if left := sleepers(t, mark); len(left) > 0 {
					t.Errorf("%d processes live on", len(left))
				}
			})
		}
	})
}

func TestDeadlineOfTheCallerIsAnError(t *testing.T) {
	t.Parallel()
	both(t, config(), func(t *testing.T, run runner.Runner) {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if _, err := run.Run(ctx, sh(t, run, `sleep 60`)); protocol.CodeOf(err) != protocol.CodeTimeout {
			t.Errorf("error = %v", err)
		}
		if _, err := run.Run(ctx, sh(t, run, `true`)); protocol.CodeOf(err) != protocol.CodeTimeout {
			t.Errorf("after its end: error = %v", err)
		}
	})
}

// What a program that ends well leaves behind ends with it, does not hold up the result, and takes nothing of the output.
func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	both(t, config(), func(t *testing.T, run runner.Runner) {
		for _, jobs := range []string{"", "set -m; "} {
			mark := marker(t)
			r := do(t, run, sh(t, run, jobs+`sleep `+mark+` & echo done`))
			if !r.OK() || r.Stdout != "done\n" || r.Duration > 5*time.Second {
				t.Errorf("%q: got %+v", jobs, r)
			}
			if left := sleepers(t, mark); len(left) > 0 {
				t.Errorf("%q: %d processes live on", jobs, len(left))
			}
		}
	})
}

// A session of its own is how a process gets away from a direct runner, which still does not wait for it. It does not get
// away from a sandbox.
func TestSessionOfItsOwn(t *testing.T) {
	t.Parallel()
	both(t, config(), func(t *testing.T, run runner.Runner) {
		if _, err := run.LookPath("setsid"); err != nil {
			t.Skip("NOT TESTED: there is no setsid here")
		}
		mark := marker(t)
		r := do(t, run, sh(t, run, `setsid sleep `+mark+` & until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done; echo done`))
		if !r.OK() || r.Stdout != "done\n" {
			t.Errorf("got %+v", r)
		}
		left := sleepers(t, mark)
		if run.Name() == runner.NameBubblewrap && len(left) > 0 {
			t.Errorf("%d processes got out of the sandbox", len(left))
		}
		for _, pid := range left {
			p, err := os.FindProcess(pid)
			if err != nil {
				t.Fatal(err)
			}
			_ = p.Kill()
		}
	})
}

// A program that does not stop writing is ended, and what it wrote costs no memory.
func TestEndlessOutputIsEnded(t *testing.T) {
	t.Parallel()
	both(t, config(), func(t *testing.T, run runner.Runner) {
		for _, script := range []string{`yes`, `yes >&2`, `yes & yes >&2 & yes`} {
			s := sh(t, run, script)
			s.MaxOutput = 1 << 10
			r := do(t, run, s)
			if r.Stopped != runner.StopOutput || !r.Truncated || len(r.Stdout) > 1<<10 || len(r.Stderr) > 1<<10 {
				t.Errorf("%s: stopped %q, truncated %v, %d and %d bytes", script, r.Stopped, r.Truncated, len(r.Stdout), len(r.Stderr))
			}
			if r.Duration > 5*time.Second {
				t.Errorf("%s: took %s", script, r.Duration)
			}
		}
	})
}

// bomb starts processes that start processes, 127 together at most: the same as a fork bomb until something stops it, and
// harmless if nothing does.
const bomb = `bomb() { if [ "$1" -gt 0 ]; then bomb $(($1-1)) & bomb $(($1-1)) & wait; else sleep %[1]s; fi; }; bomb 6`

func TestForkBombIsContained(t *testing.T) {
	t.Parallel()
	c := config()
	c.MaxProcesses = 30
	both(t, c, func(t *testing.T, run runner.Runner) {
		mark := marker(t)
		s := sh(t, run, fmt.Sprintf(bomb, mark))
		s.Timeout = 4 * time.Second
		r := do(t, run, s)
		// It is killed, or, where the kernel counts, most of it cannot start.
		if r.Stopped != runner.StopProcesses && !strings.Contains(r.Stderr, "fork") {
			t.Errorf("stopped %q after %s with %q", r.Stopped, r.Duration, r.Stderr)
		}
		if left := sleepers(t, mark); len(left) > 0 {
			t.Errorf("%d processes live on", len(left))
		}
	})
}

// A bomb below the limit, or one that is not counted, ends at the time limit with all of its processes.
func TestForkBombEndsAtTheTimeLimit(t *testing.T) {
	t.Parallel()
	both(t, config(), func(t *testing.T, run runner.Runner) {
		mark := marker(t)
		s := sh(t, run, fmt.Sprintf(bomb, mark))
		s.Timeout = time.Second
		if r := do(t, run, s); !r.TimedOut() {
			t.Errorf("got %+v", r)
		}
		if left := sleepers(t, mark); len(left) > 0 {
			t.Errorf("%d processes live on", len(left))
		}
	})
}

func TestLimitsOfProcesses(t *testing.T) {
	t.Parallel()
	c := config()
	c.MaxFile, c.MaxMemory = 1<<20, 32<<20
	both(t, c, func(t *testing.T, run runner.Runner) {
		for name, script := range map[string]string{
			"file":   `head -c 3000000 /dev/zero > file && echo survived; [ "$(wc -c < file)" -le 1048576 ] || echo survived`,
			"memory": `x=$(head -c 100000000 /dev/zero | tr '\0' x); echo survived`,
			"core":   `[ "$(ulimit -c)" = 0 ] || echo survived`,
			"higher": `ulimit -d unlimited 2>/dev/null && [ "$(ulimit -d)" = unlimited ] && [ "$(id -u)" != 0 ] && echo survived`,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if r := do(t, run, sh(t, run, script)); strings.Contains(r.Stdout, "survived") {
					t.Errorf("got %+v", r)
				}
			})
		}
		s := sh(t, run, `ulimit -t; exec 2>/dev/null; while :; do :; done`)
		s.Timeout = time.Second
		r := do(t, run, s)
		if seconds := strings.TrimSpace(r.Stdout); seconds == "unlimited" || !r.TimedOut() {
			t.Errorf("limit of processor time %q, %+v", seconds, r)
		}
	})
}
