package dispatch

import (
	"context"
	"encoding/json"

	"github.com/skelegent/skelegent-go/protocol"
)

// Hook sees each call that is dispatched, and may keep it from being made. Embed NopHook to write only what matters. One
// hook may be in use for many dispatches at a time, so it is safe for concurrent use. What it is given must not be changed
// or kept.
//
// A hook whose Before has answered without an error is told exactly once how the call ended, by After or by OnError:
// whatever other hooks or the tool do, also by a panic, and where ctx has ended. Then it has a context that lasts for
// CleanupTimeout. After a skip or a terminate of an earlier hook it is told although its Before was not called.
type Hook interface {
	// Before is asked in the order of the hooks. The first answer that is not Continue counts, and later hooks are not asked.
	// An error ends the dispatch; then only the hooks before this one are told.
	Before(ctx context.Context, call protocol.ToolCall) (Decision, error)
	// After is told of a call that was made, or skipped, with its whole result. An error ends the dispatch, but the other
	// hooks are told all the same and the result is kept.
	After(ctx context.Context, result Result, outcome Outcome) error
	// OnError is told that there is no result, since the call, a hook or ctx failed, or the dispatch was terminated. What it
	// returns is added to err as a further cause and never replaces it.
	OnError(ctx context.Context, call protocol.ToolCall, err error) error
}

// NopHook lets every call be made.
type NopHook struct{}

var _ Hook = NopHook{}

// Before implements Hook.
func (NopHook) Before(context.Context, protocol.ToolCall) (Decision, error) { return Continue(), nil }

// After implements Hook.
func (NopHook) After(context.Context, Result, Outcome) error { return nil }

// OnError implements Hook.
func (NopHook) OnError(context.Context, protocol.ToolCall, error) error { return nil }

// RunHook is the role of a hook that keeps something of one run. Where it is shared by runs, Rules asks it for one for
// each.
type RunHook interface {
	Hook
	// ForRun returns a hook that knows of nothing yet.
	ForRun() Hook
}

// Decision is what a hook wants. The zero value is Continue.
type Decision struct {
	kind   DecisionKind
	reason string
	output json.RawMessage
}

// DecisionKind is a decision by name.
type DecisionKind string

// The decisions.
const (
	DecideContinue  DecisionKind = "continue"
	DecideSkip      DecisionKind = "skip"
	DecideTerminate DecisionKind = "terminate"
)

// Continue has the call made.
func Continue() Decision { return Decision{} }

// Skip has the call not made and output, which is JSON and null if empty, be its result. The reason may be empty.
func Skip(output json.RawMessage, reason string) Decision {
	return Decision{kind: DecideSkip, output: output, reason: reason}
}

// Terminate ends the dispatch before the call is made.
func Terminate(reason string) Decision { return Decision{kind: DecideTerminate, reason: reason} }

// Kind is which decision it is.
func (d Decision) Kind() DecisionKind {
	if d.kind == "" {
		return DecideContinue
	}
	return d.kind
}

// Reason is why a call is skipped or the dispatch terminated.
func (d Decision) Reason() string { return d.reason }

// Output is the result of a call that is skipped.
func (d Decision) Output() json.RawMessage { return d.output }

// Outcome is how a call ended.
type Outcome struct {
	Kind OutcomeKind `json:"kind"`
	// Reason is why it was skipped or terminated.
	Reason string `json:"reason,omitempty"`
	// Message is the text of the error of one that failed, and Retry whether the same may succeed another time.
	Message string `json:"message,omitempty"`
	Retry   Class  `json:"retry,omitempty"`
}

// OutcomeKind is an outcome by name.
type OutcomeKind string

// The outcomes.
const (
	Completed  OutcomeKind = "completed"
	Skipped    OutcomeKind = "skipped"
	Terminated OutcomeKind = "terminated"
	Failed     OutcomeKind = "failed"
)

// Result is what a call came to.
type Result struct {
	Call protocol.ToolCall `json:"call"`
	// Output is JSON, null if there is none.
	Output json.RawMessage `json:"output"`
	// Effects, Cost and UnpricedCalls are those of tool.Result.
	Effects       protocol.Effects  `json:"effects,omitempty"`
	Cost          *protocol.Decimal `json:"cost,omitempty"`
	UnpricedCalls uint32            `json:"unpriced_calls,omitempty"`
	Outcome       Outcome           `json:"outcome"`
}

// FailedResult is a call that failed, for a history.
func FailedResult(call protocol.ToolCall, err error) Result {
	return Result{Call: call, Output: null, Outcome: failed(err)}
}

var null = json.RawMessage("null")

func failed(err error) Outcome {
	return Outcome{Kind: Failed, Message: textOf(err), Retry: RetryClass(err)}
}

// textOf is what may be told of an error.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return protocol.AsError(err).Clip().Message
}
