package runner_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/skill/runner"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestExitCodesAndOutputs(t *testing.T) {
	t.Parallel()
	both(t, config(), func(t *testing.T, run runner.Runner) {
		for _, tc := range []struct {
			name, script   string
			code           int
			stdout, stderr string
		}{
			{name: "success", script: `echo out; echo err >&2`, stdout: "out\n", stderr: "err\n"},
			{name: "failure", script: `echo out; exit 3`, code: 3, stdout: "out\n"},
			{name: "no such command", script: `/no/such`, code: 127},
			{name: "signal", script: `kill -9 $$`, code: 137},
			{name: "term", script: `kill -15 $$`, code: 143},
			{name: "hyphen first", script: `-x`, code: 127},
			{name: "no terminal", script: `echo x 2>/dev/null >/dev/tty || echo none`, stdout: "none\n"},
			{name: "no input", script: `cat; echo end`, stdout: "end\n"},
		} {
			t.Run(tc.name, func(t *testing.T) {
				t.Parallel()
				r := do(t, run, sh(t, run, tc.script))
				if r.ExitCode != tc.code || r.Stdout != tc.stdout || tc.stderr != "" && r.Stderr != tc.stderr {
					t.Errorf("got %+v", r)
				}
				if r.OK() != (tc.code == 0) || r.Truncated || r.Stopped != "" || r.Sandbox != run.Name() || r.Duration <= 0 {
					t.Errorf("got %+v", r)
				}
			})
		}
	})
}

// A program has PATH, SKILL_DIR, SESSION_ID and what is named; no secret of the node, whatever its name.
func TestEnvironmentIsAWhitelist(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	t.Setenv("INNOCENT", "sk-secret")
	t.Setenv("LANG", "C.UTF-8")
	both := []runner.Runner{runner.Direct(config())}
	if b, err := runner.Bubblewrap(t.Context(), config()); err == nil {
		both = append(both, b)
	}
	allowed := []string{
		"PATH", "SKILL_DIR", "SESSION_ID", "LANG", "LC_ALL", "TZ", "TMPDIR", "NAMED",
		"PWD", "OLDPWD", "SHLVL", "_", // the shell's own
	}
	for _, run := range both {
		s := sh(t, run, `env; cat /proc/*/environ 2>/dev/null | tr '\0' '\n' | grep secret | head -1 >&2; `+
			`echo "$SKILL_DIR|$SESSION_ID|$NAMED|$PWD"`)
		s.SessionID, s.Env = "sess-123", map[string]string{"NAMED": "x y"}
		r := do(t, run, s)
		if strings.Contains(r.Stdout, "sk-secret") {
			t.Errorf("%s: a secret of the node reached the program", run.Name())
		}
		if strings.Contains(r.Stderr, "sk-secret") && run.Name() == runner.NameBubblewrap {
			t.Errorf("%s: a secret can be read from another process", run.Name())
		}
		dir, err := filepath.EvalSymlinks(s.Dir)
		if want := dir + "|sess-123|x y|" + dir + "\n"; err != nil || !strings.HasSuffix(r.Stdout, want) {
			t.Errorf("%s: got %q, want %q at the end, %v", run.Name(), r.Stdout, want, err)
		}
		for _, line := range strings.Split(strings.TrimSpace(r.Stdout), "\n") {
			if name, _, ok := strings.Cut(line, "="); ok && !slices.Contains(allowed, name) {
				t.Errorf("%s: the program has %q", run.Name(), line)
			}
		}
	}
}

func TestSessionIDIsOmittedWhenEmpty(t *testing.T) {
	t.Parallel()
	both(t, config(), func(t *testing.T, run runner.Runner) {
		if r := do(t, run, sh(t, run, `echo "${SESSION_ID-unset}"`)); r.Stdout != "unset\n" {
			t.Errorf("got %q", r.Stdout)
		}
		s := sh(t, run, `echo "${SESSION_ID-unset}"`)
		s.Env = map[string]string{"SESSION_ID": ""}
		if r := do(t, run, s); r.Stdout != "\n" {
			t.Errorf("got %q", r.Stdout)
		}
	})
}

// What a hook's process gets is one line on its standard input; it need not read it.
func TestInput(t *testing.T) {
	t.Parallel()
	both(t, config(), func(t *testing.T, run runner.Runner) {
		s := sh(t, run, `read -r line; echo "[$line]"; cat`)
		s.Stdin = []byte(`{"hook_event_name":"PreToolUse","tool_output":null}` + "\n")
		if r := do(t, run, s); r.Stdout != `[{"hook_event_name":"PreToolUse","tool_output":null}]`+"\n" {
			t.Errorf("got %+v", r)
		}
		s = sh(t, run, `exec true`)
		s.Stdin = make([]byte, 4<<20)
		if r := do(t, run, s); !r.OK() {
			t.Errorf("a program that reads nothing: %+v", r)
		}
		s = sh(t, run, `wc -c`)
		s.Stdin = make([]byte, 4<<20)
		if r := do(t, run, s); strings.TrimSpace(r.Stdout) != "4194304" {
			t.Errorf("got %+v", r)
		}
	})
}

