package engine

import (
	"github.com/skelegent/skelegent-go/protocol"
)

// ExitError ends a run with an output. It is what Halt and Stop return.
type ExitError struct {
	Reason protocol.ExitReason
	// Message is the output's; the last text of the model if nil.
	Message *protocol.Content
}

// Error says why the run ends.
func (e *ExitError) Error() string { return "the run ends: " + e.Reason.String() }

// Halt is the error with which a rule ends the run as interceptor_halt.
func Halt(reason string) error { return &ExitError{Reason: protocol.InterceptorHalt(reason)} }

// Stop is the error with which a rule or an op ends the run for a reason of its own choice.
func Stop(reason protocol.ExitReason) error { return &ExitError{Reason: reason} }
