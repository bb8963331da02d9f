package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/rule"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Rules has hooks asked and told about the calls of tools of an agent's runs. A call that a hook skips is not made, and the
// model is told the output; Terminate ends the run as interceptor_halt with the reason, and an error of a hook ends it as
// failed. The calls of one answer are all asked about before the first of them is made, and hooks see what the model is
// told, as JSON, not what the tool returned. Where a rule that comes later changes the input, hooks have seen it before.
//
// A run may end between the two: at a limit, since a person is asked, or by another rule. Hooks that still wait are then told by
// OnError, before the agent returns.
//
// What a durable run replays goes through the hooks again, so they must answer the same; see Replays. A BudgetHook denies
// no call that may be replayed: it then goes on without holding anything.
func Rules(priority int, hooks ...Hook) []engine.Rule {
	a := &around{hooks: given(hooks)}
	return []engine.Rule{
		rule.BeforeTool("", "dispatch hooks", priority, a.before),
		rule.AfterTool("", "dispatch hooks", priority, a.after),
	}
}

type around struct{ hooks []Hook }

// calls are what one run has under way. A run is one goroutine.
type calls struct {
	begun bool
	hooks []Hook
	open  map[*engine.ToolCall]*pass
}

// of returns what the run has under way.
func (a *around) of(ctx context.Context, c *engine.Context) *calls {
	all := engine.Local[calls](c, a)
	if all.begun {
		return all
	}
	all.begun, all.open = true, map[*engine.ToolCall]*pass{}
	for _, h := range a.hooks {
		if own, ok := h.(RunHook); ok {
			h = own.ForRun()
		}
		all.hooks = append(all.hooks, h)
	}
	c.Finally(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), CleanupTimeout) // also where ctx has ended
		defer cancel()
		all.leave(ctx)
	})
	return all
}

func (a *around) before(ctx context.Context, c *engine.Context, op *engine.ToolCall) error {
	if op.Skipped {
		return nil
	}
	all := a.of(ctx, c)
	p := &pass{hooks: all.hooks, call: op.Call, replay: c.Replays()}
	ctx = p.with(ctx)
	all.put(op, p)
	d, err := p.before(ctx)
	switch {
	case err != nil:
		err = p.fail(ctx, err, p.asked, failed(err))
	case d.Kind() == DecideTerminate:
		err = join(engine.Halt(d.reason), p.terminate(ctx, d))
	case d.Kind() == DecideSkip:
		op.Skip(tool.Result{Output: d.output}.Text(), false)
		return nil
	}
	if err != nil {
		all.leave(ctx) // the run is over
	}
	return err
}

func (a *around) after(ctx context.Context, c *engine.Context, op *engine.ToolCall) error {
	p := a.of(ctx, c).take(op)
	if p == nil { // skipped by somebody else, or begun before there were hooks
		return nil
	}
	ctx = p.with(ctx)
	if op.IsError {
		err := compose.ErrToolFailed(strings.TrimPrefix(op.Result, "Error: ")).Clip()
		if more, ok := p.fail(ctx, err, len(p.hooks), failed(err)).(joined); ok { //nolint:errorlint // it is what fail made
			return join(more[1:]...) // the model deals with the failure, nobody with that of a hook
		}
		return nil
	}
	r := Result{Call: op.Call, Output: told(op.Result), Outcome: Outcome{Kind: Completed}}
	if op.Skipped {
		r.Outcome.Kind = Skipped
	}
	return p.after(ctx, r)
}

// told is what a model was told, as JSON.
func told(text string) json.RawMessage {
	if raw := []byte(text); json.Valid(raw) && len(bytes.TrimSpace(raw)) > 0 {
		return raw
	}
	raw, _ := protocol.Marshal(text) // a string always marshals
	return raw
}

func (c *calls) put(op *engine.ToolCall, p *pass) {
	c.open[op] = p
}

func (c *calls) take(op *engine.ToolCall) *pass {
	p := c.open[op]
	delete(c.open, op)
	return p
}

// leave tells the hooks of calls that nothing came of.
func (c *calls) leave(ctx context.Context) {
	open := c.open
	c.open = map[*engine.ToolCall]*pass{}
	for _, p := range open {
		p.abandon(p.with(ctx))
	}
}
