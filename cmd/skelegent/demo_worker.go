package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// demoWorker is a node in a process of its own.
type demoWorker struct {
	cmd   *exec.Cmd
	ready chan string   // gets its ready line
	said  string        // that line
	done  chan struct{} // closed when it has ended
	err   error         // how, once done is closed
	log   string        // the file that its standard error goes to
}

// startDemoWorker starts `PROGRAM up ARGS` and returns when it says that it is ready. If it fails nothing is left running.
func startDemoWorker(ctx context.Context, program, log string, args ...string) (*demoWorker, error) {
	w := &demoWorker{
		cmd:   exec.Command(program, append([]string{"up"}, args...)...), //nolint:gosec // it is this program; it may outlive ctx, and stop or kill ends it
		ready: make(chan string, 1), done: make(chan struct{}), log: log,
	}
	w.cmd.Env, w.cmd.WaitDelay = demoEnv(os.Environ()), closeWithin
	started := make(chan error, 1)
	go w.run(started) // ends with the process, which stop and kill wait for
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	select {
	case w.said = <-w.ready:
		return w, nil
	case <-w.done:
		return nil, w.ended()
	case <-ctx.Done():
		w.kill()
		return nil, fmt.Errorf("the worker is not ready: %w", context.Cause(ctx))
	}
}

// run is the process from its start to its end, on one thread: where the system can, the process ends with it.
func (w *demoWorker) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := w.start()
	if err != nil {
		started <- err
		return
	}
	defer close(w.done)
	started <- nil
	w.err = w.cmd.Wait()
}

// start begins the process. Its log is a file, its standard output a pipe that somebody reads.
func (w *demoWorker) start() error {
	log, err := os.OpenFile(w.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the process has its own
	w.cmd.Stderr = log
	w.cmd.Stdout = &readyLines{ready: w.ready}
	endWithParent(w.cmd)
	return w.cmd.Start()
}

// readyLines passes the first line on that says that a node is ready.
type readyLines struct {
	ready chan<- string
	rest  string
}

// Write implements io.Writer.
func (r *readyLines) Write(p []byte) (int, error) {
	r.rest += string(p)
	for {
		line, rest, ok := strings.Cut(r.rest, "\n")
		if !ok {
			return len(p), nil
		}
		r.rest = rest
		if strings.HasPrefix(line, "ready") {
			select {
			case r.ready <- line:
			default: // it was said before
			}
		}
	}
}

func (w *demoWorker) pid() int { return w.cmd.Process.Pid }

// ended says how a worker ended that should not have. It must have.
func (w *demoWorker) ended() error {
	why := "exit status 0"
	if w.err != nil {
		why = w.err.Error()
	}
	if last := lastLine(w.log); last != "" {
		why += "; the end of its log: " + last
	}
	return errors.New("the worker ended by itself: " + why)
}

// kill ends the process as a crash does, and returns when it is gone.
func (w *demoWorker) kill() {
	_ = w.cmd.Process.Kill() // SIGKILL; it fails where there is no process any more
	<-w.done
}

// demoDrain is how long a worker may take to end well.
const demoDrain = 5 * time.Second

// stop lets the process end well, or else kills it. It takes nil, and a worker that has ended.
func (w *demoWorker) stop() {
	if w == nil {
		return
	}
	if w.cmd.Process.Signal(syscall.SIGTERM) == nil {
		select {
		case <-w.done:
			return
		case <-time.After(demoDrain):
		}
	}
	w.kill()
}

// demoEnv is the environment without what says where another server is.
func demoEnv(environ []string) []string {
	var env []string
	for _, v := range environ {
		if !strings.HasPrefix(v, "NATS_") && !strings.HasPrefix(v, "SKELEGENT_") {
			env = append(env, v)
		}
	}
	return env
}

const maxLastLine = 300

func lastLine(file string) string {
	f, err := os.Open(filepath.Clean(file))
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // it was only read
	last := ""
	for s := bufio.NewScanner(f); s.Scan(); {
		last = s.Text()
	}
	return clip(last, maxLastLine)
}