func TestOutputIsBoundedAndText(t *testing.T) {
	t.Parallel()
	both(t, config(), func(t *testing.T, run runner.Runner) {
		for _, tc := range []struct {
			name, script string
			max          int
			want         string
			truncated    bool
		}{
			{name: "all", script: `printf 12345678`, max: 8, want: "12345678"},
			{name: "more", script: `printf 123456789`, max: 8, want: "12345678", truncated: true},
			{name: "the rest is drained", script: `head -c 400 /dev/zero | tr '\0' x`, max: 8, want: "xxxxxxxx", truncated: true},
			{name: "invalid", script: `printf 'a\377b'`, max: 8, want: "a\uFFFDb"},
			{name: "cut in a character", script: `printf 'aé€é'`, max: 5, want: "aé", truncated: true},
			{name: "cut after a character", script: `printf 'aé€é'`, max: 6, want: "aé€", truncated: true},
		} {
			t.Run(tc.name, func(t *testing.T) {
				t.Parallel()
				s := sh(t, run, tc.script)
				s.MaxOutput = tc.max
				if r := do(t, run, s); r.Stdout != tc.want || r.Truncated != tc.truncated || !r.OK() {
					t.Errorf("got %+v, want %q", r, tc.want)
				}
			})
		}
		s := sh(t, run, `printf 123456789 >&2`)
		s.MaxOutput = 3
		if r := do(t, run, s); r.Stderr != "123" || !r.Truncated {
			t.Errorf("standard error: %+v", r)
		}
	})
}

func TestWhatCannotBeRun(t *testing.T) {
	t.Parallel()
	both(t, config(), func(t *testing.T, run runner.Runner) {
		good := sh(t, run, `true`)
		text := write(t, good.Dir, "text", "no program")
		for _, tc := range []struct {
			name   string
			change func(*runner.Spec)
			kind   protocol.ErrorKind
		}{
			{"no command", func(s *runner.Spec) { s.Command = nil }, runner.KindInvalid},
			{"relative command", func(s *runner.Spec) { s.Command = []string{"true"} }, runner.KindInvalid},
			{"NUL", func(s *runner.Spec) { s.Command = []string{"/bin/echo", "a\x00b"} }, runner.KindInvalid},
			{"long command", func(s *runner.Spec) { s.Command = []string{"/bin/echo", strings.Repeat("x", 1<<20)} }, runner.KindInvalid},
			{"relative directory", func(s *runner.Spec) { s.Dir = "." }, runner.KindInvalid},
			{"no directory", func(s *runner.Spec) { s.Dir = "/no/such" }, runner.KindNotFound},
			{"file as directory", func(s *runner.Spec) { s.Dir = text }, runner.KindNotFound},
			{"name of a variable", func(s *runner.Spec) { s.Env = map[string]string{"A B": ""} }, runner.KindInvalid},
			{"PATH", func(s *runner.Spec) { s.Env = map[string]string{"PATH": "/tmp"} }, runner.KindInvalid},
			{"value of a variable", func(s *runner.Spec) { s.Env = map[string]string{"A": "\x00"} }, runner.KindInvalid},
			{"session", func(s *runner.Spec) { s.SessionID = "\x00" }, runner.KindInvalid},
			{"input", func(s *runner.Spec) { s.Stdin = make([]byte, 17<<20) }, runner.KindInvalid},
		} {
			t.Run(tc.name, func(t *testing.T) {
				t.Parallel()
				s := good
				tc.change(&s)
				if _, err := run.Run(t.Context(), s); !isKind(err, tc.kind) {
					t.Errorf("error = %v, want %s", err, tc.kind)
				}
			})
		}
	})
	s := sh(t, runner.Direct(config()), `true`)
	for _, command := range []string{"/no/such/program", write(t, s.Dir, "text", "no program")} {
		s.Command = []string{command}
		if _, err := runner.Direct(config()).Run(t.Context(), s); !isKind(err, runner.KindNotStarted) {
			t.Errorf("%s: error = %v", command, err)
		}
	}
}

// Only so many programs run at a time, and who waits can give up.
func TestProgramsTakeTurns(t *testing.T) {
	t.Parallel()
	c := config()
	c.Concurrent = 1
	both(t, c, func(t *testing.T, run runner.Runner) {
		first := sh(t, run, `: > started; read -r _ < go`)
		if r := do(t, runner.Direct(config()), runner.Spec{Command: []string{"/usr/bin/mkfifo", "go"}, Dir: first.Dir}); !r.OK() {
			t.Fatal(r)
		}
		done := make(chan error, 1)
		go func() {
			_, err := run.Run(t.Context(), first)
			done <- err
		}()
		wait(t, "the first program", func() bool {
			_, err := os.Stat(filepath.Join(first.Dir, "started"))
			return err == nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := run.Run(ctx, sh(t, run, `true`)); protocol.CodeOf(err) != protocol.CodeTimeout {
			t.Errorf("the second did not wait: %v", err)
		}
		if err := os.WriteFile(filepath.Join(first.Dir, "go"), []byte("x\n"), 0); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		do(t, run, sh(t, run, `true`))
	})
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	both(t, config(), func(t *testing.T, run runner.Runner) {
		errs := make(chan error, 20)
		s := sh(t, run, `echo $((6*7))`)
		for range cap(errs) {
			go func() {
				r, err := run.Run(t.Context(), s)
				if err == nil && r.Stdout != "42\n" {
					t.Errorf("got %+v", r)
				}
				errs <- err
			}()
		}
		for range cap(errs) {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestLimitsOfTime(t *testing.T) {
	t.Parallel()
	c := config()
	c.Timeout, c.MaxTimeout = 2*time.Second, 3*time.Second
	both(t, c, func(t *testing.T, run runner.Runner) {
		for asked, want := range map[time.Duration]time.Duration{
			0: 2 * time.Second, time.Second: time.Second, time.Hour: 3 * time.Second,
		} {
			s := sh(t, run, `true`)
			s.Timeout = asked
			if r := do(t, run, s); r.Timeout != want {
				t.Errorf("asked for %s, got %s", asked, r.Timeout)
			}
		}
	})
}
