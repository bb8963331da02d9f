package runner_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/skill/runner"
	"github.com/skelegent/skelegent-go/protocol"
)

func TestSandboxHidesTheNode(t *testing.T) {
	t.Parallel()
	run := sandboxed(t, config())
	secret := write(t, t.TempDir(), "secret", "of the node")
	for _, tc := range []struct{ name, script string }{
		{"a file of the node", `cat ` + secret},
		{"home", `ls /root /home`},
		{"passwords", `cat /etc/shadow /etc/passwd`},
		{"keys", `ls /etc/ssl/private /etc/ssh`},
		{"other processes", `[ $(ls -d /proc/[0-9]* | wc -l) -gt 8 ]`},
		{"capabilities", `grep -E 'Cap(Prm|Eff|Bnd|Amb)' /proc/self/status | grep -v 0000000000000000`},
		{"root", `[ "$(id -u)" = 0 ]`},
		{"root in a name space", `unshare -Ur true`},
		{"mounts", `mount -t tmpfs none /tmp`},
		{"kernel settings", `cat /proc/sys/kernel/hostname > /proc/sys/kernel/hostname`},
		{"core pattern", `v=$(cat /proc/sys/kernel/core_pattern) && echo "$v" > /proc/sys/kernel/core_pattern`},
		{"anything in /proc", `find /proc -maxdepth 4 -path '/proc/[0-9]*' -prune -o -path '/proc/*self' -prune ` +
			`-o -type f -writable -print 2>/dev/null | grep .`},
		{"write to the root", `touch /x`},
		{"write to programs", `touch /usr/bin/x`},
		{"write to devices", `touch /dev/x`},
		{"write to what is shown", `touch /etc/x || touch /etc/ssl/certs/x`},
		{"descriptors of bwrap", `for fd in 3 4 5 6; do [ -e /proc/$$/fd/$fd ] && exit 0; done; exit 1`},
		{"the node's name", `[ "$(cat /proc/sys/kernel/hostname)" != skill ]`},
		{"keyrings and ipc", `ls /dev/mqueue`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := sh(t, run, tc.script)
			s.Writable = nil
			if r := do(t, run, s); r.ExitCode == 0 || r.Stopped != "" {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestSandboxShowsWhatItIsAsked(t *testing.T) {
	t.Parallel()
	run := sandboxed(t, config())
	other, linked := t.TempDir(), filepath.Join(t.TempDir(), "link")
	write(t, other, "file", "shown")
	skill := t.TempDir()
	write(t, skill, "scripts/data", "data")
	if err := os.Symlink(skill, linked); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, script string
		change       func(*runner.Spec)
		ok           bool
	}{
		{"skill is readable", `[ "$(cat scripts/data)" = data ] && [ "$(cat "$SKILL_DIR/scripts/data")" = data ]`, nil, true},
		{"skill is not writable", `echo x > new`, nil, false},
		{"mode cannot be changed", `chmod 777 scripts/data`, nil, false},
		{"skill is writable", `echo x > new && rm new`, func(s *runner.Spec) { s.Writable = []string{skill} }, true},
		{"skill is writable by its link", `echo x > new2 && rm new2`, func(s *runner.Spec) {
			s.Dir, s.Writable = linked, []string{linked}
		}, true},
		{"other is hidden", `cat ` + other + `/file`, nil, false},
		{"other is shown", `[ "$(cat ` + other + `/file)" = shown ]`, func(s *runner.Spec) { s.ReadOnly = []string{other} }, true},
		{"other is not writable", `echo x > ` + other + `/new`, func(s *runner.Spec) { s.ReadOnly = []string{other} }, false},
		{"other is writable", `echo x > ` + other + `/new`, func(s *runner.Spec) { s.Writable = []string{other} }, true},
		{"inner is writable", `! echo x > new3 && echo x > scripts/new`, func(s *runner.Spec) {
			s.Writable = []string{skill + "/scripts"}
		}, true},
		{"tmp", `echo x > /tmp/x && echo x > "$TMPDIR/y" && echo x > /dev/shm/x && [ "$(ls / | wc -w)" -lt 20 ]`, nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := sh(t, run, tc.script)
			s.Dir, s.Writable = skill, nil
			if tc.change != nil {
				tc.change(&s)
			}
			if r := do(t, run, s); r.OK() != tc.ok {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestSandboxRefusesPaths(t *testing.T) {
	t.Parallel()
	run := sandboxed(t, config())
	for path, kind := range map[string]protocol.ErrorKind{
		"relative": runner.KindInvalid, "/": runner.KindInvalid, "/proc": runner.KindInvalid, "/proc/1": runner.KindInvalid,
		"/sys": runner.KindInvalid, "/dev/mem": runner.KindInvalid, "/tmp/../etc": runner.KindInvalid,
		"/no/such/path": runner.KindSandbox,
	} {
		s := sh(t, run, `true`)
		s.ReadOnly = []string{path}
		r, err := run.Run(t.Context(), s)
		if !isKind(err, kind) {
			t.Errorf("%s: %+v, %v", path, r, err)
		}
		if text := runner.InlineText(r, err); kind == runner.KindSandbox && !strings.HasPrefix(text, "[sandbox error: bwrap: ") {
			t.Errorf("%s: %q", path, text)
		}
	}
}

// A sandbox reaches what listens on the node only if it is asked to.
func TestSandboxHasNoNetworkUnlessAsked(t *testing.T) {
	t.Parallel()
	run := sandboxed(t, config())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	for _, network := range []bool{false, true} {
		s := sh(t, run, `exec 9<>/dev/tcp/127.0.0.1/`+strconv.Itoa(port))
		s.Network = network
		if r := do(t, run, s); r.OK() != network {
			t.Errorf("network %v: got %+v", network, r)
		}
	}
}

func TestMemoryOfASandboxIsBounded(t *testing.T) {
	t.Parallel()
	c := config()
	c.MaxFile = 1 << 20
	run := sandboxed(t, c)
	for _, dir := range []string{"/tmp", "/dev/shm"} {
		r := do(t, run, sh(t, run, `for i in 1 2 3; do head -c 700000 /dev/zero > `+dir+`/$i || exit 1; done; df `+dir+` >&2`))
		if r.OK() && strings.Contains(r.Stderr, "1024 ") {
			t.Errorf("%s: got %+v", dir, r)
		}
	}
}

// A variable of the Spec is the program's, never that of bwrap, which is not in the sandbox yet.
func TestVariablesDoNotReachBwrapItself(t *testing.T) {
	t.Parallel()
	run := sandboxed(t, config())
	s := sh(t, run, `echo "$LD_PRELOAD"`)
	s.Env = map[string]string{"LD_PRELOAD": "/no/such.so"}
	r := do(t, run, s)
	if r.Stdout != "/no/such.so\n" || strings.Count(r.Stderr, "bwrap") != 0 {
		t.Errorf("got %+v", r)
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	run, err := runner.Detect(t.Context(), config())
	if err != nil {
		t.Fatal(err)
	}
	want := runner.NameDirect
	if _, err := runner.Bubblewrap(t.Context(), config()); err == nil {
		want = runner.NameBubblewrap
	}
	if run.Name() != want {
		t.Errorf("detected %s, want %s", run.Name(), want)
	}
}

// A bwrap that is there and does not work is none.
func TestDetectTriesWhatItFinds(t *testing.T) {
	t.Parallel()
	broken := write(t, t.TempDir(), "bwrap", "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n")
	if err := os.Chmod(broken, 0o700); err != nil {
		t.Fatal(err)
	}
	lying := write(t, t.TempDir(), "bwrap", "#!/bin/sh\nexit 0\n")
	if err := os.Chmod(lying, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{broken, lying, "/no/such/bwrap"} {
		c := config()
		c.Bwrap = program
		if _, err := runner.Bubblewrap(t.Context(), c); !isKind(err, runner.KindSandbox) {
			t.Errorf("%s: error = %v", program, err)
		}
		if run, err := runner.Detect(t.Context(), c); err != nil || run.Name() != runner.NameDirect {
			t.Errorf("%s: %v, %v", program, run, err)
		}
	}
}
