package runner

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// Why a program is killed; causes of its context.
var (
	errTimeout   = errors.New("time limit")
	errFlood     = errors.New("output limit")
	errProcesses = errors.New("process limit")
)

const (
	// pipeWait is how long a process that got away may keep the pipes open after the program has ended.
	pipeWait = 250 * time.Millisecond
	// watchEvery is how often the processes are counted.
	watchEvery = 100 * time.Millisecond
)

// process is one program to be run, ready to start.
type process struct {
	argv      []string
	dir       string
	env       []string // all of it; never that of the node
	stdin     []byte
	extra     []*os.File // descriptors 3 and up of the program
	timeout   time.Duration
	maxOutput int
	// count says how many processes the program has now; nil if nobody can or need say. pid is that of the program.
	count        func(pid int) int
	maxProcesses int
	// after is called when the program and its session have ended; it ends what is left elsewhere.
	after func()
}

// run starts the program and returns when it and all of its session have ended. The error is that of the start, or of ctx.
func (p process) run(ctx context.Context) (Result, error) {
	life, end := context.WithCancelCause(ctx)
	defer end(nil)
	limited, stop := context.WithTimeoutCause(life, p.timeout, errTimeout)
	defer stop()

	cmd := exec.CommandContext(limited, p.argv[0], p.argv[1:]...) //nolint:gosec // to run what is named is its purpose
	cmd.Dir, cmd.ExtraFiles = p.dir, p.extra
	// Never nil: that would be all of the node's.
	cmd.Env = append([]string{}, p.env...)
	ownSession(cmd)
	var killed atomic.Bool
	cmd.Cancel = func() error {
		killed.Store(true)
		return killGroup(cmd.Process)
	}
	pipes, err := p.connect(cmd)
	if err != nil {
		return Result{}, failed(KindNotStarted, protocol.CodeUnavailable, "no pipe for the program").Because(err)
	}
	// A sandbox dies with the thread that started it: this one stays until the sandbox has ended.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := time.Now()
	if err := cmd.Start(); err != nil {
		pipes.close()
		if ctx.Err() != nil {
			return Result{}, protocol.AsError(ctx.Err()).Because(context.Cause(ctx))
		}
		return Result{}, failed(KindNotStarted, protocol.CodeToolError, "the program could not be started").Because(err)
	}
	pipes.started()

	stdout := &capture{limit: p.maxOutput, flood: func() { end(errFlood) }}
	stderr := &capture{limit: p.maxOutput, flood: func() { end(errFlood) }}
	var reading, rest sync.WaitGroup
	reading.Go(func() { stdout.drain(pipes.stdout) })
	reading.Go(func() { stderr.drain(pipes.stderr) })
	rest.Go(func() { pipes.feed(p.stdin) })
	if p.count != nil {
		rest.Go(func() { p.watch(limited, cmd.Process.Pid, end) })
	}
	err = cmd.Wait()
	took := time.Since(start)
	cause := context.Cause(limited)
	stop() // the watcher ends
	endSession(cmd.Process)
	if p.after != nil {
		p.after()
	}
	late := time.AfterFunc(pipeWait, pipes.close) // what got away may hold them
	reading.Wait()
	late.Stop()
	pipes.close()
	rest.Wait()

	result := Result{
		ExitCode: exitCode(cmd.ProcessState), Stdout: stdout.text(), Stderr: stderr.text(),
		Truncated: stdout.truncated() || stderr.truncated(), Timeout: p.timeout, Duration: took,
	}
	switch {
	case !killed.Load() && cmd.ProcessState == nil:
		return Result{}, failed(KindNotStarted, protocol.CodeToolError, "the program could not be waited for").Because(err)
	case !killed.Load():
	case errors.Is(cause, errTimeout):
		result.Stopped = StopTimeout
	case errors.Is(cause, errFlood):
		result.Stopped = StopOutput
	case errors.Is(cause, errProcesses):
		result.Stopped = StopProcesses
	default:
		return result, protocol.AsError(ctx.Err()).Because(context.Cause(ctx))
	}
	return result, nil
}

// watch ends the program when it has too many processes.
func (p process) watch(ctx context.Context, pid int, end context.CancelCauseFunc) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if p.count(pid) > p.maxProcesses {
				end(errProcesses)
				return
			}
		}
	}
}

// pipes are the node's ends of a program's standard descriptors, and until it has started the program's ends too.
type pipes struct {
	stdin, stdout, stderr *os.File
	theirs                []*os.File
}

// connect makes the pipes. A program without input reads the null device.
func (p process) connect(cmd *exec.Cmd) (*pipes, error) {
	c := &pipes{}
	pair := func(ours, theirs **os.File, reading bool) error {
		r, w, err := os.Pipe()
		if err != nil {
			c.close()
			return err
		}
		if reading {
			*ours, *theirs = r, w
		} else {
			*ours, *theirs = w, r
		}
		c.theirs = append(c.theirs, *theirs)
		return nil
	}
	var in, out, err *os.File
	if e := pair(&c.stdout, &out, true); e != nil {
		return nil, e
	}
	if e := pair(&c.stderr, &err, true); e != nil {
		return nil, e
	}
	cmd.Stdout, cmd.Stderr = out, err
	if len(p.stdin) > 0 {
		if e := pair(&c.stdin, &in, false); e != nil {
			return nil, e
		}
		cmd.Stdin = in
	}
	return c, nil
}

func (c *pipes) started() {
	for _, f := range c.theirs {
		_ = f.Close() // the program has its own
	}
	c.theirs = nil
}

// feed writes the input. A program need not read it.
func (c *pipes) feed(data []byte) {
	if c.stdin != nil {
		_, _ = c.stdin.Write(data)
		_ = c.stdin.Close()
	}
}

// close ends reads and writes that wait. It may be called more than once.
func (c *pipes) close() {
	for _, f := range append([]*os.File{c.stdin, c.stdout, c.stderr}, c.theirs...) {
		if f != nil {
			_ = f.Close() // closed twice is no harm
		}
	}
}
