package compose

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Caller calls a tool for Tools.Invoke. Its result is that of Invoke, its error becomes one of the kernel. The call has no
// id unless the Caller gives it one. It must be safe for concurrent use.
//
// A Caller is asked for the tools of its own chain. What the tools of a chain below declare and cost is in the result of the
// tool that stands for that chain, so it is counted once. A Caller that wants to be asked for those too, such as one that
// keeps a policy and no accounts, sets itself again in the context that it gives to the tool.
type Caller func(ctx context.Context, t tool.Tool, call protocol.ToolCall) (tool.Result, error)

type callerKey struct{}

// WithCaller returns a context under which c calls the tools: who runs a chain decides how. Nil is the default of Invoke.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

func callerFrom(ctx context.Context) Caller {
	if c, _ := ctx.Value(callerKey{}).(Caller); c != nil {
		return c
	}
	return DefaultCaller
}

// Invoke calls a tool. Whether this view sees the name is asked first, then whether there is such a tool; see Get. No
// arguments are {}. Beside an error the result has what the call cost.
//
// The error of a tool becomes one of kind KindToolFailed, with the code, the hints and the details that it had and with
// itself as the cause. An error of the kernel stays as it is, and so do those by which a durable run unwinds and those by
// which ctx ended.
//
// The tool is called by the Caller of the context; without one by DefaultCaller.
func (t *Tools) Invoke(ctx context.Context, name string, args json.RawMessage) (tool.Result, error) {
	x, err := t.Get(name)
	if err != nil {
		return tool.Result{}, err
	}
	input := json.RawMessage(`{}`)
	if len(bytes.TrimSpace(args)) > 0 {
		if !json.Valid(args) {
			return tool.Result{}, ErrInvalidArgument("the arguments of " + name + " are not JSON")
		}
		input = bytes.Clone(args) // it belongs to the tool
	}
	res, err := callerFrom(ctx)(WithCaller(ctx, nil), x, protocol.ToolCall{Name: name, Input: input})
	if err != nil {
		return tool.Result{Cost: res.Cost, UnpricedCalls: res.UnpricedCalls}, toolError(ctx, name, err)
	}
	return res, nil
}

// DefaultCaller calls a tool as Invoke does where nobody says otherwise: by tool.Call, and in a durable run by CallStep. A
// call that a person must allow is not made outside of a durable run, since nobody is asked there: the error is of kind
// KindToolNotAuthorised.
func DefaultCaller(ctx context.Context, t tool.Tool, call protocol.ToolCall) (tool.Result, error) {
	if _, durable := step.InfoFrom(ctx); durable {
		return CallStep(ctx, t, call)
	}
	if _, needed := tool.NeedsApproval(t, call.Input); needed {
		e := ErrToolNotAuthorised(shown(call.Name))
		e.Message = "tool `" + shown(call.Name) + "` needs the approval of a person, and nobody is asked here"
		return tool.Result{}, e
	}
	return tool.Call(ctx, t, call.Input)
}
