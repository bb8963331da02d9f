package tool

import (
	"context"
	"encoding/json"
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
	if reason, needed := NeedsApproval(o.tool, input); needed {
		if _, durable := step.InfoFrom(ctx); !durable {
			return protocol.OperatorOutput{
				Message: protocol.TextContent(""), ExitReason: protocol.Exit(protocol.ExitAwaitingApproval),
				Effects: protocol.Effects{protocol.ToolApprovalRequired{
					ToolName: name, CallID: string(protocol.InvocationFrom(ctx).Run), Input: inputOrEmpty(input),
				}},
			}, nil
		}
		if input, err = o.approved(ctx, name, input, reason); err != nil {
			return protocol.OperatorOutput{}, err
		}
	}
	var opts []step.Option
	if !CanRepeat(o.tool) {
		opts = append(opts, step.Once())
	}
	got, err := step.Do(ctx, name, func(ctx context.Context) (called, error) { return o.call(ctx, in.Session, input) }, opts...)
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

// approved waits until a person has decided, and returns the input of the call.
func (o operator) approved(
	ctx context.Context, name string, input json.RawMessage, reason protocol.ApprovalReason,
) (json.RawMessage, error) {
	id := string(protocol.InvocationFrom(ctx).Run)
	decisions, err := step.Approval(ctx, protocol.ApprovalRequest{Pending: []protocol.PendingToolCall{
		{CallID: id, ToolName: name, ToolInput: inputOrEmpty(input), Reason: reason},
	}})
	switch d := decisions[id]; {
	case err != nil:
		return nil, err
	case !d.Approved:
		return nil, protocol.NewError(protocol.CodePermissionDenied, DeniedText(d.Reason))
	case d.Input != nil:
		return d.Input, nil
	}
	return input, nil
}

// called is what a call gave, as the log of a durable run has it.
type called struct {
	Output        json.RawMessage   `json:"output,omitempty"`
	Effects       protocol.Effects  `json:"effects,omitempty"`
	Cost          *protocol.Decimal `json:"cost,omitempty"`
	UnpricedCalls uint32            `json:"unpriced_calls,omitempty"`
	Duration      protocol.Millis   `json:"duration"`
}

func (o operator) call(ctx context.Context, session *protocol.SessionID, input json.RawMessage) (called, error) {
	key := step.Key(ctx)
	if id := protocol.InvocationFrom(ctx).Run; key == "" && id != "" {
		key = string(id) + "/1"
	}
	start := time.Now()
	res, err := Call(WithRun(ctx, Run{Session: session, IdempotencyKey: key}), o.tool, input)
	return called{
		Output: res.Output, Effects: res.Effects, Cost: res.Cost, UnpricedCalls: res.UnpricedCalls,
		Duration: protocol.MillisOf(time.Since(start)),
	}, err
}

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
