package builtin_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/skill/builtin"
	"github.com/skelegent/skelegent-go/actors/skill/runner"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// recorder is a sandbox that runs nothing.
type recorder struct {
	specs  []runner.Spec
	result runner.Result
	err    error
}

func (*recorder) Name() string { return runner.NameBubblewrap }

func (*recorder) LookPath(name string) (string, error) {
	if name == "missing" {
		return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
	}
	return "/bin/" + name, nil
}

func (r *recorder) Run(_ context.Context, s runner.Spec) (runner.Result, error) {
	r.specs = append(r.specs, s)
	return r.result, r.err
}

func shell(t testing.TB, c builtin.ShellConfig) *builtin.Shell {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	s, err := builtin.NewShell(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func asks(t testing.TB, s *builtin.Shell, command string) bool {
	t.Helper()
	raw, err := json.Marshal(in{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	_, ask := tool.NeedsApproval(named(t, s, "shell"), raw)
	return ask
}

func TestEachCommandNeedsApproval(t *testing.T) {
	t.Parallel()
	s := shell(t, builtin.ShellConfig{Runner: &recorder{}})
	for _, command := range []string{"ls", "true", "", "rm -rf /"} {
		if !asks(t, s, command) {
			t.Errorf("%q needs none", command)
		}
	}
	x := named(t, s, "shell")
	if _, ask := tool.NeedsApproval(x, json.RawMessage(`{`)); !ask || tool.CanRepeat(x) || x.Metadata().ParallelSafe {
		t.Error("a call may run without approval, again, or beside others")
	}
}

var list = []string{"git status", "git log *", "ls *", "date", "/opt/bin/tool *"}

func TestAllowedCommandsNeedNoApprovalAndRunWithoutAShell(t *testing.T) {
	t.Parallel()
	for command, want := range map[string][]string{
		"git status": {"/bin/git", "status"}, " git\tstatus ": {"/bin/git", "status"}, "git 'status'": {"/bin/git", "status"},
		"git log": {"/bin/git", "log"}, "git log --oneline -n 3 a..b": {"/bin/git", "log", "--oneline", "-n", "3", "a..b"},
		`ls "a b" 'c;d $(e)' x=y é`: {"/bin/ls", "a b", "c;d $(e)", "x=y", "é"}, "ls ''": {"/bin/ls", ""}, "ls": {"/bin/ls"},
		`ls "a;b|c"`: {"/bin/ls", "a;b|c"}, "date": {"/bin/date"}, "/opt/bin/tool x": {"/bin//opt/bin/tool", "x"},
	} {
		for _, only := range []bool{false, true} {
			r := &recorder{}
			s := shell(t, builtin.ShellConfig{Runner: r, Allow: list, OnlyAllowed: only})
			if asks(t, s, command) {
				t.Errorf("%q needs approval", command)
				continue
			}
			must(t, s, "shell", in{"command": command})
			if d := cmp.Diff(want, r.specs[0].Command); d != "" {
				t.Errorf("%q: %s", command, d)
			}
		}
	}
}

func TestCommandsThatAreNotPlainAreNeverOnTheList(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"git", "git status -s", "git status; rm x", "git statusx", "gitstatus", "date x", "git -c a=b log",
		"GIT status", "sh -c ls", "lsx",
		"./ls", "/tmp/ls", "tool", "x=y ls", "", "''", "'' ls",
		"ls; rm x", "ls x;rm x", "ls x& rm x", "ls && rm x", "ls | sh", "ls & rm x", "ls > x", "ls < x", "ls $(rm x)", "ls `rm x`",
		"ls \"$(rm x)\"", "ls \"`rm x`\"",
		"ls $HOME", "ls \"$HOME\"", "ls *", "ls ?", "ls [a]", "ls {a,b}", "ls ~", "ls # x", "ls !x", "ls \"!x\"",
		"ls \\\nx", "ls a\\ b", "ls \"a\\b\"",
		"ls\nrm x", "ls\rrm x", "ls 'x\n'", "ls\x00rm", "ls (x)", "ls 'x", "ls \"x", "ls\u00a0x", "ls\u2028x",
		"ls \x1b[31m", "ls ^x",
		"ls " + strings.Repeat("x ", 300),
	} {
		r := &recorder{}
		if s := shell(t, builtin.ShellConfig{Runner: r, Allow: list}); !asks(t, s, command) {
			t.Errorf("%q needs no approval", command)
		}
		s := shell(t, builtin.ShellConfig{Runner: r, Allow: list, OnlyAllowed: true})
		if _, err := call(t, s, "shell", in{"command": command}); err == nil || len(r.specs) > 0 {
			t.Errorf("%q was run", command)
		}
	}
	// What another reader of the JSON could take for the command is refused before anything runs.
	r := &recorder{}
	s := shell(t, builtin.ShellConfig{Runner: r, Allow: list})
	for _, input := range []string{
		`{"COMMAND":"rm x","command":"ls"}`, `{"command":"ls","Command":"rm x"}`, `{"command":"ls"} {"command":"rm"}`,
	} {
		_, err := call(t, s, "shell", input)
		wantKind(t, err, protocol.KindToolInvalidInput)
	}
	if _, ask := tool.NeedsApproval(named(t, s, "shell"), json.RawMessage(`{"command":"ls","command":"rm x"}`)); !ask {
		t.Error("the first of two commands was compared, the second runs")
	}
}

func TestOnlyAllowedRefusesInsteadOfAsking(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	s := shell(t, builtin.ShellConfig{Runner: r, Allow: list, OnlyAllowed: true})
	if asks(t, s, "rm x") {
		t.Error("asks")
	}
	_, err := call(t, s, "shell", in{"command": "rm secret"})
	wantKind(t, err, builtin.KindNotAllowed)
	if protocol.CodeOf(err) != protocol.CodePermissionDenied || strings.Contains(err.Error(), "secret") || len(r.specs) > 0 {
		t.Errorf("%v", err)
	}
	if !strings.Contains(s.Prompt(), "git log *") {
		t.Error(s.Prompt())
	}
}

// A plain command is to bash just what it is to the tool.
func TestPlainCommandsMeanToBashWhatTheyAreTakenFor(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("NOT TESTED: there is no bash")
	}
	for _, command := range []string{
		"ls a 'b c' \"d e\" f'g'\"h\"i", "ls  \t x  ", "ls -n=3 a,b c:d e@f g+h %1 a/b . .. é ''",
		`ls "a;b" 'c|d' "it's" '"' "<>&*?[]{}~#()"`,
		"ls if then a=b",
	} {
		r := &recorder{}
		s := shell(t, builtin.ShellConfig{Runner: r, Allow: list})
		if asks(t, s, command) {
			t.Errorf("%q is not plain", command)
			continue
		}
		must(t, s, "shell", in{"command": command})
		script := "ls() { printf '%s\\0' ls \"$@\"; }; " + command
		out, err := exec.CommandContext(t.Context(), bash, "--norc", "-c", script).Output()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		got := append([]string{"ls"}, r.specs[0].Command[1:]...)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", command, d)
		}
	}
}

func TestShellSaysHowItWent(t *testing.T) {
	t.Parallel()
	r := &recorder{result: runner.Result{ExitCode: 137, Stdout: "out", Stderr: "err", Truncated: true, Stopped: runner.StopTimeout}}
	s := shell(t, builtin.ShellConfig{Runner: r, Allow: []string{"missing"}})
	want := map[string]any{"exit_code": 137.0, "stdout": "out", "stderr": "err", "truncated": true, "stopped": "timeout"}
	if d := cmp.Diff(want, must(t, s, "shell", in{"command": "x"})); d != "" {
		t.Error(d)
	}
	want = map[string]any{"exit_code": 127.0, "stdout": "", "stderr": "missing: not found"}
	if d := cmp.Diff(want, must(t, s, "shell", in{"command": "missing"})); d != "" {
		t.Error(d)
	}
	r.err = protocol.NewError(protocol.CodeCancelled, "cancelled")
	if _, err := call(t, s, "shell", in{"command": "x"}); protocol.CodeOf(err) != protocol.CodeCancelled {
		t.Error(err)
	}
}

func TestShellTellsTheRunnerItsLimits(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	dir := t.TempDir()
	s := shell(t, builtin.ShellConfig{
		Runner: r, Dir: dir, Env: map[string]string{"A": "b"}, Timeout: 2 * time.Second, MaxTimeout: 9 * time.Second,
	})
	session := protocol.SessionID("s-1")
	ctx := tool.WithRun(t.Context(), tool.Run{Session: &session})
	for seconds, want := range map[string]time.Duration{
		"0": 2 * time.Second, "1.5": 1500 * time.Millisecond, "9": 9 * time.Second, "1e300": 9 * time.Second,
		"1e-300": time.Millisecond,
	} {
		r.specs = nil
		if _, err := tool.Call(ctx, named(t, s, "shell"), json.RawMessage(`{"command":"x","timeout":`+seconds+`}`)); err != nil {
			t.Fatal(err)
		}
		got := r.specs[0]
		if got.Timeout != want || got.MaxOutput != builtin.DefaultShellMaxOutput || got.Dir != dir || got.Env["A"] != "b" ||
			got.Network || got.SessionID != "s-1" || len(got.Writable) != 1 || got.Writable[0] != dir {
			t.Errorf("timeout %s: got %+v", seconds, got)
		}
	}
	s = shell(t, builtin.ShellConfig{Runner: r, Dir: dir, ReadOnly: true, Network: true})
	r.specs = nil
	must(t, s, "shell", in{"command": "x"})
	if got := r.specs[0]; len(got.Writable) > 0 || !got.Network {
		t.Errorf("got %+v", got)
	}
	for _, bad := range []in{
		{"command": " "}, {"command": "x", "timeout": -1}, {"command": strings.Repeat("x", 40<<10)}, {"command": "a\x00"}, {},
	} {
		_, err := call(t, s, "shell", bad)
		wantKind(t, err, protocol.KindToolInvalidInput)
	}
}

func TestShellRefusesConfigurationsThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	r, dir := &recorder{}, t.TempDir()
	for name, c := range map[string]builtin.ShellConfig{
		"no runner": {Dir: dir}, "relative": {Runner: r, Dir: "x"}, "no list": {Runner: r, Dir: dir, OnlyAllowed: true},
		"no sandbox": {Runner: runner.Direct(runner.Config{}), Dir: dir, ReadOnly: true},
		"syntax":     {Runner: r, Dir: dir, Syntax: "fish"},
		"too many":   {Runner: r, Dir: dir, Allow: make([]string, 300)},
	} {
		if _, err := builtin.NewShell(c); err == nil {
			t.Errorf("%s: no error", name)
		} else {
			wantKind(t, err, builtin.KindConfig)
		}
	}
	for _, entry := range []string{"", "*", " *", "ls;rm", "ls $X", "./x", "bin/x", "A=b ls", "ls **", "'", "ls*"} {
		if _, err := builtin.NewShell(builtin.ShellConfig{Runner: r, Dir: dir, Allow: []string{entry}}); err == nil {
			t.Errorf("%q is taken", entry)
		}
	}
}

