package agent

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/shopspring/decimal"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// prepared is one call of an answer on its way.
type prepared struct {
	op      *engine.ToolCall
	tool    tool.Tool // nil if there is none of that name
	verdict verdict
	pending bool // a person is asked
	done    bool // there is a result

	// What the call is given when its batch begins.
	at       step.At
	known    bool
	number   uint32 // of the run's calls
	rejected int
	declared protocol.Effects
	budget   *protocol.Decimal
	beside   bool // others of the batch run at the same time

	out outcome
	end *stop // the run has to stop in the middle of it
}

// parallel reports whether the call may run beside others.
func (p *prepared) parallel() bool { return p.tool != nil && p.tool.Metadata().ParallelSafe }

// useTools makes the calls of one answer: first all rules before them, then a person's decision where one is needed, then the
// calls, in batches. It returns nil if the model should see the results, which come in the order of the calls.
func (r *run) useTools(ctx context.Context, calls []protocol.ToolCall, said *protocol.Content, preset ...*engine.ToolCall) *stop {
	r.c.OpenCalls()
	all, end := r.prepare(ctx, calls, preset)
	if end == nil || end.exit.Kind() == protocol.ExitBudgetExhausted { // what came before the limit is still made
		if stopped := r.settleCalls(ctx, all, said); stopped != nil {
			end = stopped
		}
	}
	var results []protocol.Message
	for _, p := range all {
		if p.done {
			m := protocol.ToolResultMessage(p.op.Call.ID, p.op.Call.Name, p.op.Result, p.op.IsError)
			m.Meta.Policy = cmp.Or(p.op.Policy, m.Meta.Policy)
			results = append(results, m)
		}
	}
	if err := r.c.CloseCalls(results...); err != nil && end == nil {
		end = r.stopped(ctx, err)
	}
	r.gauge.Read(r.c)
	return end
}

// approval reports whether a person must decide on the call, and why: since a rule says so, or else its tool.
func (p *prepared) approval() (protocol.ApprovalReason, bool) {
	if reason, asked, waived := p.op.Approval(); asked || waived {
		return reason, asked
	}
	return tool.NeedsApproval(p.tool, p.op.Call.Input)
}

// prepare runs the rules before each call. Those behind the limit are not among the calls that it returns.
func (r *run) prepare(ctx context.Context, calls []protocol.ToolCall, preset []*engine.ToolCall) ([]*prepared, *stop) {
	all := make([]*prepared, 0, len(calls))
	for i, c := range calls {
		if i < len(preset) && preset[i] != nil {
			all = append(all, &prepared{op: preset[i]})
			continue
		}
		if r.bounds.calls != nil && r.c.Metrics().ToolCalls >= *r.bounds.calls {
			return all, exit(protocol.ExitBudgetExhausted)
		}
		p := &prepared{op: &engine.ToolCall{Call: c}}
		if err := r.c.Enter(ctx, p.op); err != nil {
			return nil, r.stopped(ctx, err)
		}
		p.op.Call.ID, p.op.Call.Name = c.ID, c.Name
		p.tool, _ = r.tools.Get(c.Name)
		if !p.op.Skipped {
			r.c.CountCall()
			p.number = r.c.Metrics().ToolCalls
		}
		if !r.durable {
			r.events.Emit(protocol.EventToolCallAssembled, assembled(p.op.Call))
		}
		all = append(all, p)
	}
	return all, nil
}

// settleCalls asks a person where one has to be asked, and makes the calls.
func (r *run) settleCalls(ctx context.Context, all []*prepared, said *protocol.Content) *stop {
	var pending []pendingCall
	for i, p := range all {
		if p.tool == nil || p.op.Skipped {
			continue
		}
		if reason, needed := p.approval(); needed {
			p.pending = true
			pending = append(pending, pendingCall{index: i, call: p.op.Call, reason: reason})
		}
	}
	if len(pending) > 0 && r.cfg.RunSafeCalls {
		if end := r.makeCalls(ctx, all, func(p *prepared) bool { return !p.pending }); end != nil && (r.durable || !end.limit()) {
			return end
		}
	}
	if len(pending) > 0 && !r.durable {
		for _, p := range pending {
			r.c.PushEffect(protocol.ToolApprovalRequired{ToolName: p.call.Name, CallID: p.call.ID, Input: p.call.Input})
		}
		return &stop{exit: protocol.Exit(protocol.ExitAwaitingApproval), message: said}
	}
	verdicts, end := r.approve(ctx, pending, said)
	if end != nil {
		return end
	}
	for i, v := range verdicts {
		all[i].verdict = v
		if v.input != nil {
			all[i].op.Call.Input = v.input
		}
		if v.refusal != "" {
			all[i].op.Skip(v.refusal, true)
		}
	}
	return r.makeCalls(ctx, all, func(*prepared) bool { return true })
}

// makeCalls makes those that are due and not done: consecutive ones that are parallel safe side by side, each other alone.
func (r *run) makeCalls(ctx context.Context, all []*prepared, due func(*prepared) bool) *stop {
	for _, batch := range plan(all, due) {
		if end := r.batch(ctx, batch); end != nil {
			return end
		}
	}
	return nil
}

// plan cuts calls into batches, in their order.
func plan(all []*prepared, due func(*prepared) bool) (batches [][]*prepared) {
	open := false // the last batch may still grow
	for _, p := range all {
		if p.done || !due(p) {
			continue
		}
		if open && p.parallel() {
			batches[len(batches)-1] = append(batches[len(batches)-1], p)
			continue
		}
		batches = append(batches, []*prepared{p})
		open = p.parallel()
	}
	return batches
}

