package runner

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// Spec says what to run.
type Spec struct {
	// Command is the absolute path of a program and its arguments, as Script and Shell return it.
	Command []string
	// Dir is the skill's directory, absolute: working directory and SKILL_DIR.
	Dir string
	// SessionID is passed as SESSION_ID unless it is empty.
	SessionID string
	// Env are further variables. PATH and SKILL_DIR cannot be set.
	Env map[string]string
	// Stdin is what the program reads; nothing if empty. It may end without reading it.
	Stdin []byte
	// Timeout is how long it may take; Config.Timeout if 0, never more than Config.MaxTimeout.
	Timeout time.Duration
	// MaxOutput is how many bytes are kept of standard output and of standard error; Config.MaxOutput if 0.
	MaxOutput int
	// ReadOnly and Writable are absolute paths that a sandboxed program sees beside Dir. Dir itself may be in Writable. A
	// direct program sees all files anyway.
	ReadOnly, Writable []string
	// Network lets a sandboxed program use the node's network. A direct one always can.
	Network bool
}

// Stop says why a program was killed.
type Stop string

// The reasons.
const (
	StopTimeout   Stop = "timeout"   // it took too long
	StopOutput    Stop = "output"    // it wrote more than OutputFactor times the limit
	StopProcesses Stop = "processes" // it started too many processes
)

// Result is what a program did.
type Result struct {
	// ExitCode is that of the program; 128 and the signal's number if a signal ended it, as a shell has it.
	ExitCode int
	// Stdout and Stderr are valid UTF-8: other bytes are replaced.
	Stdout, Stderr string
	// Truncated says that the program wrote more than is here.
	Truncated bool
	// Stopped says why it was killed; empty if it ended itself.
	Stopped Stop
	// Timeout is the limit of time that it had.
	Timeout time.Duration
	// Duration is how long it ran.
	Duration time.Duration
	// Sandbox is the Runner's name.
	Sandbox string
}

// TimedOut says that the program was killed because it took too long.
func (r Result) TimedOut() bool { return r.Stopped == StopTimeout }

// OK says that the program ended itself with exit code 0.
func (r Result) OK() bool { return r.Stopped == "" && r.ExitCode == 0 }

// Finder finds programs.
type Finder interface {
	// LookPath returns the absolute path of the program as a program that is run sees it; an error that wraps
	// exec.ErrNotFound if there is none. Safe for concurrent use.
	LookPath(name string) (string, error)
}

// Runner runs programs.
type Runner interface {
	Finder
	// Name is how it isolates programs: NameDirect or NameBubblewrap.
	Name() string
	// Run runs the program and waits for it and all that it started. An exit code and a program that was killed at a limit
	// are no errors. An error says that the program could not be run (KindInvalid, KindNotStarted, KindSandbox), or that ctx
	// ended, with the code of that. Safe for concurrent use; it blocks while too many others run.
	Run(ctx context.Context, s Spec) (Result, error)
}

// The names of runners.
const (
	NameDirect     = "direct"
	NameBubblewrap = "bwrap"
)

// Config is how a runner runs programs. The zero value works.
type Config struct {
	// Path is PATH of the programs and where they are looked for; entries that are not absolute are left out. If empty it is
	// the node's PATH, and DefaultPath in a sandbox.
	Path string
	// Timeout is how long a program may take whose Spec does not say; 30 s if 0.
	Timeout time.Duration
	// MaxTimeout is the longest that a Spec can ask for; 5 min if 0.
	MaxTimeout time.Duration
	// MaxOutput is how many bytes are kept of each output if the Spec does not say; 256 KiB if 0.
	MaxOutput int
	// Concurrent is how many programs run at a time; 8 if 0.
	Concurrent int
	// MaxProcesses is how many processes a program may have at a time; 256 if 0. With more it is killed; in a sandbox of a
	// node that is not root it cannot start more, and threads count too.
	MaxProcesses int
	// MaxMemory is what each process may write to, in bytes (RLIMIT_DATA); 2 GiB if 0.
	MaxMemory int64
	// MaxFile is how large a file may become, and each of the directories in memory of a sandbox, in bytes; 256 MiB if 0.
	MaxFile int64
	// ReadOnly are absolute paths that every sandboxed program sees.
	ReadOnly []string
	// Bwrap is the path of bubblewrap; looked for in DefaultPath and then in the node's PATH if empty.
	Bwrap string
}

