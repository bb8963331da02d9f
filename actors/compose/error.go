package compose

import (
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

// The kinds of the kernel's errors. Compare with errors.Is(err, &protocol.Error{Kind: k}).
const (
	KindToolNotFound       protocol.ErrorKind = "kernel.tool_not_found"
	KindToolNotAuthorised  protocol.ErrorKind = "kernel.tool_not_authorised"
	KindSkillNotFound      protocol.ErrorKind = "kernel.skill_not_found"
	KindToolFailed         protocol.ErrorKind = "kernel.tool_failed"
	KindToolNotApplicable  protocol.ErrorKind = "kernel.tool_not_applicable"
	KindSkillFailed        protocol.ErrorKind = "kernel.skill_failed"
	KindInvalidArgument    protocol.ErrorKind = "kernel.invalid_argument"
	KindNormalizerFailed   protocol.ErrorKind = "kernel.normalizer_failed"
	KindDispatchTerminated protocol.ErrorKind = "kernel.dispatch_terminated"
	KindBudgetFailed       protocol.ErrorKind = "kernel.budget_failed"
	KindSerialization      protocol.ErrorKind = "kernel.serialization"
)

func ofKind(kind protocol.ErrorKind, code protocol.Code, text string) *protocol.Error {
	e := protocol.NewError(code, text)
	e.Kind = kind
	return e
}

// ErrToolNotFound says that a registry has no such tool.
func ErrToolNotFound(name string) *protocol.Error {
	return ofKind(KindToolNotFound, protocol.CodeNotFound, "tool `"+name+"` not found in registry")
}

// ErrToolNotAuthorised says that a scoped registry does not let the tool be seen, whether or not there is one.
func ErrToolNotAuthorised(name string) *protocol.Error {
	return ofKind(KindToolNotAuthorised, protocol.CodePermissionDenied, "tool `"+name+"` is not authorised for this agent")
}

// ErrSkillNotFound says that a registry has no such skill.
func ErrSkillNotFound(id string) *protocol.Error {
	return ofKind(KindSkillNotFound, protocol.CodeNotFound, "skill `"+id+"` not found in registry")
}

// ErrToolFailed says that a tool failed.
func ErrToolFailed(text string) *protocol.Error {
	return ofKind(KindToolFailed, protocol.CodeToolError, "tool invocation failed: "+text)
}

// ErrToolNotApplicable is the soft failure of a tool that has nothing to do with what it was asked: the skill that called it
// may take it for no result. Nothing else in this package treats it differently from other errors.
func ErrToolNotApplicable(text string) *protocol.Error {
	return ofKind(KindToolNotApplicable, protocol.CodeToolError, "tool not applicable: "+text)
}

// ErrSkillFailed says that a skill failed.
func ErrSkillFailed(text string) *protocol.Error {
	return ofKind(KindSkillFailed, protocol.CodeToolError, "skill execution failed: "+text)
}

// ErrInvalidArgument says that what was given cannot be used.
func ErrInvalidArgument(text string) *protocol.Error {
	return ofKind(KindInvalidArgument, protocol.CodeInvalidInput, "invalid argument: "+text)
}

// ErrNormalizerFailed says that what a model wrote is no call of a tool although it should be one.
func ErrNormalizerFailed(text string) *protocol.Error {
	return ofKind(KindNormalizerFailed, protocol.CodeInvalidInput, "tool-call normalizer failed: "+text)
}

// ErrDispatchTerminated says that a hook ended the dispatch of calls.
func ErrDispatchTerminated(reason string) *protocol.Error {
	return ofKind(KindDispatchTerminated, protocol.CodePermissionDenied, "tool dispatch terminated: "+reason)
}

// ErrBudgetFailed says that a budget could not be asked; it is no denial.
func ErrBudgetFailed(text string) *protocol.Error {
	return ofKind(KindBudgetFailed, protocol.CodeUnavailable, "budget failed: "+text)
}

// ErrSerialization says that JSON cannot be read or written; its text is that of the cause.
func ErrSerialization(err error) *protocol.Error {
	return ofKind(KindSerialization, protocol.CodeInvalidInput, err.Error()).Because(err)
}

// KindOf returns the kernel's kind of err, empty if it has none.
func KindOf(err error) protocol.ErrorKind {
	if err == nil {
		return ""
	}
	if kind := protocol.AsError(err).Kind; strings.HasPrefix(string(kind), "kernel.") {
		return kind
	}
	return ""
}
