package tool

import (
	"context"
	"fmt"

	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

type operatorInput struct {
	Message string `json:"message" jsonschema:"what it should do; it sees nothing of this conversation but this"`
}

// FromOperator is an operator as a tool: {"message": string} becomes a task for it, and the text of its answer the
// result. What it declares is performed by whoever runs it, and is not the agent's. It gets no session; what else it gets is protocol.NextCall's, so
// the agent decides on its budget. What it cost is the result's cost, also where it failed.
//
// In a durable run the call is a step of its own, step.Call, and d is not used: a run that goes on finds the child that it
// began. Therefore the tool is repeatable.
//
// An answer that is not complete is told to the model with the reason; one that ended with error, circuit_breaker,
// safety_stop or interceptor_halt is an error. Errors of the dispatch keep their codes.
func FromOperator(name, description string, d protocol.Dispatcher, id protocol.OperatorID, opts ...Option) Tool {
	return typed(name, description, func(ctx context.Context, in operatorInput) (Result, error) {
		out, err := dispatch(ctx, d, id, protocol.OperatorInput{
			Message: protocol.TextContent(in.Message), Trigger: protocol.TriggerTask,
		})
		if step.Unwinding(err) {
			return Result{}, err
		}
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
	}, append([]Option{Repeatable(), Spending()}, opts...)...)
}

func dispatch(
	ctx context.Context, d protocol.Dispatcher, id protocol.OperatorID, in protocol.OperatorInput,
) (protocol.OperatorOutput, error) {
	info, durable := step.InfoFrom(ctx)
	if !durable {
		return d.Dispatch(ctx, id, in)
	}
	var opts []step.CallOption
	if budget := remaining(info, protocol.NextCall(ctx).Budget); budget != nil {
		opts = append(opts, step.Budget(*budget))
	}
	return step.Call(ctx, string(id), id, in, opts...)
}

// remaining is what of a call's budget is left: it may be of when the run went on.
func remaining(info step.Info, budget *protocol.Decimal) *protocol.Decimal {
	if left := info.Left(); left != nil && budget != nil && left.LessThan(budget.Decimal) {
		return left
	}
	return budget
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
