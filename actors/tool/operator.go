package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

type operatorInput struct {
	Message string `json:"message" jsonschema:"what it should do; it sees nothing of this conversation but this"`
}

// FromOperator is an operator as a tool: {"message": string} becomes a task for it, and the text of its answer the
// result. It gets no session; what else it gets is protocol.NextCall's, so the agent decides on its budget. What it cost
// is the result's cost, also where it failed.
//
// An answer that is not complete is told to the model with the reason; one that ended with error, circuit_breaker,
// safety_stop or interceptor_halt is an error. Errors of the dispatch keep their codes.
func FromOperator(name, description string, d protocol.Dispatcher, id protocol.OperatorID, opts ...Option) Tool {
	return typed(name, description, func(ctx context.Context, in operatorInput) (Result, error) {
		out, err := d.Dispatch(ctx, id, protocol.OperatorInput{
			Message: protocol.TextContent(in.Message), Trigger: protocol.TriggerTask,
		})
		if err != nil {
			return Result{}, dispatchError(id, err)
		}
		res := Result{UnpricedCalls: out.Metadata.UnpricedCalls}
		if !out.Metadata.Cost.IsZero() {
			res.Cost = &out.Metadata.Cost
		}
		text, err := textOf(out)
		if err != nil {
			return res, err
		}
		switch out.ExitReason.Kind() {
		case protocol.ExitComplete:
		case protocol.ExitError, protocol.ExitCircuitBreaker, protocol.ExitSafetyStop, protocol.ExitInterceptorHalt:
			return res, protocol.ErrToolFailed(fmt.Sprintf("%s ended with %s: %s", id, out.ExitReason, text))
		case protocol.ExitMaxTurns, protocol.ExitBudgetExhausted, protocol.ExitTimeout,
			protocol.ExitAwaitingApproval, protocol.ExitHandedOff, protocol.ExitCustom:
			text = fmt.Sprintf("[%s is not complete: it ended with %s]\n%s", id, out.ExitReason, text)
		}
		res.Output, err = protocol.Marshal(text)
		return res, err
	}, opts...)
}

// dispatchError keeps the code but not the kind of err, so that what the child calls a halt or a bad tool input is not
// taken for the parent's.
func dispatchError(id protocol.OperatorID, err error) error {
	code := protocol.CodeOf(err)
	e := protocol.ErrSubDispatch(id, err)
	e.Code = code
	return e
}

// textOf returns what the message says: its texts, or where it has none all of it as JSON.
func textOf(out protocol.OperatorOutput) (string, error) {
	if _, ok := out.Message.AsText(); ok || out.Message.IsZero() {
		return protocol.NewMessage(protocol.RoleAssistant, out.Message).Text(), nil
	}
	raw, err := protocol.Marshal(out.Message)
	return string(raw), err
}

// AsOperator is a tool as an operator. The text of the message is the tool's input, which must be JSON; the text of the
// answer is the result as JSON, so that a string arrives quoted. The tool's effects are the operator's, and its cost.
//
// A call that needs approval is not made: the output asks for it with an effect and ends with awaiting_approval.
func AsOperator(t Tool) protocol.Operator { return operator{t} }

type operator struct{ tool Tool }

// Execute implements protocol.Operator. Its error is a non-retryable or a sub-dispatch error of the operator family.
func (o operator) Execute(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	name := o.tool.Metadata().Name
	input := json.RawMessage("null")
	if text, ok := in.Message.AsText(); ok {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			e := protocol.ErrNonRetryable("invalid tool input JSON: " + err.Error())
			e.Code = protocol.CodeInvalidInput
			return protocol.OperatorOutput{}, e
		}
		input = json.RawMessage(text)
	}
	if _, needed := NeedsApproval(o.tool, input); needed {
		return protocol.OperatorOutput{
			Message: protocol.TextContent(""), ExitReason: protocol.Exit(protocol.ExitAwaitingApproval),
			Effects: protocol.Effects{protocol.ToolApprovalRequired{
				ToolName: name, CallID: string(protocol.InvocationFrom(ctx).Run), Input: inputOrEmpty(input),
			}},
		}, nil
	}
	start := time.Now()
	res, err := Call(WithRun(ctx, Run{Session: in.Session}), o.tool, input)
	if err != nil {
		if ctx.Err() != nil { // not the tool's failure
			return protocol.OperatorOutput{}, protocol.AsError(ctx.Err()).Because(err)
		}
		return protocol.OperatorOutput{}, protocol.ErrSubDispatch(protocol.OperatorID(name), err)
	}
	took := protocol.MillisOf(time.Since(start))
	if len(res.Output) == 0 {
		res.Output = json.RawMessage("null")
	}
	out := protocol.Reply(string(res.Output))
	out.Effects = res.Effects
	out.Metadata = protocol.OperatorMetadata{
		Duration: took, UnpricedCalls: res.UnpricedCalls,
		SubDispatches: []protocol.SubDispatchRecord{{Name: name, Duration: took, Success: true}},
	}
	if res.Cost != nil {
		out.Metadata.Cost = *res.Cost
	}
	return out, nil
}
