//go:build !unix

package command

import "os/exec"

// ownGroup does nothing: only the program itself is killed.
func ownGroup(*exec.Cmd) {}

// endGroup does nothing.
func endGroup(*exec.Cmd) {}
