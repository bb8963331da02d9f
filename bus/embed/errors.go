package embed

import (
	"errors"
	"fmt"
)

// What Start and the methods of Server fail with, for errors.Is.
var (
	// ErrDirInUse means that another server holds the data directory; see InUseError.
	ErrDirInUse = errors.New("data directory is in use")
	// ErrAddrInUse means that something else listens on the address; see AddrInUseError.
	ErrAddrInUse = errors.New("address is in use")
	// ErrRemoteListen means that other machines would reach the address and Config.AllowRemote is not set.
	ErrRemoteListen = errors.New("address is reachable from other machines")
	// ErrStopped means that the server was stopped.
	ErrStopped = errors.New("embedded server is stopped")
)

// InUseError is the error of a data directory that another server holds. It is ErrDirInUse.
type InUseError struct {
	Dir string
	PID int // of the holder, 0 if it is not recorded
}

func (e *InUseError) Error() string {
	holder := "another process"
	if e.PID > 0 {
		holder = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("data directory %s is in use by %s: stop that node, or give this one a directory of its own with --data",
		e.Dir, holder)
}

// Is reports whether target is ErrDirInUse.
func (e *InUseError) Is(target error) bool { return target == ErrDirInUse }

// AddrInUseError is the error of a listen address that something else holds. It is ErrAddrInUse.
type AddrInUseError struct{ Addr string }

func (e *AddrInUseError) Error() string {
	return fmt.Sprintf("address %s is in use: another node or NATS server listens there; "+
		"give another address with --listen HOST:PORT, or use that server with --nats", e.Addr)
}

// Is reports whether target is ErrAddrInUse.
func (e *AddrInUseError) Is(target error) bool { return target == ErrAddrInUse }
