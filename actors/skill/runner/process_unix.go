//go:build unix

package runner

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// ownSession gives the program a session of its own: a group to be killed, and no terminal.
func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// killGroup kills the program and its group at once.
func killGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }

// endWait is how long what was killed may take to end.
const endWait = time.Second

// endSession kills all that is left of the program's session and waits until it is gone, for endWait at most.
func endSession(p *os.Process) {
	pause := time.Millisecond
	for end := time.Now().Add(endWait); time.Now().Before(end); pause = min(pause+pause/2, 20*time.Millisecond) {
		gone := killGroup(p) != nil
		left, known := sessionOf(p.Pid)
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // a job in a group of its own
		}
		if known && len(left) == 0 || !known && gone {
			return
		}
		time.Sleep(pause)
	}
}

// exitCode is that of a shell: 128 and the signal's number if a signal ended the program.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
