package compose

import (
	"context"
	"encoding/json"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// CallStep is a Caller for durable runs, in which the call is a step: what it came to is recorded, and it is not made again.
// A tool that is not repeatable is called once at most; if the process ends meanwhile the error is step.ErrOutcomeUnknown.
// Where a person must allow the call the run waits for that, by the id of the call or, without one, by the key of the step; a
// refusal is an error of kind KindToolNotAuthorised. Outside of a durable run it is DefaultCaller.
//
// An error that is retryable is not recorded if the tool is repeatable: the run may be tried again. A skill that deals with
// it instead of returning it decides another way when the run goes on.
func CallStep(ctx context.Context, t tool.Tool, call protocol.ToolCall) (tool.Result, error) {
	if _, durable := step.InfoFrom(ctx); !durable {
		return DefaultCaller(ctx, t, call)
	}
	at, once := step.Next(ctx), !tool.CanRepeat(t)
	if call.ID == "" { // by which a person allows this call and no other
		call.ID = at.Key()
	}
	input, err := allowed(ctx, t, call)
	if err != nil {
		return tool.Result{}, err
	}
	spec := step.Spec{Kind: run.StepCode, Name: call.Name}
	if once {
		spec.Unknown = func() run.Entry { return outcomeUnknown(call.Name).entry() }
	}
	var live tool.Result
	e, err := at.Run(ctx, spec, func(ctx context.Context) (run.Entry, error) {
		info := tool.RunFrom(ctx)
		info.IdempotencyKey = at.Key()
		res, err := tool.Call(tool.WithRun(ctx, info), t, input)
		if err != nil && (step.Unwinding(err) || ctx.Err() != nil || !once && protocol.IsRetryable(err)) {
			live = res
			return run.Entry{}, err
		}
		return resultOf(res, err, once).entry(), nil
	})
	if err != nil {
		return tool.Result{Cost: live.Cost, UnpricedCalls: live.UnpricedCalls}, err
	}
	return read(e)
}

// allowed waits until a person has allowed the call, and returns its input.
func allowed(ctx context.Context, t tool.Tool, call protocol.ToolCall) (json.RawMessage, error) {
	reason, needed := tool.NeedsApproval(t, call.Input)
	if !needed {
		return call.Input, nil
	}
	id := call.ID
	decisions, err := step.Approval(ctx, protocol.ApprovalRequest{Pending: []protocol.PendingToolCall{
		{CallID: id, ToolName: call.Name, ToolInput: call.Input, Reason: reason},
	}})
	switch d := decisions[id]; {
	case err != nil:
		return nil, err
	case !d.Approved:
		e := ErrToolNotAuthorised(shown(call.Name))
		e.Message = tool.DeniedText(d.Reason)
		return nil, e.Clip()
	case d.Input != nil:
		return d.Input, nil
	}
	return call.Input, nil
}

// recorded is what a call gave, as the log of a durable run has it.
type recorded struct {
	Output        json.RawMessage   `json:"output,omitempty"`
	Effects       protocol.Effects  `json:"effects,omitempty"`
	Cost          *protocol.Decimal `json:"cost,omitempty"`
	UnpricedCalls uint32            `json:"unpriced_calls,omitempty"`
	Error         *protocol.Error   `json:"error,omitempty"`
	Unknown       bool              `json:"unknown,omitempty"`
}

func resultOf(res tool.Result, err error, once bool) recorded {
	r := recorded{Output: res.Output, Effects: res.Effects, Cost: res.Cost, UnpricedCalls: res.UnpricedCalls}
	if err != nil {
		e := *protocol.AsError(err).Clip()
		if once { // it gives the same again
			e.Retryable, e.RetryAfter = false, 0
		}
		r.Output, r.Effects, r.Error = nil, nil, &e
	}
	return r
}

func outcomeUnknown(name string) recorded {
	e := protocol.NewError(protocol.CodeToolError, "the outcome of a call of "+name+
		" is unknown: the process ended while it was made; it may or may not have happened, and is not made again")
	return recorded{Error: e, Unknown: true}
}

// entry is what is recorded. One whose result cannot be kept as JSON and read back has failed.
func (r recorded) entry() run.Entry {
	raw, err := protocol.Marshal(r)
	if err == nil {
		err = json.Unmarshal(raw, new(recorded))
	}
	if err != nil {
		r = recorded{Cost: r.Cost, UnpricedCalls: r.UnpricedCalls, Error: protocol.NewError(protocol.CodeInternal,
			"the call was made, but its result cannot be kept; this is a defect of the tool")}
		raw, _ = protocol.Marshal(r) // names and numbers only
	}
	return run.Entry{Result: raw, Cost: r.Cost}
}

// read is what a recorded call gave.
func read(e run.Entry) (tool.Result, error) {
	if e.Error != nil {
		return tool.Result{}, e.Error
	}
	var r recorded
	if err := json.Unmarshal(e.Result, &r); err != nil {
		return tool.Result{}, protocol.NewError(protocol.CodeInternal,
			"what is recorded of a tool's call cannot be read").Because(err)
	}
	res := tool.Result{Output: r.Output, Effects: r.Effects, Cost: r.Cost, UnpricedCalls: r.UnpricedCalls}
	switch {
	case r.Unknown:
		return res, r.Error.Because(step.ErrOutcomeUnknown)
	case r.Error != nil:
		return res, r.Error
	}
	return res, nil
}
