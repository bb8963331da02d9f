package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// Call calls t as the agent does: an input that is empty or null is {}, a panic is an error, and every error is a
// *protocol.Error. One without a code is an execution failure with its own text. An error by which a durable run unwinds
// comes back as it is; see step.Unwinding.
func Call(ctx context.Context, t Tool, input json.RawMessage) (res Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			// What was spent before the panic is not known.
			res, err = Result{}, panicked(v)
		}
		if err != nil {
			res.Output, res.Effects = nil, nil
			if !step.Unwinding(err) {
				err = coded(err)
			}
		}
	}()
	return t.Call(ctx, inputOrEmpty(input))
}

func inputOrEmpty(input json.RawMessage) json.RawMessage {
	if t := bytes.TrimSpace(input); len(t) == 0 || string(t) == "null" {
		return json.RawMessage(`{}`)
	}
	return input
}

func coded(err error) *protocol.Error {
	var e *protocol.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return protocol.AsError(err)
	}
	return protocol.ErrToolFailed(err.Error()).Because(err)
}

// PanicError is the hidden cause of the error that a tool's panic becomes. It is for logs; the model learns nothing of it.
type PanicError struct {
	Value any // may hold what the tool worked on; do not log it
	Stack []byte
}

// Error names the type of the value only.
func (e *PanicError) Error() string { return fmt.Sprintf("panic of type %T", e.Value) }

// panicked must be called by the function that recovered.
func panicked(v any) *protocol.Error {
	return protocol.ErrToolFailed("the tool crashed; this is a defect of the tool").
		Because(&PanicError{Value: v, Stack: debug.Stack()})
}

// DefaultMaxText is how many bytes of a result a model is shown unless something else is said.
const DefaultMaxText = 256 << 10

// Text is the output as a model sees it: a string as it is, anything else as compact JSON.
func (r Result) Text() string {
	if len(r.Output) == 0 {
		return "null"
	}
	var s string
	if r.Output[0] == '"' && json.Unmarshal(r.Output, &s) == nil {
		return s
	}
	var compact bytes.Buffer
	if json.Compact(&compact, r.Output) != nil {
		return string(r.Output)
	}
	return compact.String()
}

// ErrorText is how a model is told of an error.
func ErrorText(err error) string { return "Error: " + err.Error() }

// DeniedText is how a model, or a caller, is told that a person refused a call; the reason may be empty.
func DeniedText(reason string) string {
	if reason == "" {
		return "The call was denied."
	}
	return "The call was denied: " + reason
}

// Cut returns text, or what fits of it into limit bytes and a note for the model that it was cut. No character is
// broken. A limit of 0 is DefaultMaxText. The note is not counted.
func Cut(text string, limit int) string {
	if limit <= 0 {
		limit = DefaultMaxText
	}
	if len(text) <= limit {
		return text
	}
	return fmt.Sprintf("%s\n[cut: the first %d of %d bytes]", whole(text, limit), limit, len(text))
}

// whole returns at most n bytes of s that end with a whole character.
func whole(s string, n int) string {
	if n >= len(s) {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.Clone(s[:n])
}
