//go:build unix

package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// faultKind says what was done to a process.
type faultKind string

const (
	faultNone   faultKind = "none"
	faultKill   faultKind = "kill"   // SIGKILL
	faultLeave  faultKind = "leave"  // SIGTERM
	faultStop   faultKind = "stop"   // SIGSTOP, and SIGCONT later
	faultCrash  faultKind = "crash"  // it ended by itself
	faultServer faultKind = "server" // any, of a server
)

// fault is something that was done to a process, from one time to another.
type fault struct {
	kind     faultKind
	slot     string
	pid      int
	from, to time.Time
}

// slot is a place for one process at a time, which is started again when it has ended.
type slot struct {
	name string
	env  []string
	log  *os.File

	mu      sync.Mutex
	cmd     *exec.Cmd     // nil while there is none
	ended   chan struct{} // closed when cmd has
	meant   bool          // its end is
	stopped bool
	faults  []fault
	starts  int
	odd     []string // ends that nobody meant
}

func newSlot(dir, role, name string, env ...string) (*slot, error) {
	log, err := os.OpenFile(filepath.Join(dir, name+".err"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &slot{name: name, log: log, env: append([]string{envRole + "=" + role, envSlot + "=" + name, envDir + "=" + dir}, env...)}, nil
}

// keep has a process there until ctx ends: when one has ended, the next begins after a while. It does not end the last one.
func (s *slot) keep(ctx context.Context, down func() time.Duration) error {
	for {
		ended, err := s.start()
		if err != nil {
			return err
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return nil
		}
		select {
		case <-time.After(down()):
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *slot) start() (ended <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), s.env...)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if _, err := cmd.StdinPipe(); err != nil { // it ends when this process has
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s.cmd, s.ended, s.meant, s.stopped = cmd, make(chan struct{}), false, false
	s.starts++
	go s.wait(cmd, s.ended) // ends with the process, which destroy sees to
	return s.ended, nil
}

func (s *slot) wait(cmd *exec.Cmd, ended chan struct{}) {
	_ = cmd.Wait() // how it ended is in its state
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if code := cmd.ProcessState.ExitCode(); !s.meant || code > 0 {
		s.odd = append(s.odd, fmt.Sprintf("%s %s (process %d) ended: %v", now.Format(time.StampMilli), s.name, cmd.Process.Pid, cmd.ProcessState))
		s.faults = append(s.faults, fault{faultCrash, s.name, cmd.Process.Pid, now, now})
	}
	s.cmd = nil
	close(ended)
}

// signal sends a signal to the process, and notes it as a fault. It returns false where ready would.
func (s *slot) signal(kind faultKind, sig syscall.Signal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil || s.meant || s.stopped {
		return false
	}
	now := time.Now()
	s.meant, s.stopped = kind != faultStop, kind == faultStop
	s.faults = append(s.faults, fault{kind, s.name, s.cmd.Process.Pid, now, now})
	_ = s.cmd.Process.Signal(sig) // it may have ended this moment
	return true
}

// last is closed when the last process has ended.
func (s *slot) last() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// resume ends a stop.
func (s *slot) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil || !s.stopped {
		return
	}
	s.stopped = false
	s.faults[len(s.faults)-1].to = time.Now()
	_ = s.cmd.Process.Signal(syscall.SIGCONT) // it may have ended this moment
}

// ready reports whether there is a process that nothing is being done to.
func (s *slot) ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cmd != nil && !s.meant && !s.stopped
}

// destroy ends the process whatever state it is in, and waits for that.
func (s *slot) destroy() {
	s.mu.Lock()
	cmd, ended := s.cmd, s.ended
	s.meant = true
	if cmd != nil {
		_ = cmd.Process.Kill() // it may have ended this moment
	}
	s.mu.Unlock()
	if cmd != nil {
		<-ended
	}
	_ = s.log.Close() // nothing of it is buffered
}

// history returns what happened to the slot.
func (s *slot) history() (faults []fault, odd []string, starts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]fault(nil), s.faults...), append([]string(nil), s.odd...), s.starts
}

// Ports of servers are outside of the range of which clients are given theirs: a server that is started again must find its
// own free. They are not the seed's: two tests at a time must not find the same.
const firstPort, manyPorts = 20_000, 10_000

var nextPort atomic.Int64

func init() { nextPort.Store(rand.Int64N(manyPorts)) }

// freePorts returns ports that nobody listens on.
func freePorts(n int) (found []int) {
	for len(found) < n {
		port := firstPort + int(nextPort.Add(1)%manyPorts)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		_ = l.Close() // nothing was accepted
		found = append(found, port)
	}
	return found
}

// raced returns what the race detector, or a panic, left in the logs of the processes.
func (s *slot) raced(dir string) (found []string) {
	data, err := os.ReadFile(filepath.Join(dir, s.name+".err"))
	if err != nil {
		return []string{err.Error()}
	}
	for _, word := range []string{"WARNING: DATA RACE", "panic: ", "fatal error: "} {
		if strings.Contains(string(data), word) {
			found = append(found, s.name+" says "+word)
		}
	}
	return found
}
