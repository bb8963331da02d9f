package tool

import (
	"encoding/json"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// Option says something more of a tool.
type Option func(*options)

type options struct {
	repeatable bool
	parallel   bool
	spends     bool
	timeout    time.Duration
	approval   func(json.RawMessage) (protocol.ApprovalReason, bool)
}

// Repeatable says that a call may be made again when it is not known whether it happened.
func Repeatable() Option { return func(o *options) { o.repeatable = true } }

// ParallelSafe says that calls may run beside others of the same answer.
func ParallelSafe() Option { return func(o *options) { o.parallel = true } }

// Timeout ends the context of each call after d. A function that ignores its context is not stopped by it.
func Timeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// RequiresApproval says that a person must allow each call.
func RequiresApproval() Option {
	return func(o *options) {
		o.approval = func(json.RawMessage) (protocol.ApprovalReason, bool) { return protocol.PolicyAlways(), true }
	}
}

// RequiresApprovalIf says that a person must allow those calls whose input matches; description tells the person what
// it was that matched. The input is what the model wrote and need not fit the schema.
func RequiresApprovalIf(description string, matches func(input json.RawMessage) bool) Option {
	return func(o *options) {
		o.approval = func(input json.RawMessage) (protocol.ApprovalReason, bool) {
			return protocol.PolicyPredicate(description), matches(input)
		}
	}
}

// Repeatable implements Repeater.
func (o *options) Repeatable() bool { return o.repeatable }

// NeedsApproval implements Approver.
func (o *options) NeedsApproval(input json.RawMessage) (protocol.ApprovalReason, bool) {
	if o.approval == nil {
		return protocol.ApprovalReason{}, false
	}
	return o.approval(input)
}

// Approver is the role of a tool some of whose calls a person must allow first.
type Approver interface {
	// NeedsApproval reports whether a call with that input must wait for a person, and why. It changes nothing.
	NeedsApproval(input json.RawMessage) (protocol.ApprovalReason, bool)
}

// NeedsApproval reports whether a call of t with that input must wait for a person, and why. It must if the tool
// panics at the question.
func NeedsApproval(t Tool, input json.RawMessage) (reason protocol.ApprovalReason, needed bool) {
	a, ok := as[Approver](t)
	if !ok {
		return protocol.ApprovalReason{}, false
	}
	defer func() {
		if recover() != nil {
			reason, needed = protocol.PolicyAlways(), true
		}
	}()
	return a.NeedsApproval(inputOrEmpty(input))
}
