//go:build unix

package runner

import "syscall"

// nonblock keeps an open from waiting for the other end of a named pipe.
const nonblock = syscall.O_NONBLOCK
