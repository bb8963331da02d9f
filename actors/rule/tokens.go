package rule

import (
	"context"

	"github.com/skelegent/skelegent-go/actors/budget"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
)

// Tokens has the model calls of all runs under the rule take their tokens from b, which any number of agents may share.
// Before a call it reserves what the conversation is estimated to take and the longest answer, engine.Params.MaxTokens;
// where that is not there, the call is not made and the run ends as budget_exhausted. Behind the call it records what the
// provider says was used; of one that does not say, the estimate of what was asked and answered. If b is nil, it is that of
// the run's context, see budget.WithTokens, and without one the rule does nothing.
//
// A reservation is held while the call is under way and no longer, however that ends: by an answer, an error, a panic, or
// since a durable run is left. A call that failed, or whose answer is lost since it could not be recorded, counts nothing.
// What other rules ask a model by engine.Context.Ask is counted when the run has its next model call or exit check, and not
// denied.
//
// A call that a durable run has from its log is not made, so it takes nothing and is not denied: whoever made it counted
// it. That may have been an earlier process, whose budget is gone. So b is what is used by this process, not what a run
// took in all. Only what rules asked since the last call of the log is counted again by the process that goes on: it cannot
// know whether that was before.
func Tokens(b *budget.Tokens) []engine.Rule {
	m := &meter{b}
	return []engine.Rule{
		engine.Before(engine.OpInfer, "tokens", priorityLast-1, engine.OpFunc("tokens", m.around)),
		engine.Before(engine.OpAppendResponse, "tokens", priorityLast-1, engine.OpFunc("tokens", m.expect)),
		engine.Before(engine.OpExitCheck, "tokens", PriorityBudget, engine.OpFunc("tokens", m.check)),
	}
}

type meter struct{ tokens *budget.Tokens }

// seen is how many tokens of a run were taken from the budget, or by a process before, as far as its metrics have them.
type seen struct{ in, out uint64 }

func (m *meter) budget(ctx context.Context) *budget.Tokens {
	if m.tokens != nil {
		return m.tokens
	}
	return budget.TokensFrom(ctx)
}

// around has the call itself reserve and record, so that nothing can come in between.
func (m *meter) around(ctx context.Context, c *engine.Context) error {
	b := m.budget(ctx)
	op, ok := c.Current().(*engine.Infer)
	if b == nil || !ok || op.Call == nil {
		return nil
	}
	m.aside(c, b)
	if c.Replays() {
		return nil
	}
	call := op.Call
	op.Call = func(ctx context.Context, c *engine.Context) (protocol.InferResponse, error) {
		return metered(ctx, c, b, call)
	}
	return nil
}

type inferFunc func(ctx context.Context, c *engine.Context) (protocol.InferResponse, error)

func metered(ctx context.Context, c *engine.Context, b *budget.Tokens, call inferFunc) (protocol.InferResponse, error) {
	asked := uint64(max(0, c.Tokens()))
	r, err := b.Reserve(asked + uint64(c.Params.MaxTokens))
	if err != nil {
		return protocol.InferResponse{}, engine.Stop(protocol.Exit(protocol.ExitBudgetExhausted))
	}
	defer r.Release()
	resp, err := call(ctx, c)
	if err != nil {
		return resp, err
	}
	in, out := resp.Usage.InputTokens, resp.Usage.OutputTokens
	if in == 0 && out == 0 {
		in, out = asked, uint64(max(0, c.Count(resp.ToMessage())))
	}
	r.Record(in, out)
	return resp, nil
}

func (m *meter) check(ctx context.Context, c *engine.Context) error {
	if b := m.budget(ctx); b != nil {
		m.aside(c, b)
	}
	return nil
}

// aside counts what rules asked since the last call.
func (m *meter) aside(c *engine.Context, b *budget.Tokens) {
	s, now := engine.Local[seen](c, m), c.Metrics()
	in, out := now.TokensIn-min(now.TokensIn, s.in), now.TokensOut-min(now.TokensOut, s.out)
	*s = seen{now.TokensIn, now.TokensOut}
	if !c.Replays() && (in > 0 || out > 0) {
		b.Spend(in, out)
	}
}

// expect remembers that an answer, which is about to get into the metrics, was counted.
func (m *meter) expect(_ context.Context, c *engine.Context) error {
	if op, ok := c.Current().(*engine.Response); ok {
		s := engine.Local[seen](c, m)
		s.in += op.Response.Usage.InputTokens
		s.out += op.Response.Usage.OutputTokens
	}
	return nil
}
