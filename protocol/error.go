package protocol

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Code classifies an error for whoever has to act on it. The list is closed.
type Code string

// The codes.
const (
	CodeInvalidInput     Code = "invalid_input"     // the message cannot be used as it is
	CodeNotFound         Code = "not_found"         // no such operator, workflow, tool
	CodeConflict         Code = "conflict"          // somebody else changed it first
	CodeUnauthorized     Code = "unauthorized"      // who are you
	CodePermissionDenied Code = "permission_denied" // you may not
	CodeQuotaExceeded    Code = "quota_exceeded"    // a limit of size, rate or money
	CodeUnavailable      Code = "unavailable"       // try again later
	CodeTimeout          Code = "timeout"           // the deadline passed; the outcome may be unknown
	CodeCancelled        Code = "cancelled"         // stopped on request
	CodeUnsupported      Code = "unsupported"       // this build or backend cannot do it
	CodeModelError       Code = "model_error"       // the model or its provider failed
	CodeToolError        Code = "tool_error"        // a tool or sub-operator failed
	CodeInternal         Code = "internal"          // a defect; details are in the log of the node
)

// Codes lists every code in the order of the constants.
func Codes() []Code {
	return []Code{
		CodeInvalidInput, CodeNotFound, CodeConflict, CodeUnauthorized, CodePermissionDenied, CodeQuotaExceeded,
		CodeUnavailable, CodeTimeout, CodeCancelled, CodeUnsupported, CodeModelError, CodeToolError, CodeInternal,
	}
}

// Error is the error that crosses the bus: a code, a message that is safe to show, and a hint whether
// trying again can help. Its cause is for errors.Is, errors.As and our own log; it is never sent.
type Error struct {
	Code    Code
	Message string
	// Retryable says that the same request may succeed later.
	Retryable bool
	// RetryAfter is how long to wait before, 0 if unknown. On the wire: details.retry_after_ms.
	RetryAfter time.Duration
	// Kind is the member of a family of the specification, empty if none. On the wire: details.kind.
	Kind ErrorKind
	// Details are safe to show: names and numbers, no payloads.
	Details map[string]string

	cause error
}

// Keys of Details that Error itself writes and reads.
const (
	detailRetryAfter = "retry_after_ms"
	detailKind       = "kind"
)

// NewError returns an error whose message is text. Unavailable and timeout are retryable, the others are not;
// change the field where that is wrong.
func NewError(code Code, text string) *Error {
	return &Error{Code: code, Message: text, Retryable: code == CodeUnavailable || code == CodeTimeout}
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the hidden cause.
func (e *Error) Unwrap() error { return e.cause }

// Because returns a copy of e with a cause for our own log and errors.Is.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// After returns a copy of e that is retryable after d.
func (e *Error) After(d time.Duration) *Error {
	c := *e
	c.Retryable, c.RetryAfter = true, d
	return &c
}

// WithCode returns a copy of e with another code, and retryable as NewError would have it.
func (e *Error) WithCode(code Code) *Error {
	c := *e
	c.Code, c.Retryable, c.RetryAfter = code, NewError(code, "").Retryable, 0
	return &c
}

// With returns a copy of e with one more detail.
func (e *Error) With(key, value string) *Error {
	c := *e
	c.Details = maps.Clone(e.Details)
	if c.Details == nil {
		c.Details = map[string]string{}
	}
	c.Details[key] = value
	return &c
}

// Is makes errors.Is(err, &Error{Code: c}) and errors.Is(err, &Error{Kind: k}) work: the fields that the target
// sets must agree.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && (t.Code != "" || t.Kind != "") && t.Message == "" &&
		(t.Code == "" || t.Code == e.Code) && (t.Kind == "" || t.Kind == e.Kind)
}

// internalText is all that a caller learns of an error that nobody coded.
const internalText = "internal error; see the node's log"

// Bounds of what Clip leaves of an error.
const (
	maxErrorText    = 2048
	maxErrorDetails = 16
	maxErrorDetail  = 256
)

// Clip returns e, or a copy of it that is short enough to be part of a message: texts are cut, and details beyond the
// sixteenth, in the order of their keys, are left out.
func (e *Error) Clip() *Error {
	if e == nil {
		return nil
	}
	long := len(e.Message) > maxErrorText || len(e.Details) > maxErrorDetails
	for k, v := range e.Details {
		long = long || len(k) > maxErrorDetail || len(v) > maxErrorDetail
	}
	if !long {
		return e
	}
	c := *e
	c.Message = clipText(e.Message, maxErrorText)
	c.Details = map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(e.Details)) {
		if len(c.Details) == maxErrorDetails {
			break
		}
		c.Details[clipText(k, maxErrorDetail)] = clipText(e.Details[k], maxErrorDetail)
	}
	return &c
}

func clipText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}

// AsError returns err as what may be sent: itself if it is coded, a timeout or a cancellation if it stems from
// a context, else internal with a fixed text and err as the cause. It returns nil for nil.
func AsError(err error) *Error {
	var e *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		if e == nil { // a nil pointer in an error is no success
			return NewError(CodeInternal, internalText)
		}
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return NewError(CodeTimeout, "deadline exceeded").Because(err)
	case errors.Is(err, context.Canceled):
		return NewError(CodeCancelled, "cancelled").Because(err)
	}
	return NewError(CodeInternal, internalText).Because(err)
}

// CodeOf returns the code of err as AsError sees it, empty for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	return AsError(err).Code
}

// IsRetryable reports whether trying again may help.
func IsRetryable(err error) bool { return err != nil && AsError(err).Retryable }

type errorJSON struct {
	Code      Code              `json:"code" wire:"required"`
	Message   string            `json:"message" wire:"required"`
	Retryable bool              `json:"retryable"`
	Details   map[string]string `json:"details,omitempty"`
}

// MarshalJSON writes {"code","message","retryable","details"}.
func (e *Error) MarshalJSON() ([]byte, error) {
	j := errorJSON{Code: e.Code, Message: e.Message, Retryable: e.Retryable, Details: e.Details}
	if e.RetryAfter > 0 {
		e = e.With(detailRetryAfter, strconv.FormatInt(max(1, e.RetryAfter.Milliseconds()), 10))
		j.Details = e.Details
	}
	if e.Kind != "" {
		j.Details = e.With(detailKind, string(e.Kind)).Details
	}
	return Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON writes. A code that is not on the list is read as internal.
func (e *Error) UnmarshalJSON(raw []byte) error {
	var j errorJSON
	if err := decodeStruct(raw, &j); err != nil {
		return err
	}
	*e = Error{Code: j.Code, Message: j.Message, Retryable: j.Retryable, Details: j.Details}
	if !knownCode(e.Code) {
		e.Code = CodeInternal
	}
	if ms, err := strconv.ParseUint(j.Details[detailRetryAfter], 10, 63); err == nil {
		e.RetryAfter = Millis(ms).Duration()
		delete(j.Details, detailRetryAfter)
	}
	e.Kind = ErrorKind(j.Details[detailKind])
	delete(j.Details, detailKind)
	if len(e.Details) == 0 {
		e.Details = nil
	}
	return nil
}

func knownCode(c Code) bool {
	for _, k := range Codes() {
		if c == k {
			return true
		}
	}
	return false
}
