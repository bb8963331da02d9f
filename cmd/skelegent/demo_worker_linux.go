package main

import (
	"os/exec"
	"syscall"
)

// endWithParent has the process killed when the thread ends that starts it, as it does when this process is killed.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
