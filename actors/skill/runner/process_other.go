//go:build !unix

package runner

import (
	"os"
	"os/exec"
)

// ownSession does nothing: only the program itself is killed.
func ownSession(*exec.Cmd) {}

func killGroup(p *os.Process) error { return p.Kill() }

// endSession does nothing.
func endSession(*os.Process) {}

func exitCode(state *os.ProcessState) int { return state.ExitCode() }
