package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/budget"
	"github.com/skelegent/skelegent-go/actors/engine"
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
	defer r.c.End()
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
	end := r.loop(ctx, in)
	if end.err != nil {
		return protocol.OperatorOutput{}, end.err
	}
	return r.result(end), nil
}

// loop goes on until the run ends. A panic, of the provider or of a rule for instance, ends it as failed.
func (r *run) loop(ctx context.Context, in protocol.OperatorInput) (end *stop) {
	defer func() {
		if v := recover(); v != nil {
			end = r.crashed(v)
		}
	}()
	end = r.assemble(ctx, in)
	for end == nil {
		end = r.turn(ctx)
	}
	return end
}

// crashed returns how the run stops on a panic. It must be called by the function that recovered.
func (r *run) crashed(v any) *stop {
	r.log.Error("run panicked", zap.String("type", fmt.Sprintf("%T", v)), zap.ByteString("stack", debug.Stack()))
	err := protocol.NewError(protocol.CodeInternal, "the run panicked; see the log")
	return r.giveUp(r.log, err, protocol.Exit(protocol.ExitError))
}

// run is one input on its way through the loop.
type run struct {
	cfg    *Config
	single bool
	inv    *protocol.Invocation
	events protocol.EventSink
	sink   func(protocol.StreamEvent)
	log    *zap.Logger
	// durable says that the run has a log; see durable.go.
	durable bool

	session  *protocol.SessionID
	tools    *tool.Registry // of the turn
	registry *tool.Registry
	version  uint64   // of the registry, when tools was made
	allowed  []string // the names that the input allows; nil where it says nothing
	bounds   bounds
	// budget is what is left of that of a durable run, nil for no limit; allowance what it was for this run, once known.
	budget    func() *protocol.Decimal
	allowance *protocol.Decimal
	account   *budget.Account // that the caller shares with others; nil if he does not
	inbox     *Inbox
	gauge     engine.Gauge

	c        *engine.Context
	output   *output
	retries  uint32 // of a structured output that did not fit
	start    time.Time
	failures uint32         // of tools, in a row
	rejected map[string]int // how often a tool's input was answered with its schema
	aside    bool           // a rule asks: what comes is no part of the answer
	squeezed bool           // the last model call had fewer tokens than it should, for want of money
}

func (a *Agent) begin(ctx context.Context, in protocol.OperatorInput) (*run, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	inv := protocol.InvocationFrom(ctx)
	r := &run{
		cfg: &a.cfg, single: a.single, inv: inv, session: in.Session, registry: a.tools, output: a.output,
		start: a.cfg.Now(), rejected: map[string]int{}, inbox: inboxFrom(ctx), account: budget.From(ctx),
		budget: func() *protocol.Decimal { return nil }, bounds: a.bounds(in.Config, inv.Budget),
		log: a.log.With(zap.String("operator", cmp.Or(string(inv.Operator), a.cfg.Name)),
			zap.String("run_id", string(inv.Run))),
	}
	r.observe(ctx)
	model := a.cfg.Model
	if c := in.Config; c != nil {
		if c.Model != nil && *c.Model != "" {
			model = *c.Model
		}
		if c.AllowedOperators != nil {
			r.allowed = c.AllowedOperators
		}
	}
	again := false // observers were told how the conversation begins
	if info, durable := step.InfoFrom(ctx); durable {
		r.durable, r.start, again = true, info.Since, info.Attempt > 1
		r.budget, r.bounds = info.Left, a.bounds(in.Config, nil)
	}
	if r.limited() && !a.cfg.priced(model) {
		return nil, noPrice(model)
	}
	r.c = engine.New(engine.Config{
		Operator: protocol.OperatorID(cmp.Or(string(inv.Operator), a.cfg.Name)), Rules: a.cfg.Rules, Watchers: a.cfg.Watchers,
		Start: r.start, Now: a.cfg.Now, Events: r.observed(), Ask: r.askFor, Count: a.cfg.Count,
		Params: engine.Params{
			Model: model, MaxTokens: a.cfg.MaxTokens, Temperature: a.cfg.Temperature, ToolChoice: a.cfg.ToolChoice, Options: a.cfg.Options,
		},
	})
	r.gauge = engine.Gauge{Limits: r.bounds.limits(), Workflow: protocol.WorkflowID(string(r.c.Operator()) + "/" + inv.Instance)}
	r.c.Replaying(again)
	return r, nil
}

// limited reports whether money is.
func (r *run) limited() bool {
	return r.bounds.cost != nil || r.budget() != nil || r.account != nil && r.account.Left() != nil
}

