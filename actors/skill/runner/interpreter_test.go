package runner_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/skill/runner"
)

// installed are the programs of a machine that is not this one.
type installed string

func (i installed) LookPath(name string) (string, error) {
	if strings.Contains(" "+string(i)+" ", " "+name+" ") {
		return "/bin/" + name, nil
	}
	return "", exec.ErrNotFound
}

func TestInterpreterOfAnExtension(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: the interpreters are those of Unix")
	}
	for _, tc := range []struct{ file, there, want string }{
		{"run.py", "python3 python", "/bin/python3"},
		{"run.py", "python", "/bin/python"},
		{"RUN.PY", "python3", "/bin/python3"},
		{"test.js", "node", "/bin/node"},
		{"test.mjs", "node", "/bin/node"},
		{"test.cjs", "node", "/bin/node"},
		{"test.ts", "bun deno npx", "/bin/bun"},
		{"test.ts", "deno npx", "/bin/deno run --allow-read --allow-env"},
		{"test.mts", "npx", "/bin/npx tsx"},
		{"test.tsx", "npx", "/bin/npx tsx"},
		{"x.sh", "bash sh", "/bin/bash"},
		{"x.bash", "bash", "/bin/bash"},
		{"x.sh", "sh", "/bin/sh"},
		{"x.ps1", "pwsh sh", "/bin/pwsh -NoProfile -NonInteractive -File"},
		{"x.ps1", "sh", "/bin/sh"},
		{"x.rb", "ruby", "/bin/ruby"},
		{"x.pl", "perl", "/bin/perl"},
		{"x.php", "php", "/bin/php"},
		{"x.r", "Rscript", "/bin/Rscript"},
		{"x.R", "Rscript", "/bin/Rscript"},
		{"x.unknown", "bash python3", "/bin/bash"},
		{"x", "bash", "/bin/bash"},
		{"dir.py/x", "bash python3", "/bin/bash"},
		{"x.", "bash", "/bin/bash"},
	} {
		got, err := runner.Interpreter(installed(tc.there), tc.file)
		if err != nil || strings.Join(got, " ") != tc.want {
			t.Errorf("%s with %s: got %q, want %q, %v", tc.file, tc.there, got, tc.want, err)
		}
	}
}

func TestNoInterpreterNamesWhatToInstall(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: the interpreters are those of Unix")
	}
	for file, want := range map[string]string{
		"x.py": "install python3 or python", "x.ts": "install bun or deno or npx", "x.rb": "install ruby", "x.sh": "install bash or sh",
	} {
		_, err := runner.Interpreter(installed(""), file)
		if !isKind(err, runner.KindNoInterpreter) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if _, err := runner.Shell(installed(""), runner.ShellBash, "true"); !isKind(err, runner.KindNoInterpreter) {
		t.Errorf("shell: %v", err)
	}
}

func TestShell(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: the shells are those of Unix")
	}
	for _, tc := range []struct{ shell, there, want string }{
		{"bash", "bash sh", "/bin/bash -c -- echo x"},
		{"", "bash sh", "/bin/bash -c -- echo x"},
		{"zsh", "bash zsh", "/bin/bash -c -- echo x"},
		{"bash", "sh", "/bin/sh -c -- echo x"},
		{"powershell", "pwsh bash sh", "/bin/pwsh -NoProfile -NonInteractive -Command echo x"},
		{"powershell", "bash sh", "/bin/sh -c -- echo x"},
	} {
		got, err := runner.Shell(installed(tc.there), tc.shell, "echo x")
		if err != nil || strings.Join(got, " ") != tc.want {
			t.Errorf("%s with %s: got %q, want %q, %v", tc.shell, tc.there, got, tc.want, err)
		}
	}
	for _, text := range []string{"a\x00b", strings.Repeat("x", 40<<10)} {
		if _, err := runner.Shell(installed("bash"), "", text); !isKind(err, runner.KindInvalid) {
			t.Errorf("error = %v", err)
		}
	}
}

