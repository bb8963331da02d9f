package dispatch

import (
	"errors"
	"slices"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Class says whether a call that failed may succeed when it is made again as it is.
type Class string

// The classes.
const (
	Transient Class = "transient"
	Permanent Class = "permanent"
)

// RetryClass returns the class of an error. Transient are the failures of tools and skills themselves, and what says of
// itself that it is retryable. Permanent is all else: names that do not exist, refused or unreadable arguments, a denied
// budget, a terminated dispatch, what does not apply. A tool's failure whose code says as much is permanent too, and so is
// a call of which nobody knows whether it happened.
func RetryClass(err error) Class {
	if err == nil || step.Unwinding(err) || errors.Is(err, step.ErrOutcomeUnknown) {
		return Permanent
	}
	e := protocol.AsError(err)
	switch e.Kind {
	case compose.KindToolFailed, compose.KindSkillFailed, protocol.KindToolExecutionFailed:
		if e.Retryable || !intrinsic(e.Code) {
			return Transient
		}
		return Permanent
	case compose.KindToolNotFound, compose.KindToolNotAuthorised, compose.KindSkillNotFound, compose.KindToolNotApplicable,
		compose.KindInvalidArgument, compose.KindNormalizerFailed, compose.KindDispatchTerminated, compose.KindBudgetFailed,
		compose.KindSerialization:
		return Permanent
	default:
		if e.Retryable {
			return Transient
		}
		return Permanent
	}
}

// intrinsic reports whether a code says that the same will fail again.
func intrinsic(c protocol.Code) bool {
	return slices.Contains([]protocol.Code{
		protocol.CodeInvalidInput, protocol.CodeNotFound, protocol.CodeUnauthorized, protocol.CodePermissionDenied,
		protocol.CodeUnsupported, protocol.CodeQuotaExceeded, protocol.CodeCancelled,
	}, c)
}

// Fingerprint is the same for two calls of the same tool with the same arguments; see tool.Fingerprint.
func Fingerprint(call protocol.ToolCall) string { return tool.Fingerprint(call) }

// RepairHistory makes the shortest history of what a model should see of calls that were made again and again. Of those
// with the same Fingerprint it keeps the first that has a result, else the last that failed, at the place where the first
// of them was. Repairing what was repaired changes nothing.
func RepairHistory(history []Result) []Result {
	out := make([]Result, 0, len(history))
	place := make(map[string]int, len(history))
	for _, r := range history {
		f := Fingerprint(r.Call)
		at, known := place[f]
		switch {
		case !known:
			place[f] = len(out)
			out = append(out, r)
		case !out[at].succeeded():
			out[at] = r
		}
	}
	return out
}

func (r Result) succeeded() bool { return r.Outcome.Kind == Completed || r.Outcome.Kind == Skipped }