// assemble puts the conversation together that the model is asked to go on with.
func (r *run) assemble(ctx context.Context, in protocol.OperatorInput) *stop {
	system := r.cfg.System
	if r.cfg.SystemFunc != nil {
		var err error
		if system, err = r.cfg.SystemFunc(ctx, in); err != nil {
			return &stop{err: protocol.ErrContextAssembly(err)}
		}
	}
	if c := in.Config; c != nil && c.SystemAddendum != nil && *c.SystemAddendum != "" {
		system = addTo(system, *c.SystemAddendum)
	}
	var ops []engine.Op
	if system != "" {
		ops = append(ops, engine.InjectSystem{Text: system})
	}
	ops = append(ops, r.cfg.Assemble...)
	var said []protocol.Message
	if info, durable := step.InfoFrom(ctx); durable {
		said = history(info.History)
	}
	said = append(append(said, in.Context...), protocol.NewMessage(protocol.RoleUser, in.Message))
	ops = append(ops, engine.InjectMessages{Messages: said})
	for _, op := range ops {
		if end := r.do(ctx, op); end != nil {
			return end
		}
	}
	return nil
}

func addTo(system, addendum string) string {
	if system == "" {
		return addendum
	}
	return system + "\n\n" + addendum
}

func (r *run) elapsed() time.Duration { return r.cfg.Now().Sub(r.start) }

// do runs an op with its rules, and returns how the run stops if it does.
func (r *run) do(ctx context.Context, op engine.Op) *stop { return r.stopped(ctx, r.c.Run(ctx, op)) }

// stopped returns how the run stops on the error of an op or a rule.
func (r *run) stopped(ctx context.Context, err error) *stop {
	if err == nil {
		return nil
	}
	var end *stop
	var exit *engine.ExitError
	switch {
	case errors.As(err, &end):
		return end
	case step.Unwinding(err):
		return &stop{err: err}
	case errors.As(err, &exit):
		return &stop{exit: exit.Reason, message: exit.Message}
	}
	if end := ended(ctx); end != nil {
		return end
	}
	e := protocol.AsError(err)
	if end := halted(e); end != nil {
		return end
	}
	return r.giveUp(r.log.With(zap.String("code", string(e.Code))), err, protocol.Exit(protocol.ExitError))
}

// turn asks the model once and does what it asks for. It returns nil if another turn should follow.
func (r *run) turn(ctx context.Context) *stop {
	at := step.Next(ctx)
	known, err := at.Known(ctx)
	if err != nil {
		return r.broken(ctx, err)
	}
	r.c.Replaying(known)
	if end := r.mustStop(ctx, true, known, known); end != nil {
		return end
	}
	if end := r.hear(ctx, at); end != nil {
		return end
	}
	r.offer()
	ask := &engine.Infer{Call: func(ctx context.Context, _ *engine.Context) (protocol.InferResponse, error) {
		return r.ask(ctx, at, modelStep, r.request())
	}}
	if end := r.do(ctx, ask); end != nil {
		return end
	}
	answer := &engine.Response{Response: ask.Response}
	answer.Response.ToolCalls = r.repair(answer.Response)
	if end := r.do(ctx, answer); end != nil {
		return end
	}
	r.gauge.Read(r.c)
	return r.decide(ctx, answer.Response)
}

// decide does what an answer asks for.
func (r *run) decide(ctx context.Context, resp protocol.InferResponse) *stop {
	said := resp.Content
	if said.IsZero() {
		said = protocol.TextContent("")
	}
	var end *stop
	calls := len(resp.ToolCalls) > 0 && !r.single
	switch {
	case resp.StopReason == protocol.StopContentFilter: // also with calls: what a filter cut is not acted on
		end = &stop{exit: protocol.SafetyStop(contentFiltered), message: &said}
	case resp.StopReason == protocol.StopMaxTokens && r.squeezed && !calls:
		end = &stop{exit: protocol.Exit(protocol.ExitBudgetExhausted), message: &said}
	case r.output != nil:
		return r.produce(ctx, resp, &said)
	case calls:
	case resp.StopReason == protocol.StopMaxTokens:
		end = &stop{exit: ExitTruncated, message: &said}
	default:
		end = &stop{exit: protocol.Exit(protocol.ExitComplete), message: &said}
	}
	return r.finish(ctx, resp, end, &said)
}

// finish lets the rules look at whether the run ends here, and makes the calls if it does not.
func (r *run) finish(ctx context.Context, resp protocol.InferResponse, end *stop, said *protocol.Content) *stop {
	if end := r.check(ctx, end); end != nil {
		return end
	}
	return r.useTools(ctx, resp.ToolCalls, said)
}

// check lets the rules look at whether the run ends here, and returns how it does.
func (r *run) check(ctx context.Context, end *stop) *stop {
	check := &engine.ExitCheck{}
	if end != nil {
		check.Reason = &end.exit
	}
	if halted := r.do(ctx, check); halted != nil {
		return halted
	}
	return end
}

const contentFiltered = "content filter triggered"

func (r *run) result(end *stop) protocol.OperatorOutput {
	m := r.c.Metrics()
	out := protocol.OperatorOutput{
		Message: protocol.TextContent(r.c.LastText()), ExitReason: end.exit, Effects: r.c.Effects(),
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