// batch makes calls side by side and takes in what they came to, in their order. Where one has to stop the run before it is
// made, those before it are made.
func (r *run) batch(ctx context.Context, batch []*prepared) *stop {
	batch, end := r.ready(ctx, batch)
	r.share(batch)
	r.together(ctx, batch)
	for _, p := range batch { // one that unwinds leaves the others recorded, but nothing more is taken in
		if p.end != nil {
			return p.end
		}
	}
	var first *stop
	for _, p := range batch {
		if stopped := r.take(ctx, p); stopped.before(first) {
			first = stopped
		}
	}
	return cmp.Or(first, end)
}

// before reports whether the run stops as s says although an earlier call would stop it as other says.
func (s *stop) before(other *stop) bool {
	switch {
	case s == nil || other == nil:
		return s != nil
	case s.err != nil || other.err != nil:
		return other.err == nil
	}
	return s.exit.Kind() == protocol.ExitInterceptorHalt && other.exit.Kind() != protocol.ExitInterceptorHalt
}

// ready gives calls their places in the log and looks at the limits. It returns those that are to be made, or were before a crash,
// and how the run stops where that is not all.
func (r *run) ready(ctx context.Context, batch []*prepared) (due []*prepared, end *stop) {
	begun := false // then there was money for all, and children have some of it
	for _, p := range batch {
		if p.op.Skipped {
			continue
		}
		p.at = step.Next(ctx)
		var err error
		if p.known, err = p.at.Known(ctx); err != nil {
			return nil, r.broken(ctx, err)
		}
		begun = begun || p.known
	}
	for _, p := range batch {
		if !p.op.Skipped {
			p.rejected, p.declared = r.rejected[p.op.Call.Name], r.c.Effects()
			if stopped := r.mustStop(ctx, false, p.known, begun); stopped != nil {
				end = cmp.Or(end, stopped)
				continue
			}
		}
		due = append(due, p)
	}
	r.c.Replaying(begun)
	return due, end
}

// share divides the money that is left among the calls of a batch that spend it; if none says that it does, among all.
func (r *run) share(batch []*prepared) {
	left := r.left()
	if left == nil {
		return
	}
	spenders := 0
	for _, p := range batch {
		if p.spends() {
			spenders++
		}
	}
	for _, p := range batch {
		switch {
		case spenders == 0:
			p.budget = part(left, len(batch))
		case p.spends():
			p.budget = part(left, spenders)
		default:
			p.budget = &protocol.Decimal{}
		}
	}
}

func (p *prepared) spends() bool { return p.tool != nil && !p.op.Skipped && tool.Spends(p.tool) }

// moneyDigits is how finely money is divided: to a millionth of a cent.
const moneyDigits = 8

func part(left *protocol.Decimal, n int) *protocol.Decimal {
	if n == 1 {
		return left
	}
	return &protocol.Decimal{Decimal: left.Div(decimal.NewFromInt(int64(n))).RoundFloor(moneyDigits)}
}

// together makes the calls of a batch, at most MaxParallel at a time, and returns when all are over.
func (r *run) together(ctx context.Context, batch []*prepared) {
	if len(batch) == 1 || r.cfg.MaxParallel == 1 {
		for _, p := range batch {
			r.make(ctx, p)
		}
		return
	}
	var group sync.WaitGroup
	places := make(chan struct{}, r.cfg.MaxParallel)
	for _, p := range batch {
		p.beside = true
		places <- struct{}{} // in the order of the calls
		group.Go(func() {
			defer func() { <-places }()
			r.make(ctx, p)
		})
	}
	group.Wait()
}

func (r *run) make(ctx context.Context, p *prepared) {
	defer func() {
		if v := recover(); v != nil { // in a text of the config's; a tool's is an error
			p.end = r.crashed(v)
		}
	}()
	switch {
	case p.op.Skipped:
	case p.at.Durable():
		r.perform(ctx, p)
	default:
		p.out = r.invoke(ctx, p, r.key(p.number))
	}
}

// take puts what a call came to into the run, and lets the rules behind it see it.
func (r *run) take(ctx context.Context, p *prepared) *stop {
	p.done = true
	if p.op.Skipped {
		return r.stopped(ctx, r.c.Leave(ctx, p.op))
	}
	r.c.Replaying(p.known)
	o, c := p.out, p.op.Call
	r.c.Spend(o.Cost)
	r.c.SpendUnpriced(o.UnpricedCalls)
	r.c.Record(protocol.SubDispatchRecord{Name: c.Name, Duration: o.Duration, Success: o.err == nil})
	p.op.Result, p.op.IsError = o.Text, o.err != nil
	if o.interrupted {
		return r.outOfTime(ctx)
	}
	if o.err == nil {
		if slices.ContainsFunc(r.c.Effects(), isHandoff) { // by one beside it; there is one new owner
			o.Effects = slices.DeleteFunc(slices.Clone(o.Effects), isHandoff)
		}
		r.c.PushEffect(o.Effects...)
	}
	left := r.stopped(ctx, r.c.Leave(ctx, p.op))
	if !r.durable {
		r.events.Emit(protocol.EventToolResultReceived, received(c, p.op.Result, p.op.IsError))
	}
	if left != nil {
		return left
	}
	return r.after(ctx, c, o)
}
