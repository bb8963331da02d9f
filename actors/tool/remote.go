package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// Remote is the tool that operator id is: the other end of AsOperator. Who calls it cannot tell it from the tool itself: input,
// result, effects, cost and errors are the tool's own. meta is that of the tool, and its name the one that callers know.
//
// Input is checked here against the schema of meta, and there against the tool's own. The tool sees the session of the run
// that calls it, and has the run's budget; it does not see what the run declared before (Run.Declared). A tool that wants to
// be approved where it is waits for that if its operator is durable; else the call fails with the code permission_denied, so
// say it on this side: Approved(Remote(...)). Of a durable operator an error that was recorded is final, and so not retryable.
//
// What the tool declares is the caller's to declare, a handoff too, as with a tool that is here: so name only operators that may
// end the run of who calls them.
//
// An answer that is not JSON, of an operator that is no tool, is a result that is a string. In a durable run the call is a
// step of its own, step.Call, and d is not used. The error of Remote is Raw's.
func Remote(meta protocol.ToolMetadata, d protocol.Dispatcher, id protocol.OperatorID, opts ...Option) (Tool, error) {
	return Raw(meta, func(ctx context.Context, input json.RawMessage) (Result, error) {
		in := protocol.OperatorInput{
			Message: protocol.TextContent(string(input)), Trigger: protocol.TriggerTask, Session: RunFrom(ctx).Session,
		}
		out, err := dispatchTaking(ctx, d, id, in)
		if err != nil {
			return Result{}, remoteError(id, err)
		}
		return remoteResult(id, out)
	}, append([]Option{Repeatable(), Spending()}, opts...)...)
}

// dispatchTaking dispatches, and takes the effects of the output.
func dispatchTaking(
	ctx context.Context, d protocol.Dispatcher, id protocol.OperatorID, in protocol.OperatorInput,
) (protocol.OperatorOutput, error) {
	call := protocol.NextCall(ctx)
	info, durable := step.InfoFrom(ctx)
	if !durable {
		call.TakeEffects = true
		return d.Dispatch(protocol.WithCall(ctx, call), id, in)
	}
	opts := []step.CallOption{step.TakeEffects()}
	if budget := remaining(info, call.Budget); budget != nil {
		opts = append(opts, step.Budget(*budget))
	}
	return step.Call(ctx, string(id), id, in, opts...)
}

func remoteResult(id protocol.OperatorID, out protocol.OperatorOutput) (Result, error) {
	res := Result{Effects: out.Effects, UnpricedCalls: out.Metadata.UnpricedCalls}
	if !out.Metadata.Cost.IsZero() {
		res.Cost = &out.Metadata.Cost
	}
	text, err := textOf(out)
	if err != nil {
		return res, err
	}
	switch out.ExitReason.Kind() {
	case protocol.ExitComplete, protocol.ExitHandedOff:
	case protocol.ExitAwaitingApproval:
		return res, protocol.NewError(protocol.CodePermissionDenied,
			string(id)+" wants each call to be approved, and nobody was asked: have it approved where it is called")
	default:
		return res, protocol.ErrToolFailed(string(id) + " ended with " + out.ExitReason.String())
	}
	if raw := bytes.TrimSpace([]byte(text)); json.Valid(raw) {
		res.Output = raw
		return res, nil
	}
	res.Output, err = protocol.Marshal(text)
	return res, err
}

// The details by which the error of an operator that is a tool says what the tool's own error was.
const (
	detailToolCode = "tool_code"
	detailToolKind = "tool_kind"
)

// served is the error of a tool as that of its operator. ErrSubDispatch has one code and one kind for all; what they were
// goes along.
func served(name string, err error) error {
	e := protocol.AsError(err)
	sub := protocol.ErrSubDispatch(protocol.OperatorID(name), err).With(detailToolCode, string(e.Code))
	if e.Kind != "" {
		sub = sub.With(detailToolKind, string(e.Kind))
	}
	return sub
}

// remoteError is the tool's own error where err is that of its operator, else one that names the operator, as FromOperator's.
func remoteError(id protocol.OperatorID, err error) error {
	var e *protocol.Error
	switch {
	case step.Unwinding(err):
		return err
	case !errors.As(err, &e) || e.Details[detailToolCode] == "":
		return dispatchError(id, err)
	}
	own := *e
	own.Code, own.Kind = protocol.Code(e.Details[detailToolCode]), ""
	if kind := e.Details[detailToolKind]; strings.HasPrefix(kind, "tool.") || strings.HasPrefix(kind, "kernel.") {
		own.Kind = protocol.ErrorKind(kind) // no other: what halts there does not halt here
	}
	_, own.Message, _ = strings.Cut(e.Message, ": ") // sub-dispatch error in NAME: what the tool said
	own.Details = nil
	for k, v := range e.Details {
		if k != detailToolCode && k != detailToolKind {
			own = *own.With(k, v)
		}
	}
	return &own
}
