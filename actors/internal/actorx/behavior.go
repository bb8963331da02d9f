package actorx

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// Behavior makes the Actor of one incarnation: at the start and again after each crash. It runs in the actor, so a panic
// in it is a failed start like any other. It must not be shared state in disguise: what survives a crash has to be
// captured on purpose.
type Behavior func() Actor

// Actor handles one message after the other, never two at a time. Receive must not block: what takes time belongs into
// Async. A panic, or runtime.Goexit, ends the incarnation: the message is dropped and a fresh one is made after a backoff.
type Actor interface {
	Receive(c *Context, msg any)
}

// ReceiveFunc is an Actor that is only its Receive.
type ReceiveFunc func(c *Context, msg any)

// Receive calls f.
func (f ReceiveFunc) Receive(c *Context, msg any) { f(c, msg) }

// Starter is implemented by actors that have something to do before their first message. An error counts as a crash: the
// incarnation is ended and another tried after the backoff, for ever. Messages wait meanwhile.
type Starter interface {
	Start(c *Context) error
}

// Stopper is implemented by actors that have something to release. Stop is called exactly once for each incarnation, also
// for one whose Start failed or whose Receive crashed. Timers and Async work have been cancelled by then. A panic in Stop
// is logged and changes nothing.
type Stopper interface {
	Stop(c *Context)
}

// Terminated is told to the parent when a child has ended. Its name is free from then on.
type Terminated struct {
	Name string
	Ref  *Ref
}

var (
	// ErrStopped means that the actor, or the system, has ended or is about to and takes nothing any more.
	ErrStopped = errors.New("actor stopped")
	// ErrNameTaken means that a sibling of that name has not ended yet.
	ErrNameTaken = errors.New("actor name taken")
	// ErrName means that the name is empty.
	ErrName = errors.New("actor name empty")
	// ErrGoexit is the Value of a PanicError when the code did not panic but called runtime.Goexit.
	ErrGoexit = errors.New("runtime.Goexit called")
)

var errNilActor = errors.New("behavior returned no actor")

// PanicError is what a recovered panic becomes.
type PanicError struct {
	Value any    // what was given to panic, or ErrGoexit
	Stack []byte // of the panicking goroutine
}

// newPanicError must be called in the deferred function that recovered, so that the stack is the one that panicked.
func newPanicError(recovered any) *PanicError {
	if recovered == nil { // panic(nil) arrives as *runtime.PanicNilError: nil can only be Goexit
		recovered = ErrGoexit
	}
	return &PanicError{Value: recovered, Stack: debug.Stack()}
}

// Error gives the panic's value, which may hold data of the caller: log kind instead.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the panic's value if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// kind describes err without data of the application in it.
func kind(err error) string {
	var p *PanicError
	if !errors.As(err, &p) {
		return fmt.Sprintf("%T", err)
	}
	var re runtime.Error
	if errors.As(p, &re) || errors.Is(p, ErrGoexit) {
		return p.Error()
	}
	return fmt.Sprintf("panic of %T", p.Value)
}
