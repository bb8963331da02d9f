package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// MaxCalls is how many calls are dispatched at a time.
const MaxCalls = 1024

// Option says something more of a dispatch.
type Option func(*options)

type options struct {
	hooks []Hook
	trace *Trace
}

// WithHooks has hooks asked and told, in this order and behind those of earlier options. Those that are nil are left out.
func WithHooks(hooks ...Hook) Option {
	return func(o *options) { o.hooks = append(o.hooks, given(hooks)...) }
}

func given(hooks []Hook) (out []Hook) {
	for _, h := range hooks {
		if h != nil {
			out = append(out, h)
		}
	}
	return out
}

// WithTrace has t told what happens.
func WithTrace(t *Trace) Option { return func(o *options) { o.trace = t } }

// Dispatch makes calls one after the other, in their order, by Tools.Invoke. It stops at the first error, and returns
// beside it the results that there are: those of the calls before, and of the one that was made if only a hook failed
// behind it. What a failed call cost is known to the compose.Caller of ctx alone.
//
// In a durable run the calls are steps, and hooks are asked again about those that come from the log: they should answer the same.
// A BudgetHook may then deny what was granted; where that matters, Wrap the tools instead.
//
// The error is that of the tool, the hook, or the end of ctx; a hook that terminates makes one of kind
// compose.KindDispatchTerminated. Errors that come on top, of hooks that were told of it, are further causes of it. More
// than MaxCalls are refused as a whole.
func Dispatch(ctx context.Context, tools *compose.Tools, calls []protocol.ToolCall, opts ...Option) ([]Result, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	switch {
	case tools == nil:
		return nil, compose.ErrInvalidArgument("there are no tools to dispatch to")
	case len(calls) > MaxCalls:
		return nil, compose.ErrInvalidArgument(fmt.Sprintf("%d calls are more than %d", len(calls), MaxCalls))
	}
	results := make([]Result, 0, len(calls))
	for i, call := range calls {
		p := &pass{hooks: o.hooks, trace: o.trace, index: i, call: call}
		result, made, err := p.run(ctx, func(ctx context.Context) (tool.Result, error) {
			return tools.Invoke(ctx, call.Name, call.Input)
		})
		if made {
			results = append(results, result)
		}
		if err != nil {
			return results, err
		}
	}
	return results, nil
}

// BoundedResult is what a call came to, for a model that cannot be shown everything.
type BoundedResult struct {
	Call     protocol.ToolCall `json:"call"`
	Envelope tool.Envelope     `json:"envelope"`
}

// Bounded is Dispatch, whose outputs are brought within bounds at the end. Hooks see them whole.
func Bounded(
	ctx context.Context, tools *compose.Tools, calls []protocol.ToolCall, bounds tool.Bounds, opts ...Option,
) ([]BoundedResult, error) {
	results, err := Dispatch(ctx, tools, calls, opts...)
	out := make([]BoundedResult, len(results))
	for i, r := range results {
		out[i] = BoundedResult{Call: r.Call, Envelope: tool.Bound(r.Output, bounds)}
	}
	return out, err
}

// resultOf is what a call returned.
func resultOf(call protocol.ToolCall, res tool.Result) Result {
	return Result{
		Call: call, Output: orNull(res.Output), Effects: res.Effects, Cost: res.Cost, UnpricedCalls: res.UnpricedCalls,
		Outcome: Outcome{Kind: Completed},
	}
}

func orNull(output json.RawMessage) json.RawMessage {
	if len(output) == 0 {
		return null
	}
	return output
}

// shown is a name for an error's text.
func shown(name string) string {
	if compose.IsIdentifier(name) {
		return name
	}
	const most = 80
	raw, _ := protocol.Marshal(strings.ToValidUTF8(name[:min(len(name), most)], "")) // a string always marshals
	return string(raw[1 : len(raw)-1])
}
