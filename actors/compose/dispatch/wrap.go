package dispatch

import (
	"context"
	"encoding/json"

	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Wrap is t, each call of which goes through hooks: for agents, and wherever else a tool.Tool is called. The hooks are
// around the call itself, so whatever becomes of the run, a hook that was asked is told before the call returns; and in a
// durable run they are not asked about calls that come from the log. They see the output whole and may replace it by Skip.
//
// Terminate is an error of protocol.ErrEngineHalted, which ends an agent's run as interceptor_halt. The error of a hook is
// that of the call. An error behind a call that was made leaves its cost, but no output. Calls of one answer may run side
// by side.
func Wrap(t tool.Tool, hooks ...Hook) tool.Tool { return wrapped{Tool: t, hooks: given(hooks)} }

type wrapped struct {
	tool.Tool

	hooks []Hook
}

// Unwrap implements tool.Wrapper.
func (w wrapped) Unwrap() tool.Tool { return w.Tool }

// Call implements tool.Tool.
func (w wrapped) Call(ctx context.Context, input json.RawMessage) (tool.Result, error) {
	var spent tool.Result
	p := &pass{hooks: w.hooks, call: protocol.ToolCall{Name: w.Metadata().Name, Input: input}}
	r, _, err := p.run(ctx, func(ctx context.Context) (tool.Result, error) {
		res, err := tool.Call(ctx, w.Tool, input)
		spent = tool.Result{Cost: res.Cost, UnpricedCalls: res.UnpricedCalls}
		return res, err
	})
	if p.halted {
		err = join(protocol.ErrEngineHalted(p.reason).Clip(), err)
	}
	if err != nil {
		return spent, err
	}
	return tool.Result{Output: r.Output, Effects: r.Effects, Cost: r.Cost, UnpricedCalls: r.UnpricedCalls}, nil
}
