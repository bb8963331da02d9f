package step

import (
	"errors"
	"fmt"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// What errors.Is finds in the errors of steps, also in those that come from the log.
var (
	// ErrExpired says that the deadline of Await or Approval passed. Nothing was refused.
	ErrExpired = errors.New("nothing came before the deadline")
	// ErrOutcomeUnknown says that a step that is made Once was begun, and that the process ended before it was known what it
	// came to.
	ErrOutcomeUnknown = errors.New("the outcome of the step is unknown")
	// ErrChanged says that the log was written by other code of the operator than asks now. It is not recorded.
	ErrChanged = errors.New("the log was written by other code")
)

// The sentinels as the log has them.
const (
	kindExpired protocol.ErrorKind = "step.expired"
	kindUnknown protocol.ErrorKind = "step.outcome_unknown"
	kindChanged protocol.ErrorKind = "step.changed"
)

// Unwinding reports whether the code has to return err, wrapped or not, and must not deal with it: it is an *Unwind, since
// the run waits or stops here, or ErrChanged.
func Unwinding(err error) bool {
	var u *Unwind
	return errors.As(err, &u) || errors.Is(err, ErrChanged)
}

func expired(what string) *protocol.Error {
	e := protocol.NewError(protocol.CodeTimeout, what+": nothing came before the deadline")
	e.Kind, e.Retryable = kindExpired, false
	return e.Because(ErrExpired)
}

func unknown(name string) *protocol.Error {
	e := protocol.NewError(protocol.CodeToolError, fmt.Sprintf("step %q was begun and its outcome is unknown: the process ended "+
		"while it was made; it may or may not have happened, and is not made again", name))
	e.Kind = kindUnknown
	return e.Because(ErrOutcomeUnknown)
}

// changed is the error of a step that does not fit what was recorded at its path.
func changed(path, what string) *protocol.Error {
	e := protocol.NewError(protocol.CodeConflict, fmt.Sprintf("step %s: %s: the operator's code has changed since this run began; "+
		"finish old runs with the old version, or register the new one under another id", path, what))
	e.Kind = kindChanged
	return e.Because(ErrChanged)
}

func otherStep(recorded run.Entry, kind run.StepKind, name string) *protocol.Error {
	return changed(recorded.Path, fmt.Sprintf("recorded is %s %q, asked for is %s %q", recorded.Step, recorded.Name, kind, name))
}

func unsupported(what string) *protocol.Error {
	return protocol.NewError(protocol.CodeUnsupported,
		what+" works only in a durable run: register the operator with actors.Durable()")
}

// silent carries what is known of an error to our log, and to nobody else: on replay it is not there.
type silent struct{ err error }

func (s silent) Error() string { return s.err.Error() }

// recordable is err as the log can have it.
func recordable(err error) *protocol.Error {
	return revived(protocol.AsError(err).Clip().Because(silent{err}))
}

// revived gives an error the sentinel back that it had.
func revived(e *protocol.Error) *protocol.Error {
	switch e.Kind {
	case kindExpired:
		return e.Because(ErrExpired)
	case kindUnknown:
		return e.Because(ErrOutcomeUnknown)
	default:
		return e
	}
}
