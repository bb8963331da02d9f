package agent

import (
	"cmp"
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// ExitTruncated is how a run ends whose last answer was cut at MaxTokens. The specification's exit reasons have none for
// it, and it is not complete.
var ExitTruncated = protocol.CustomExit("truncated")

// Execute runs the loop for one input:
//
//	limits? -> model call -> no tool calls: done
//	   ^                  -> a call needs approval: stop and ask
//	   '--- tool calls <--'
//
// Limits, failures after the first answered model call, and refusals give an output with the exit reason. The error is a
// *protocol.Error: invalid_input before anything was done, the provider's before anything was paid, and timeout or
// cancelled when ctx ends. In a durable run it may be one by which the run unwinds; see step.Unwinding.
func (a *Agent) Execute(ctx context.Context, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	r, err := a.begin(ctx, in)
	if err != nil {
		return protocol.OperatorOutput{}, err
	}
	if r.inv.Operator == "" { // outside a node
		named := *r.inv
		named.Operator, named.Events = protocol.OperatorID(a.cfg.Name), r.events
		ctx = protocol.WithInvocation(ctx, &named)
	}
	if r.bounds.duration != nil && !r.durable {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, *r.bounds.duration, errMaxDuration)
		defer cancel()
	}
	end := r.loop(ctx)
	if end.err != nil {
		return protocol.OperatorOutput{}, end.err
	}
	return r.output(end), nil
}

// run is one input on its way through the loop.
type run struct {
	cfg    *Config
	single bool
	inv    *protocol.Invocation
	events protocol.EventSink
	stream bool
	log    *zap.Logger
	// durable says that the run has a log; see durable.go.
	durable bool

	session *protocol.SessionID
	model   string
	tools   *tool.Registry
	schemas []protocol.ToolSchema
	bounds  bounds
	// budget is what is left of that of a durable run, nil for no limit; allowance what it was for this run, once known.
	budget    func() *protocol.Decimal
	allowance *protocol.Decimal

	conv     Context
	start    time.Time
	failures uint32            // of tools, in a row
	rejected map[string]uint32 // how often a tool's input was answered with its schema
}

func (a *Agent) begin(ctx context.Context, in protocol.OperatorInput) (*run, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	inv := protocol.InvocationFrom(ctx)
	r := &run{
		cfg: &a.cfg, single: a.single, inv: inv, session: in.Session, model: a.cfg.Model, tools: a.tools,
		conv: Context{system: a.cfg.System}, start: a.cfg.Now(), rejected: map[string]uint32{},
		budget: func() *protocol.Decimal { return nil }, bounds: a.bounds(in.Config, inv.Budget),
		log: a.log.With(zap.String("operator", cmp.Or(string(inv.Operator), a.cfg.Name)),
			zap.String("run_id", string(inv.Run))),
	}
	r.events, r.stream = observers(inv)
	r.stream = r.stream && !a.cfg.NoStream
	if c := in.Config; c != nil {
		if c.Model != nil && *c.Model != "" {
			r.model = *c.Model
		}
		if c.AllowedOperators != nil {
			r.tools = a.tools.Only(c.AllowedOperators)
		}
		if c.SystemAddendum != nil && *c.SystemAddendum != "" {
			r.conv.system = addTo(a.cfg.System, *c.SystemAddendum)
		}
	}
	if info, durable := step.InfoFrom(ctx); durable {
		r.durable, r.start = true, info.Since
		r.budget, r.bounds = info.Left, a.bounds(in.Config, nil)
		r.conv.Append(history(info.History)...)
	}
	if (r.bounds.cost != nil || r.budget() != nil) && !a.priced(r.model) {
		return nil, noPrice(r.model)
	}
	r.schemas = r.tools.Schemas()
	r.conv.Append(in.Context...)
	r.conv.Append(protocol.NewMessage(protocol.RoleUser, in.Message))
	return r, nil
}

func addTo(system, addendum string) string {
	if system == "" {
		return addendum
	}
	return system + "\n\n" + addendum
}

func (r *run) elapsed() time.Duration { return r.cfg.Now().Sub(r.start) }

func (r *run) loop(ctx context.Context) *stop {
	for {
		at := step.Next(ctx)
		known, err := at.Known(ctx)
		if err != nil {
			return r.broken(ctx, err)
		}
		if end := r.mustStop(ctx, true, known); end != nil {
			return end
		}
		resp, end := r.ask(ctx, at)
		if end != nil {
			return end
		}
		if end := r.turn(ctx, resp); end != nil {
			return end
		}
	}
}

// turn takes in an answer and does what it asks for. It returns nil if another turn should follow.
func (r *run) turn(ctx context.Context, resp protocol.InferResponse) *stop {
	resp.ToolCalls = r.repair(resp.ToolCalls)
	r.conv.AppendResponse(resp)
	said := resp.Content
	if said.IsZero() {
		said = protocol.TextContent("")
	}
	switch {
	case resp.StopReason == protocol.StopContentFilter: // also with calls: what a filter cut is not acted on
		return &stop{exit: protocol.SafetyStop(contentFiltered), message: &said}
	case len(resp.ToolCalls) > 0 && !r.single:
		return r.useTools(ctx, resp.ToolCalls, &said)
	case resp.StopReason == protocol.StopMaxTokens:
		return &stop{exit: ExitTruncated, message: &said}
	}
	return &stop{exit: protocol.Exit(protocol.ExitComplete), message: &said}
}

const contentFiltered = "content filter triggered"

func (r *run) output(end *stop) protocol.OperatorOutput {
	m := &r.conv.metrics
	out := protocol.OperatorOutput{
		Message: protocol.TextContent(r.conv.lastText), ExitReason: end.exit, Effects: r.conv.effects,
		Metadata: protocol.OperatorMetadata{
			TokensIn: m.TokensIn, TokensOut: m.TokensOut, Cost: m.Cost, TurnsUsed: m.Turns,
			SubDispatches: m.SubDispatches, Duration: protocol.MillisOf(r.elapsed()), UnpricedCalls: m.UnpricedCalls,
		},
	}
	if end.message != nil {
		out.Message = *end.message
	}
	r.log.Debug("run ended", zap.String("exit", string(end.exit.Kind())), zap.Uint32("turns", m.Turns),
		zap.Uint32("tool_calls", m.ToolCalls), zap.Stringer("cost", m.Cost))
	return out
}
