package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// bubblewrap runs programs in name spaces of their own.
type bubblewrap struct {
	*paths
	cfg      Config
	program  string
	features features
	slots    slots
	env      map[string]string
	system   []string // arguments that mount the system
	root     bool     // the node is root
}

// features are what not every version of bubblewrap can do.
type features struct {
	sized    bool // --size
	noUserns bool // --disable-userns
}

// Bubblewrap returns a runner that isolates programs with bubblewrap. It runs a program to see that it
// works here; how that ends is remembered for as long as the node runs. The error, of KindSandbox or that of ctx, says why
// it does not.
func Bubblewrap(ctx context.Context, c Config) (Runner, error) {
	c = c.withDefaults()
	if c.Path == "" {
		c.Path = DefaultPath
	}
	b := &bubblewrap{
		cfg: c, slots: make(slots, c.Concurrent), env: inherited(), system: systemMounts(), root: os.Geteuid() == 0,
	}
	b.env["TMPDIR"] = "/tmp"
	b.paths = newPaths(c.Path, func(file string) bool { return b.sees(file) })
	program, err := newPaths(DefaultPath+":"+os.Getenv("PATH"), nil).LookPath("bwrap")
	if c.Bwrap != "" {
		program, err = newPaths("", nil).LookPath(c.Bwrap)
	}
	if err != nil {
		return nil, failed(KindSandbox, protocol.CodeUnsupported, "there is no bwrap: install bubblewrap").Because(err)
	}
	b.program = program
	if err := b.probe(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// Detect returns Bubblewrap where it works, else Direct. The error is that of ctx.
func Detect(ctx context.Context, c Config) (Runner, error) {
	b, err := Bubblewrap(ctx, c)
	if err == nil {
		return b, nil
	}
	if err := ended(ctx); err != nil {
		return nil, err
	}
	return Direct(c), nil
}

// probed is what is known of each bwrap: whether it works here, and with what.
var probed = struct {
	mu sync.Mutex
	of map[string]probe
}{of: map[string]probe{}}

type probe struct {
	features features
	err      error
}

const probeTimeout = 10 * time.Second

// probe runs a program with the most that bwrap might be able to do, then with less.
func (b *bubblewrap) probe(ctx context.Context) error {
	probed.mu.Lock()
	known, ok := probed.of[b.program]
	probed.mu.Unlock()
	if ok {
		b.features = known.features
		return known.err
	}
	var err error
	for _, f := range []features{{true, true}, {true, false}, {false, false}} {
		b.features = f
		var result Result
		result, err = b.Run(ctx, Spec{Command: []string{shellPath, "-c", ":"}, Dir: "/usr", Timeout: probeTimeout})
		if err == nil && !result.OK() {
			err = failed(KindSandbox, protocol.CodeUnsupported, "a program in bwrap ends with code "+strconv.Itoa(result.ExitCode))
		}
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return err
		}
	}
	probed.mu.Lock()
	probed.of[b.program] = probe{features: b.features, err: err}
	probed.mu.Unlock()
	return err
}

func (b *bubblewrap) Name() string { return NameBubblewrap }

func (b *bubblewrap) Run(ctx context.Context, s Spec) (Result, error) {
	s, err := s.check(b.cfg)
	if err != nil {
		return Result{}, err
	}
	mounts, err := b.mounts(s)
	if err != nil {
		return Result{}, err
	}
	leave, err := b.slots.enter(ctx)
	if err != nil {
		return Result{}, err
	}
	defer leave()
	args, err := newFeed(strings.Join(append(b.arguments(s), mounts...), "\x00") + "\x00")
	if err != nil {
		return Result{}, err
	}
	defer args.end()
	state, err := newStatus()
	if err != nil {
		return Result{}, err
	}
	defer state.end()
	p := process{
		argv: []string{b.program, "--args", "3", "--json-status-fd", "4", "--"}, dir: "/",
		env: []string{"PATH=" + DefaultPath}, stdin: s.Stdin,
		extra: []*os.File{args.theirs, state.theirs}, timeout: s.Timeout, maxOutput: s.MaxOutput, maxProcesses: b.cfg.MaxProcesses,
	}
	// The first process in the sandbox dies with bwrap, and with it all others; that takes a moment.
	p.after = func() {
		state.end()
		endNamespace(int(state.child.Load()), state.namespace.Load())
	}
	processes := b.cfg.MaxProcesses
	if b.root { // the kernel does not count for root
		processes = 0
		p.count = func(int) int { return namespaceOf(int(state.child.Load())) }
	}
	p.argv = append(p.argv, limited(b.cfg, s, processes)...)
	result, err := p.run(ctx)
	result.Sandbox = NameBubblewrap
	if code := state.end(); err == nil && result.Stopped == "" {
		if code < 0 { // bwrap ended, not the program
			return Result{}, failed(KindSandbox, protocol.CodeUnavailable, complaint(result.Stderr))
		}
		result.ExitCode = code
	}
	return result, err
}

// complaint is what bwrap says about itself.
func complaint(stderr string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	if !strings.HasPrefix(line, "bwrap: ") {
		return "bwrap ended before the program"
	}
	return line[:min(len(line), 2*maxQuoted)]
}

// feed is a pipe with a text that a program reads.
type feed struct {
	theirs, ours *os.File
	writing      sync.WaitGroup
}

func newFeed(text string) (*feed, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, failed(KindNotStarted, protocol.CodeUnavailable, "no pipe for the sandbox").Because(err)
	}
	f := &feed{theirs: r, ours: w}
	f.writing.Go(func() {
		_, _ = io.WriteString(w, text) // if nobody reads it, end closes it
		_ = w.Close()
	})
	return f, nil
}

