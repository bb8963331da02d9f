package tool

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// AsOperator is a tool as an operator. The text of the message is the tool's input, which must be JSON; the text of the
// answer is the result as JSON, so that a string arrives quoted. The tool's effects are the operator's, and its cost.
//
// A call that needs approval is not made: the output asks for it with an effect and ends with awaiting_approval.
//
// In a durable run the call is a step, which is made once unless the tool is repeatable; where approval is needed, the run
// waits for it, and a refusal is an error with the code permission_denied.
func AsOperator(t Tool) protocol.Operator { return operator{t} }

type operator struct{ tool Tool }

// Execute implements protocol.Operator. Its error is a non-retryable or a sub-dispatch error of the operator family.
func (o operator) Execute(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	name := o.tool.Metadata().Name
	input, err := inputFrom(in)
	if err != nil {
		return protocol.OperatorOutput{}, err
	}
	call := protocol.ToolCall{ID: string(protocol.InvocationFrom(ctx).Run), Name: name, Input: input}
	call.Input, err = allowed(ctx, o.tool, call)
	switch {
	case errors.Is(err, errNobodyAsked):
		return protocol.OperatorOutput{
			Message: protocol.TextContent(""), ExitReason: protocol.Exit(protocol.ExitAwaitingApproval),
			Effects: protocol.Effects{protocol.ToolApprovalRequired{ToolName: name, CallID: call.ID, Input: inputOrEmpty(input)}},
		}, nil
	case err != nil:
		return protocol.OperatorOutput{}, err
	}
	got, err := perform(WithRun(ctx, Run{Session: in.Session}), o.tool, call)
	switch {
	case step.Unwinding(err):
		return protocol.OperatorOutput{}, err
	case err != nil && ctx.Err() != nil: // not the tool's failure
		return protocol.OperatorOutput{}, protocol.AsError(ctx.Err()).Because(err)
	case err != nil:
		return protocol.OperatorOutput{}, served(name, err)
	}
	return got.reply(name), nil
}

// perform makes the call as a step.
func perform(ctx context.Context, t Tool, call protocol.ToolCall) (called, error) {
	var opts []step.Option
	if !CanRepeat(t) {
		opts = append(opts, step.Once())
	}
	return step.Do(ctx, call.Name, func(ctx context.Context) (called, error) {
		r := RunFrom(ctx)
		if r.IdempotencyKey = step.Key(ctx); r.IdempotencyKey == "" && call.ID != "" {
			r.IdempotencyKey = call.ID + "/1"
		}
		start := time.Now()
		res, err := Call(WithRun(ctx, r), t, call.Input)
		return called{
			Output: res.Output, Effects: res.Effects, Cost: res.Cost, UnpricedCalls: res.UnpricedCalls,
			Duration: protocol.MillisOf(time.Since(start)),
		}, err
	}, opts...)
}

// inputFrom reads the input of the tool.
func inputFrom(in protocol.OperatorInput) (json.RawMessage, error) {
	text, ok := in.Message.AsText()
	if !ok {
		return json.RawMessage("null"), nil
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		e := protocol.ErrNonRetryable("invalid tool input JSON: " + err.Error())
		e.Code = protocol.CodeInvalidInput
		return nil, e
	}
	return json.RawMessage(text), nil
}

// errNobodyAsked says that a call needs approval, and that the run cannot wait for it.
var errNobodyAsked = protocol.NewError(protocol.CodePermissionDenied,
	"the call needs the approval of a person, and only a durable run can wait for one")

// allowed waits until a person has decided, where that is needed, and returns the input of the call.
func allowed(ctx context.Context, t Tool, call protocol.ToolCall) (json.RawMessage, error) {
	reason, needed := NeedsApproval(t, call.Input)
	if !needed {
		return call.Input, nil
	}
	if _, durable := step.InfoFrom(ctx); !durable {
		return nil, errNobodyAsked
	}
	decisions, err := step.Approval(ctx, protocol.ApprovalRequest{Pending: []protocol.PendingToolCall{
		{CallID: call.ID, ToolName: call.Name, ToolInput: inputOrEmpty(call.Input), Reason: reason},
	}})
	switch d := decisions[call.ID]; {
	case err != nil:
		return nil, err
	case !d.Approved:
		return nil, protocol.NewError(protocol.CodePermissionDenied, DeniedText(d.Reason))
	case d.Input != nil:
		return d.Input, nil
	}
	return call.Input, nil
}

// called is what a call gave, as the log of a durable run has it.
type called struct {
	Output        json.RawMessage   `json:"output,omitempty"`
	Effects       protocol.Effects  `json:"effects,omitempty"`
	Cost          *protocol.Decimal `json:"cost,omitempty"`
	UnpricedCalls uint32            `json:"unpriced_calls,omitempty"`
	Duration      protocol.Millis   `json:"duration"`
}

// Spent implements step.Spent.
func (c called) Spent() *protocol.Decimal { return c.Cost }

func (c called) reply(name string) protocol.OperatorOutput {
	if len(c.Output) == 0 {
		c.Output = json.RawMessage("null")
	}
	out := protocol.Reply(string(c.Output))
	out.Effects = c.Effects
	out.Metadata = protocol.OperatorMetadata{
		Duration: c.Duration, UnpricedCalls: c.UnpricedCalls,
		SubDispatches: []protocol.SubDispatchRecord{{Name: name, Duration: c.Duration, Success: true}},
	}
	if c.Cost != nil {
		out.Metadata.Cost = *c.Cost
	}
	return out
}
