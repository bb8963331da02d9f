package compose

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"strings"

	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
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

// toolError is what a caller of Tools.Invoke is told of a tool's error.
func toolError(ctx context.Context, name string, err error) error {
	return failed(ctx, err, ErrToolFailed, "tool", name)
}

// skillError is what a caller of Agent.Step is told of a skill's error.
func skillError(ctx context.Context, id string, err error) error {
	return failed(ctx, err, ErrSkillFailed, "skill", id)
}

// failed makes an error of the kernel of err, unless it is one, the run unwinds by it, or it says that ctx ended. Code,
// hints and details stay where err has them.
func failed(ctx context.Context, err error, kind func(string) *protocol.Error, what, name string) error {
	if passes(ctx, err) || KindOf(err) != "" {
		return err
	}
	var coded *protocol.Error
	if !errors.As(err, &coded) || coded == nil {
		e := kind(err.Error()).Because(err)
		if own := protocol.AsError(err); own.Code != protocol.CodeInternal { // a time limit of its own
			e.Code, e.Retryable = own.Code, own.Retryable
		}
		return e.With(what, name).Clip()
	}
	text := coded.Message
	if coded.Kind == protocol.KindToolExecutionFailed {
		text = strings.TrimPrefix(text, "execution failed: ")
	}
	e := kind(text).Because(err)
	e.Code, e.Retryable, e.RetryAfter, e.Details = coded.Code, coded.Retryable, coded.RetryAfter, maps.Clone(coded.Details)
	return e.With(what, name).Clip()
}

// passes reports whether err is nobody's failure: the run unwinds by it, or ctx ended.
func passes(ctx context.Context, err error) bool {
	if end := ctx.Err(); end != nil && (errors.Is(err, end) || protocol.CodeOf(err) == protocol.CodeOf(end)) {
		return true
	}
	return step.Unwinding(err)
}

// contained calls f. A panic in it is a failure whose text says nothing of the value.
func contained(f func() error, kind func(string) *protocol.Error, what string) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = kind(fmt.Sprintf("%s crashed; this is a defect of it", what)).
				Because(&tool.PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	return f()
}
