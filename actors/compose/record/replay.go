package record

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// What differs between a run and its replay.
const (
	DiffModel     = "model"     // the model was asked another number of times
	DiffCall      = "call"      // a call was made that was not, or the other way round
	DiffArguments = "arguments" // a tool got another input
	DiffResult    = "result"    // the model was told something else, by a rule
	DiffEnd       = "end"       // the run ended otherwise
	DiffAnswer    = "answer"    // the output's message is another
)

// Difference is the first thing that a replay did otherwise than the run.
type Difference struct {
	// Turn counts from 1; behind the last turn it is that number and one. CallID and Tool are of a call.
	Turn   int    `json:"turn"`
	What   string `json:"what"`
	CallID string `json:"call_id,omitempty"`
	Tool   string `json:"tool,omitempty"`
	// Want is what the record has, Got what came, in full.
	Want string `json:"want"`
	Got  string `json:"got"`
}

// String says it in a line, in full.
func (d *Difference) String() string {
	at := fmt.Sprintf("turn %d, %s", d.Turn, d.What)
	if d.CallID != "" {
		at += fmt.Sprintf(" of %s (%s)", d.Tool, d.CallID)
	}
	return fmt.Sprintf("%s: want %s, got %s", at, d.Want, d.Got)
}

// Replay has an agent of cfg do the task again, with the recorded answers in place of the model and the recorded results in place
// of the tools, which are not called. It returns the first difference, nil if there is none.
//
// cfg.Provider is not asked and may be nil. Where it is, and there are no Tools and no Registry, the agent has the tools that the
// record names. Its rules, limits and Assemble are used as they are. It does not wait, asks no person (what one decided is in the record), streams nothing, and
// needs no log. The error says that the record or cfg cannot be used, or that ctx has ended.
func Replay(ctx context.Context, run *Run, cfg agent.Config) (*Difference, error) {
	if err := run.Validate(); err != nil {
		return nil, err
	}
	if _, durable := step.InfoFrom(ctx); durable {
		return nil, protocol.NewError(protocol.CodeUnsupported, "a replay cannot be part of a durable run")
	}
	p := &player{run: run, ops: map[string]*engine.ToolCall{}}
	cfg, err := p.config(cfg)
	if err != nil {
		return nil, err
	}
	a, err := agent.New(cfg)
	if err != nil {
		return nil, err
	}
	out, err := a.Execute(p.invoked(ctx), run.Task)
	if ctx.Err() != nil {
		return nil, protocol.AsError(context.Cause(ctx))
	}
	return p.finish(out, err), nil
}

// invoked is ctx with an invocation, whose run makes the keys of the calls.
func (p *player) invoked(ctx context.Context) context.Context {
	inv := &protocol.Invocation{
		Call: protocol.Call{Run: replayRun}, Operator: p.run.Operator, Instance: replayRun,
		Events: protocol.InvocationFrom(context.Background()).Events, // nobody
	}
	if s := p.run.Task.Session; s != nil {
		inv.Instance = string(*s)
	}
	if inv.Operator == "" {
		inv.Operator = "replay"
	}
	return protocol.WithInvocation(ctx, inv)
}

// config is cfg with the record in place of the world.
func (p *player) config(cfg agent.Config) (agent.Config, error) {
	registry, err := p.tools(cfg)
	if err != nil {
		return cfg, err
	}
	cfg.Tools, cfg.Registry = nil, registry
	cfg.Provider = p
	cfg.Rules = slices.Concat(p.rules(), cfg.Rules)
	cfg.ResultText, cfg.ErrorText = p.resultText, p.errorText
	cfg.MaxResultText, cfg.HandoffTargets, cfg.NoStream = math.MaxInt, nil, true
	cfg.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	if cfg.Model == "" {
		cfg.Model = p.run.Model
	}
	return cfg, nil
}

func (p *player) rules() []engine.Rule {
	const name = "replay"
	return []engine.Rule{
		engine.Before(engine.OpInfer, name, math.MinInt, on(func(op *engine.Infer) { op.Call = bracket(op.Call, p.asks) })),
		engine.Before(engine.OpExecuteTool, name, math.MinInt, engine.OpFunc(name, func(_ context.Context, c *engine.Context) error {
			if op, ok := c.Current().(*engine.ToolCall); ok {
				p.decide(op, c.Metrics().ToolCalls+1)
			}
			return nil
		})),
		engine.After(engine.OpExecuteTool, name, math.MaxInt, engine.OpFunc(name, func(_ context.Context, c *engine.Context) error {
			if op, ok := c.Current().(*engine.ToolCall); ok {
				return p.compare(op)
			}
			return nil
		})),
	}
}

// finish compares how it ended.
func (p *player) finish(out protocol.OperatorOutput, err error) *Difference {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allMade()
	p.allAsked()
	switch {
	case p.diff != nil:
	case err != nil && p.run.Error == nil:
		p.differs(&Difference{What: DiffEnd, Want: p.run.ExitReason.String(), Got: "the error " + string(protocol.CodeOf(err))})
	case err == nil && p.run.Error != nil:
		p.differs(&Difference{What: DiffEnd, Want: "the error " + string(p.run.Error.Code), Got: out.ExitReason.String()})
	case err != nil:
		if got := protocol.CodeOf(err); got != p.run.Error.Code {
			p.differs(&Difference{What: DiffEnd, Want: "the error " + string(p.run.Error.Code), Got: "the error " + string(got)})
		}
	case out.ExitReason.String() != p.run.ExitReason.String():
		p.differs(&Difference{What: DiffEnd, Want: p.run.ExitReason.String(), Got: out.ExitReason.String()})
	case !out.Message.Equal(p.run.FinalAnswer) && (!out.Message.IsZero() || !p.run.FinalAnswer.IsZero()):
		p.differs(&Difference{What: DiffAnswer, Want: shown(p.run.FinalAnswer), Got: shown(out.Message)})
	}
	return p.diff
}

// shown is a content in words.
func shown(c protocol.Content) string {
	raw, err := protocol.Marshal(c)
	if err != nil {
		return "something that has no JSON"
	}
	return string(raw)
}