// end may be called more than once.
func (f *feed) end() {
	_ = f.theirs.Close()
	_ = f.ours.Close()
	f.writing.Wait()
}

// status is what bwrap says about the program: lines of JSON.
type status struct {
	theirs, ours *os.File
	child        atomic.Int64 // the first process in the sandbox, 0 before
	namespace    atomic.Int64 // the number of its name space of processes
	code         atomic.Int64 // -1 if none came
	reading      sync.WaitGroup
}

func newStatus() (*status, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, failed(KindNotStarted, protocol.CodeUnavailable, "no pipe for the sandbox").Because(err)
	}
	s := &status{theirs: w, ours: r}
	s.code.Store(-1)
	s.reading.Go(func() {
		for lines := bufio.NewScanner(r); lines.Scan(); {
			var line struct {
				Child     *int64 `json:"child-pid"`
				Namespace int64  `json:"pid-namespace"`
				Code      *int64 `json:"exit-code"`
			}
			if json.Unmarshal(lines.Bytes(), &line) != nil {
				continue
			}
			if line.Child != nil {
				s.namespace.Store(line.Namespace)
				s.child.Store(*line.Child)
			}
			if line.Code != nil {
				s.code.Store(*line.Code)
			}
		}
	})
	return s, nil
}

// end reads what is left, if bwrap has ended, and returns the program's exit code, -1 if there is none. It may be called
// more than once.
func (s *status) end() int {
	_ = s.theirs.Close()
	_ = s.ours.SetReadDeadline(time.Now().Add(pipeWait)) // bwrap has ended; only who got its descriptor can still hold it
	s.reading.Wait()
	_ = s.ours.Close()
	return int(s.code.Load())
}

// arguments are those of bwrap for the name spaces and the environment. They go through a pipe: no process list shows them,
// and the program's environment is never bwrap's own.
func (b *bubblewrap) arguments(s Spec) []string {
	args := []string{
		"--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL",
		"--hostname", "skill", "--clearenv",
	}
	if b.features.noUserns {
		args = append(args, "--disable-userns")
	}
	if s.Network {
		args = append(args, "--share-net")
	}
	env := s.environ(b.env, b.path)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		args = append(args, "--setenv", name, env[name])
	}
	return args
}

// systemDirs and systemFiles are what every program sees of the system; systemNet is what it needs for a network.
var (
	systemDirs  = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}
	systemFiles = []string{
		"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/R", "/etc/perl",
		"/etc/php", "/etc/ssl/openssl.cnf", "/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
	}
	systemNet = []string{"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services"}
)

// writableProc is what root can write in /proc without a capability: that of the machine, not of the sandbox. bwrap covers
// some of it, but not /proc/sys, whose files belong to root.
var writableProc = []string{
	"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/acpi", "/proc/driver", "/proc/fs", "/proc/mtrr",
	"/proc/pressure", "/proc/scsi",
}

func systemMounts() []string {
	var args []string
	for _, dir := range systemDirs {
		if target, err := os.Readlink(dir); err == nil {
			args = append(args, "--symlink", target, dir)
		} else {
			args = append(args, "--ro-bind-try", dir, dir)
		}
	}
	for _, file := range systemFiles {
		args = append(args, "--ro-bind-try", file, file)
	}
	return args
}

// sees says that a program in the sandbox sees the file.
func (b *bubblewrap) sees(file string) bool {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(slices.Concat(systemDirs, b.cfg.ReadOnly), func(dir string) bool {
		return within(dir, file)
	}) && slices.ContainsFunc(slices.Concat(systemDirs, systemFiles, b.cfg.ReadOnly), func(dir string) bool {
		return within(dir, real)
	})
}

// mounts are the arguments for files: the system, /proc, /dev and /tmp, then what the Spec names, the outer before the
// inner.
func (b *bubblewrap) mounts(s Spec) ([]string, error) {
	args := slices.Clone(b.system)
	size := func() {
		if b.features.sized {
			args = append(args, "--size", strconv.FormatInt(b.cfg.MaxFile, 10))
		}
	}
	args = append(args, "--proc", "/proc")
	for _, file := range writableProc {
		args = append(args, "--ro-bind-try", file, file)
	}
	args = append(args, "--dev", "/dev")
	size()
	args = append(args, "--tmpfs", "/dev/shm")
	size()
	args = append(args, "--tmpfs", "/tmp")
	if s.Network {
		for _, file := range systemNet {
			args = append(args, "--ro-bind-try", file, file)
		}
	}
	how := map[string]string{s.Dir: "--ro-bind"}
	for _, path := range slices.Concat(b.cfg.ReadOnly, s.ReadOnly) {
		how[path] = "--ro-bind"
	}
	for _, path := range s.Writable {
		if real, err := filepath.EvalSymlinks(path); err == nil && real == s.Dir {
			path = s.Dir
		}
		how[path] = "--bind"
	}
	for _, path := range slices.Sorted(maps.Keys(how)) {
		if !mountable(path) {
			return nil, invalid(shown(path) + " cannot be shown to a program")
		}
		args = append(args, how[path], path, path)
	}
	return append(args, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", s.Dir), nil
}

// mountable says that the path can be shown: absolute, clean, and not what the sandbox itself is made of.
func mountable(path string) bool {
	return filepath.IsAbs(path) && filepath.Clean(path) == path && path != "/" && !strings.ContainsRune(path, 0) &&
		!within("/proc", path) && !within("/dev", path) && !within("/sys", path)
}

// within says that the path, absolute and clean, is the directory or below it.
func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}
