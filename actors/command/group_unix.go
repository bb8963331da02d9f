//go:build unix

package command

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the program into a process group, which is killed with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