// DefaultPath is PATH in a sandbox.
const DefaultPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

// The largest that a Spec can ask for.
const (
	maxCommand   = 256 << 10 // bytes of the command
	maxStdin     = 16 << 20
	maxKeep      = 16 << 20
	maxVariables = 64
	maxVariable  = 32 << 10
	maxMounts    = 64
)

func (c Config) withDefaults() Config {
	set(&c.Timeout, 30*time.Second)
	set(&c.MaxTimeout, 5*time.Minute)
	set(&c.MaxOutput, 256<<10)
	set(&c.Concurrent, 8)
	set(&c.MaxProcesses, 256)
	set(&c.MaxMemory, 2<<30)
	set(&c.MaxFile, 256<<20)
	return c
}

func set[T ~int | ~int64](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}

// check returns the Spec with its limits set and its directories without links.
func (s Spec) check(c Config) (Spec, error) {
	if len(s.Command) == 0 || !filepath.IsAbs(s.Command[0]) {
		return s, invalid("no command, or one without an absolute path")
	}
	size := 0
	for _, arg := range s.Command {
		size += len(arg) + 1
		if strings.ContainsRune(arg, 0) {
			return s, invalid("an argument holds a NUL")
		}
	}
	switch {
	case size > maxCommand:
		return s, invalid("the command is too long")
	case len(s.Stdin) > maxStdin:
		return s, invalid("the input is too long")
	case len(s.Env) > maxVariables:
		return s, invalid("too many variables")
	case len(s.ReadOnly)+len(s.Writable)+len(c.ReadOnly) > maxMounts:
		return s, invalid("too many paths")
	case strings.ContainsRune(s.SessionID, 0) || len(s.SessionID) > maxVariable:
		return s, invalid("the session's id cannot be passed")
	}
	for name, value := range s.Env {
		if !variable(name) || len(value) > maxVariable || strings.ContainsRune(value, 0) {
			return s, invalid("variable " + shown(name) + " cannot be passed")
		}
	}
	dir, err := realDir(s.Dir)
	if err != nil {
		return s, err
	}
	s.Dir = dir
	set(&s.Timeout, c.Timeout)
	s.Timeout = min(s.Timeout, c.MaxTimeout)
	set(&s.MaxOutput, c.MaxOutput)
	s.MaxOutput = min(s.MaxOutput, maxKeep)
	return s, nil
}

// realDir returns the directory without links.
func realDir(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", invalid("the skill's directory must be an absolute path")
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", failed(KindNotFound, protocol.CodeNotFound, "there is no skill directory "+shown(filepath.Base(dir))).Because(err)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", failed(KindNotFound, protocol.CodeNotFound, shown(filepath.Base(dir))+" is no directory").Because(err)
	}
	return real, nil
}

func variable(name string) bool {
	if name == "" || len(name) > maxQuoted || name == "PATH" || name == "SKILL_DIR" {
		return false
	}
	for i, r := range name {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return true
}

// inherited are the variables that a program has of the node.
func inherited() map[string]string {
	names := []string{"LANG", "LC_ALL", "TZ", "TMPDIR"}
	if runtime.GOOS == "windows" { // without them hardly a program starts
		names = append(names, "TEMP", "TMP", "SYSTEMROOT", "PATHEXT", "COMSPEC")
	}
	env := map[string]string{}
	for _, name := range names {
		if v, ok := os.LookupEnv(name); ok {
			env[name] = v
		}
	}
	return env
}

// environ is the whole environment of the program.
func (s Spec) environ(base map[string]string, path string) map[string]string {
	env := map[string]string{}
	for name, value := range base {
		env[name] = value
	}
	for name, value := range s.Env {
		env[name] = value
	}
	if s.SessionID != "" {
		env["SESSION_ID"] = s.SessionID
	}
	env["PATH"], env["SKILL_DIR"], env["PWD"] = path, s.Dir, s.Dir
	return env
}
