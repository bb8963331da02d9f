package rule

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
)

// FromHooks makes rules of hooks. An Action that does not belong where it is returned, or an input that is no JSON, ends the run as
// failed; name says whose it was.
func FromHooks(name string, priority int, h Hooks) []engine.Rule {
	a := &adapter{name, h}
	rule := func(make func(op, name string, priority int, action engine.Op) engine.Rule, op string, do hookFunc) engine.Rule {
		return make(op, name, priority, engine.OpFunc(name, func(ctx context.Context, c *engine.Context) error {
			return do(ctx, c, stateOf(c))
		}))
	}
	return []engine.Rule{
		rule(engine.Before, engine.OpInfer, a.beforeInference), rule(engine.After, engine.OpAppendResponse, a.afterInference),
		rule(engine.Before, engine.OpExecuteTool, a.beforeToolCall), rule(engine.After, engine.OpExecuteTool, a.afterToolCall),
		rule(engine.Before, engine.OpExitCheck, a.whenExitCheck), rule(engine.Before, engine.OpSteer, a.beforeSteering),
		rule(engine.After, engine.OpSteer, a.whenSkipped), rule(engine.Before, engine.OpCompact, a.beforeCompaction),
		rule(engine.After, engine.OpCompact, a.afterCompaction),
	}
}

type hookFunc func(ctx context.Context, c *engine.Context, s State) error

func stateOf(c *engine.Context) State {
	m := c.Metrics()
	return State{
		Turns: m.Turns, TokensIn: m.TokensIn, TokensOut: m.TokensOut, Cost: m.Cost, ToolCalls: m.ToolCalls, Elapsed: c.Elapsed(),
		Messages: c.Messages(),
	}
}

type adapter struct {
	name  string
	hooks Hooks
}

// do does what an action says that may only continue or halt.
func (a *adapter) do(at string, act Action) error {
	switch act.kind {
	case proceed:
		return nil
	case halt:
		return engine.Halt(act.reason)
	default:
		return a.wrong(fmt.Sprintf("%s cannot %s", at, act.kind))
	}
}

func (a *adapter) wrong(what string) error {
	return protocol.NewError(protocol.CodeInternal, fmt.Sprintf("hooks %q: %s", a.name, what))
}

func (a *adapter) beforeInference(ctx context.Context, _ *engine.Context, s State) error {
	return a.do("before_inference", a.hooks.BeforeInference(ctx, s))
}

func (a *adapter) afterInference(ctx context.Context, c *engine.Context, s State) error {
	op, ok := c.Current().(*engine.Response)
	if !ok {
		return nil
	}
	return a.do("after_inference", a.hooks.AfterInference(ctx, s, op.Response.Content))
}

func (a *adapter) beforeToolCall(ctx context.Context, c *engine.Context, s State) error {
	op, ok := c.Current().(*engine.ToolCall)
	if !ok || op.Skipped {
		return nil
	}
	act := a.hooks.BeforeToolCall(ctx, s, op.Call.Name, op.Call.Input)
	switch act.kind {
	case modify:
		if !json.Valid(act.input) {
			return a.wrong("the input of modify_input is no JSON")
		}
		op.Call.Input = act.input
		return nil
	case skip:
		op.Skip(act.reason, false)
		return nil
	default:
		return a.do("before_tool_call", act)
	}
}

func (a *adapter) afterToolCall(ctx context.Context, c *engine.Context, s State) error {
	op, ok := c.Current().(*engine.ToolCall)
	if !ok {
		return nil
	}
	return a.do("after_tool_call", a.hooks.AfterToolCall(ctx, s, op.Call.Name, op.Result))
}

func (a *adapter) whenExitCheck(ctx context.Context, _ *engine.Context, s State) error {
	return a.do("when_exit_check", a.hooks.WhenExitCheck(ctx, s))
}

func (a *adapter) beforeSteering(ctx context.Context, c *engine.Context, s State) error {
	op, ok := c.Current().(*engine.Steer)
	if !ok || op.Skip {
		return nil
	}
	act := a.hooks.BeforeSteeringInject(ctx, s, said(op))
	if act.kind == skip {
		op.Skip = true
		return nil
	}
	return a.do("before_steering_inject", act)
}

func (a *adapter) whenSkipped(ctx context.Context, c *engine.Context, s State) error {
	if op, ok := c.Current().(*engine.Steer); ok && op.Skip {
		a.hooks.WhenSteeringSkip(ctx, s, said(op))
	}
	return nil
}

func said(op *engine.Steer) []string {
	texts := make([]string, len(op.Messages))
	for i, m := range op.Messages {
		texts[i] = m.Text()
	}
	return texts
}

func (a *adapter) beforeCompaction(ctx context.Context, _ *engine.Context, s State) error {
	return a.do("before_compaction", a.hooks.BeforeCompaction(ctx, s))
}

func (a *adapter) afterCompaction(ctx context.Context, _ *engine.Context, s State) error {
	a.hooks.AfterCompaction(ctx, s)
	return nil
}
