package rule

import (
	"context"
	"slices"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
)

// The priorities of the rules.
const (
	PriorityBudget    = 100
	PriorityLoop      = 60
	PriorityTelemetry = 0
	priorityRemind    = -50 // behind what changes the conversation before a model call
	priorityLast      = -100
)

// Budget ends runs that reach a limit: as budget_exhausted, max_turns or timeout, by the comparisons and in the order of
// engine.Limits.Reached. What is zero in limits bounds nothing. It adds to the limits of the agent and takes none away.
//
// It looks before everything that happens in a run, and behind each call of a tool. Where a run is about to end by itself, also
// beyond a limit, it ends as it would have: the last answer is not lost. An answer with calls is none, so at the limit of turns or
// money its calls are not made. Of an answer with more calls than are left, those within the limit are made; the model is told
// that the others are not.
//
// At more than 80 % of a limit, and at the limit, observers are told once; see engine.Gauge.
func Budget(limits engine.Limits) []engine.Rule {
	g := &guard{limits}
	return []engine.Rule{
		engine.BeforeAny("budget", PriorityBudget, engine.OpFunc("budget", g.before)),
		engine.After(engine.OpExecuteTool, "budget", PriorityBudget, engine.OpFunc("budget", g.behindCall)),
		engine.Before(engine.OpInfer, "budget", priorityLast, engine.OpFunc("budget", g.before)),
	}
}

// StepLimit ends runs as budget_exhausted that have made n calls of tools; see Budget.
func StepLimit(n uint32) []engine.Rule { return Budget(engine.Limits{MaxToolCalls: n}) }

type guard struct{ limits engine.Limits }

func (g *guard) before(ctx context.Context, c *engine.Context) error {
	g.read(ctx, c)
	switch op := c.Current().(type) {
	case *engine.Response: // it is paid, so it is taken in
		return nil
	case *engine.ExitCheck:
		if op.Reason != nil { // over anyway
			return nil
		}
	case *engine.ToolCall:
		return g.beforeCall(c, op)
	}
	return stop(c, g.limits)
}

const tooManyCalls = "The call was not made: the run has reached its limit of tool calls."

func (g *guard) beforeCall(c *engine.Context, op *engine.ToolCall) error {
	if err := stop(c, g.otherThanCalls()); err != nil {
		return err
	}
	if g.limits.MaxToolCalls > 0 && c.Metrics().ToolCalls >= g.limits.MaxToolCalls && !op.Skipped {
		op.Skip(tooManyCalls, true) // those before it are still to be made
	}
	return nil
}

// behindCall stops the calls that follow. Their number does not: they were counted before the first was made.
func (g *guard) behindCall(ctx context.Context, c *engine.Context) error {
	g.read(ctx, c)
	if slices.ContainsFunc(c.Effects(), isHandoff) { // over anyway
		return nil
	}
	return stop(c, g.otherThanCalls())
}

func isHandoff(e protocol.Effect) bool { return e.Kind() == protocol.KindHandoff }

func (g *guard) otherThanCalls() engine.Limits {
	l := g.limits
	l.MaxToolCalls = 0
	return l
}

func stop(c *engine.Context, l engine.Limits) error {
	m := c.Metrics()
	_, asks := c.Current().(*engine.Infer)
	if c.Replays() || m.Turns == 0 && !asks { // it may still have a log to go through
		l.MaxDuration = 0
	}
	if reason, reached := l.Reached(m, c.Elapsed()); reached {
		return engine.Stop(reason)
	}
	return nil
}

func (g *guard) read(ctx context.Context, c *engine.Context) {
	gauge := engine.Local[engine.Gauge](c, g)
	gauge.Limits, gauge.LimitsOnly = g.limits, true
	gauge.Workflow = protocol.WorkflowID(string(c.Operator()) + "/" + protocol.InvocationFrom(ctx).Instance)
	gauge.Read(c)
}