// Each script says its first argument, where it is, and what lies beside it.
func TestScriptsRun(t *testing.T) {
	t.Parallel()
	scripts := map[string]string{
		"s.sh":  `echo "$1|$(pwd)|$(cat "$(dirname "$0")/beside")"`,
		"s":     `echo "$1|$(pwd)|$(cat "$(dirname "$0")/beside")"`,
		"s.py":  "import sys, os, beside_py\nprint('|'.join([sys.argv[1], os.getcwd(), beside_py.text]))",
		"s.js":  `console.log([process.argv[2], process.cwd(), require("fs").readFileSync(__dirname + "/beside", "utf8")].join("|"))`,
		"s.rb":  `puts [ARGV[0], Dir.pwd, File.read(File.join(__dir__, "beside"))].join("|")`,
		"s.pl":  `use Cwd; use FindBin; open(F, "$FindBin::Bin/beside"); print join("|", $ARGV[0], getcwd(), <F>), "\n";`,
		"s.php": `<?php echo implode("|", [$argv[1], getcwd(), file_get_contents(__DIR__ . "/beside")]), "\n";`,
		"s.R":   `cat(paste(commandArgs(trailingOnly=TRUE)[1], getwd(), "text", sep="|")); cat("\n")`,
	}
	both(t, config(), func(t *testing.T, run runner.Runner) {
		dir := t.TempDir()
		write(t, dir, "scripts/beside", "text")
		write(t, dir, "scripts/beside_py.py", "text = 'text'")
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range scripts {
			write(t, dir, "scripts/"+name, text)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if _, err := runner.Interpreter(run, name); err != nil && name != "s.sh" {
					t.Skipf("NOT TESTED here: %v", err)
				}
				command, err := runner.Script(run, dir, "scripts/"+name, []string{`a "b"; $(c)`})
				if err != nil {
					t.Fatal(err)
				}
				r := do(t, run, runner.Spec{Command: command, Dir: dir})
				if want := `a "b"; $(c)|` + real + "|text\n"; !r.OK() || r.Stdout != want {
					t.Errorf("got %+v, want %q", r, want)
				}
			})
		}
	})
}

func TestScriptStaysInItsDirectory(t *testing.T) {
	t.Parallel()
	dir, secret := tree(t)
	for _, path := range []string{
		"../secret.txt", "foo/../../escape", "/etc/passwd", secret, "missing.py", "out", "outdir/secret.txt", "scripts", "",
	} {
		if command, err := runner.Script(installed("bash python3"), dir, path, nil); err == nil {
			t.Errorf("%q: got %q", path, command)
		}
	}
	command, err := runner.Script(installed("python3"), dir, "indir/run.py", []string{"x"})
	real, _ := filepath.EvalSymlinks(dir)
	if err != nil || strings.Join(command, " ") != "/bin/python3 "+real+"/scripts/run.py x" {
		t.Errorf("got %q, %v", command, err)
	}
}

// Programs are found where the runner's programs find them: never in the working directory, and in a sandbox only what it
// shows.
func TestLookPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tool := write(t, dir, "sometool", "#!/bin/sh\necho tool\n")
	if err := os.Chmod(tool, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "notool", "text")
	c := runner.Config{Path: ":.:relative:" + dir + ":/usr/bin:/bin"}
	run := runner.Direct(c)
	if got, err := run.LookPath("sometool"); err != nil || got != tool {
		t.Errorf("got %q, %v", got, err)
	}
	for _, name := range []string{"notool", "main_test.go", "no-such-tool", "./main_test.go", ""} {
		if got, err := run.LookPath(name); err == nil {
			t.Errorf("%q: got %q", name, got)
		}
	}
	if r := do(t, run, sh(t, run, `echo "$PATH"`)); r.Stdout != dir+":/usr/bin:/bin\n" {
		t.Errorf("PATH is %q", r.Stdout)
	}
	if err := os.Remove(tool); err != nil {
		t.Fatal(err)
	}
	if got, err := run.LookPath("sometool"); err == nil {
		t.Errorf("it was removed: got %q", got)
	}
	if err := os.WriteFile(tool, []byte("#!/bin/sh\necho tool\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	hidden := sandboxed(t, c)
	if got, err := hidden.LookPath("sometool"); err == nil {
		t.Errorf("the sandbox does not show %q", got)
	}
	c.ReadOnly = []string{dir}
	shown := sandboxed(t, c)
	file, err := shown.LookPath("sometool")
	if err != nil {
		t.Fatal(err)
	}
	if r := do(t, shown, runner.Spec{Command: []string{file}, Dir: t.TempDir()}); r.Stdout != "tool\n" {
		t.Errorf("got %+v", r)
	}
}
