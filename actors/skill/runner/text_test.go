package runner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/actors/skill/runner"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestInlineText(t *testing.T) {
	t.Parallel()
	sandbox := protocol.NewError(protocol.CodeUnavailable, "no name spaces")
	sandbox.Kind = runner.KindSandbox
	for _, tc := range []struct {
		name   string
		result runner.Result
		err    error
		want   string
	}{
		{"output", runner.Result{Stdout: " hello-world\n\n", Stderr: "warning"}, nil, "hello-world"},
		{"nothing", runner.Result{}, nil, ""},
		{"cut", runner.Result{Stdout: "abc", Truncated: true}, nil, "abc\n[output truncated]"},
		{"complains", runner.Result{ExitCode: 2, Stdout: "out", Stderr: "no such file\n"}, nil, "[error: no such file]"},
		{"silent", runner.Result{ExitCode: 3, Stdout: "out", Stderr: " \n"}, nil, "[error: exit code 3]"},
		{"long", runner.Result{ExitCode: 1, Stderr: strings.Repeat("x", 9999)}, nil, "[error: " + strings.Repeat("x", 4096) + "...]"},
		{"time", runner.Result{ExitCode: 137, Stopped: runner.StopTimeout, Timeout: 10 * time.Second}, nil, "[timeout after 10s]"},
		{"short time", runner.Result{Stopped: runner.StopTimeout, Timeout: 1500 * time.Millisecond}, nil, "[timeout after 1.5s]"},
		{"flood", runner.Result{ExitCode: 137, Stopped: runner.StopOutput}, nil, "[error: too much output]"},
		{"bomb", runner.Result{ExitCode: 137, Stopped: runner.StopProcesses}, nil, "[error: too many processes]"},
		{"sandbox", runner.Result{}, sandbox, "[sandbox error: no name spaces]"},
		{"other error", runner.Result{}, protocol.NewError(protocol.CodeToolError, "cannot start"), "[error: cannot start]"},
		{"uncoded error", runner.Result{}, errors.New("of the node"), "[error: internal error; see the node's log]"},
	} {
		if got := runner.InlineText(tc.result, tc.err); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestInlineTextOfRealPrograms(t *testing.T) {
	t.Parallel()
	both(t, config(), func(t *testing.T, run runner.Runner) {
		for script, want := range map[string]string{
			`echo /test/path`:         "/test/path",
			`echo no >&2; exit 1`:     "[error: no]",
			`exit 7`:                  "[error: exit code 7]",
			`exec sleep 60`:           "[timeout after 0.2s]",
			`echo "${ARGUMENTS}${1}"`: "",
		} {
			s := sh(t, run, script)
			if strings.Contains(script, "sleep") {
				s.Timeout = 200 * time.Millisecond
			}
			r, err := run.Run(t.Context(), s)
			if got := runner.InlineText(r, err); got != want {
				t.Errorf("%s: got %q, want %q", script, got, want)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r, err := run.Run(ctx, sh(t, run, `true`))
		if got := runner.InlineText(r, err); !strings.HasPrefix(got, "[error: ") {
			t.Errorf("cancelled: %q", got)
		}
	})
}
