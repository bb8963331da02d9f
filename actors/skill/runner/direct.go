package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// direct runs programs as the node's user.
type direct struct {
	*paths
	cfg   Config
	slots slots
	env   map[string]string
	shell bool // there is /bin/sh
}

// Direct returns a runner without isolation; see the package's comment for what a program can do and what gets away.
func Direct(c Config) Runner {
	c = c.withDefaults()
	if c.Path == "" {
		c.Path = os.Getenv("PATH")
	}
	return &direct{
		paths: newPaths(c.Path, nil), cfg: c, slots: make(slots, c.Concurrent), env: inherited(), shell: executable(shellPath),
	}
}

func (d *direct) Name() string { return NameDirect }

func (d *direct) Run(ctx context.Context, s Spec) (Result, error) {
	s, err := s.check(d.cfg)
	if err != nil {
		return Result{}, err
	}
	leave, err := d.slots.enter(ctx)
	if err != nil {
		return Result{}, err
	}
	defer leave()
	p := process{
		argv: s.Command, dir: s.Dir, stdin: s.Stdin, timeout: s.Timeout, maxOutput: s.MaxOutput, maxProcesses: d.cfg.MaxProcesses,
		count: func(pid int) int {
			pids, _ := sessionOf(pid)
			return len(pids)
		},
	}
	for name, value := range s.environ(d.env, d.path) {
		p.env = append(p.env, name+"="+value)
	}
	if !executable(s.Command[0]) {
		return Result{}, notStarted(s.Command[0])
	}
	if d.shell {
		p.argv = limited(d.cfg, s, 0)
	}
	result, err := p.run(ctx)
	result.Sandbox = NameDirect
	return result, err
}

// shellPath is the shell that sets limits. A process's limits cannot be set between fork and exec otherwise.
const shellPath = "/bin/sh"

// limited is the command with the limits of its processes; processes is RLIMIT_NPROC, none if 0. The text of the shell holds
// numbers only; shells disagree on the letter of RLIMIT_NPROC. A limit that cannot be set is not: then a lower one is in
// force.
func limited(c Config, s Spec, processes int) []string {
	cpu := (int64(s.Timeout/time.Second) + 1) * int64(runtime.NumCPU())
	text := fmt.Sprintf("ulimit -c 0; ulimit -t %d; ulimit -f %d; ulimit -d %d; ", cpu, c.MaxFile/512, c.MaxMemory/1024)
	if processes > 0 {
		text += fmt.Sprintf("ulimit -u %d || ulimit -p %d; ", processes, processes)
	}
	if runtime.GOOS == "linux" { // when memory runs out it goes before the node
		text += "echo 1000 >/proc/self/oom_score_adj; "
	}
	return append([]string{shellPath, "-c", "{ " + text + "} 2>/dev/null; exec \"$@\"", "sh"}, s.Command...)
}

// slots limit how many programs run at a time.
type slots chan struct{}

// enter waits for a slot. The error is that of ctx.
func (s slots) enter(ctx context.Context) (leave func(), err error) {
	if err := ended(ctx); err != nil {
		return nil, err
	}
	select {
	case s <- struct{}{}:
		return func() { <-s }, nil
	case <-ctx.Done():
		return nil, ended(ctx)
	}
}

// splitPath returns the absolute entries of a PATH.
func splitPath(path string) []string {
	var dirs []string
	for _, dir := range strings.Split(path, string(os.PathListSeparator)) {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