func TestShellRunsCommands(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: the programs of this test are those of Unix")
	}
	runners := map[string]runner.Runner{runner.NameDirect: runner.Direct(runner.Config{Path: runner.DefaultPath})}
	if b, err := runner.Bubblewrap(t.Context(), runner.Config{Path: runner.DefaultPath}); err == nil {
		runners[b.Name()] = b
	}
	for name, run := range runners {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := shell(t, builtin.ShellConfig{Runner: run, Dir: dir, Allow: []string{"cat *"}, MaxOutput: 100})
			out := must(t, s, "shell", in{"command": "echo hi > f; echo oops >&2; exit 3"})
			if d := cmp.Diff(map[string]any{"exit_code": 3.0, "stdout": "", "stderr": "oops\n"}, out); d != "" {
				t.Error(d)
			}
			if out = must(t, s, "shell", in{"command": "cat f"}); out["stdout"] != "hi\n" || asks(t, s, "cat f") {
				t.Errorf("got %v", out)
			}
			out = must(t, s, "shell", in{"command": "cat '$(id)'"})
			if out["exit_code"] == 0.0 || !strings.Contains(out["stderr"].(string), "$(id)") {
				t.Errorf("got %v", out)
			}
			if out = must(t, s, "shell", in{"command": "sleep 60", "timeout": 0.2}); out["stopped"] != "timeout" {
				t.Errorf("got %v", out)
			}
			out = must(t, s, "shell", in{"command": "printf '%0200d' 7"})
			if out["truncated"] != true || len(out["stdout"].(string)) > 100 {
				t.Errorf("got %v", out)
			}
		})
	}
}

// A command that is run without a shell is one whose words cannot be taken for anything else.
func FuzzAllowedCommand(f *testing.F) {
	f.Add("ls 'a b'")
	f.Add("ls \"$(x)\"")
	r := &recorder{}
	s := shell(f, builtin.ShellConfig{Runner: r, Allow: []string{"ls *"}, OnlyAllowed: true})
	f.Fuzz(func(t *testing.T, text string) {
		r.specs = nil
		if _, err := call(t, s, "shell", in{"command": "ls " + text}); err != nil {
			return
		}
		// Where there are no quotes nothing that means something to a shell, and within double ones nothing that does there.
		if !strings.ContainsAny(text, `'"`) && strings.ContainsAny(text, ";&|<>(){}[]*?~#!$`\\\n") ||
			!strings.Contains(text, "'") && strings.ContainsAny(text, "$`\\\n") {
			t.Fatalf("%q ran as %q", text, r.specs[0].Command)
		}
	})
}
