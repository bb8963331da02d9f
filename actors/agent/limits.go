package agent

import (
	"context"
	"errors"
	"time"

	"github.com/shopspring/decimal"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/protocol"
)

// What applies where Limits are zero.
const (
	DefaultMaxTurns               = 10
	DefaultMaxConsecutiveFailures = 3
)

// Limits bound one run. Reaching one ends it with an output that says so, not with an error.
type Limits struct {
	// MaxTurns is the number of model calls that were answered; DefaultMaxTurns if 0.
	MaxTurns uint32
	// MaxCost is in USD and includes what tools spent; nil is no limit. Nothing is begun once more was spent, so a run can
	// exceed it by what one model or tool call costs. It needs a provider that knows the price of the model.
	MaxCost *protocol.Decimal
	// MaxDuration also ends a model or tool call that is under way; 0 is no limit.
	MaxDuration time.Duration
	// MaxToolCalls counts every call that was begun, also those of tools that do not exist; 0 is no limit.
	MaxToolCalls uint32
	// MaxConsecutiveFailures is how many failures in a row end the run, of model calls and of tool calls each;
	// DefaultMaxConsecutiveFailures if 0.
	MaxConsecutiveFailures uint32
}

func (l Limits) withDefaults() Limits {
	if l.MaxTurns == 0 {
		l.MaxTurns = DefaultMaxTurns
	}
	if l.MaxConsecutiveFailures == 0 {
		l.MaxConsecutiveFailures = DefaultMaxConsecutiveFailures
	}
	return l
}

// bounds are the limits of one run, where a zero that was asked for is one and nil is none.
type bounds struct {
	turns    uint32
	failures uint32
	calls    *uint32
	duration *time.Duration
	cost     *decimal.Decimal
}

// bounds puts together the agent's own limits, the overrides of an input (nil for none), the budget of the call (nil for
// none) and the ceiling.
func (a *Agent) bounds(over *protocol.OperatorConfig, budget *protocol.Decimal) bounds {
	own := a.cfg.Limits
	b := bounds{
		turns: own.MaxTurns, failures: own.MaxConsecutiveFailures,
		calls: some(own.MaxToolCalls), duration: some(own.MaxDuration),
	}
	if own.MaxCost != nil {
		b.cost = &own.MaxCost.Decimal
	}
	if over != nil {
		if over.MaxTurns != nil {
			b.turns = *over.MaxTurns
		}
		if over.MaxDuration != nil {
			b.duration = new(over.MaxDuration.Duration())
		}
		if over.MaxCost != nil {
			b.cost = &over.MaxCost.Decimal
		}
	}
	if c := a.cfg.Ceiling; c != nil {
		b.turns = *smaller(&b.turns, some(c.MaxTurns))
		b.failures = *smaller(&b.failures, some(c.MaxConsecutiveFailures))
		b.calls = smaller(b.calls, some(c.MaxToolCalls))
		b.duration = smaller(b.duration, some(c.MaxDuration))
		b.cost = cheaper(b.cost, c.MaxCost)
	}
	b.cost = cheaper(b.cost, budget)
	return b
}

// some returns nil for 0.
func some[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

func smaller[T ~uint32 | ~int64](a, b *T) *T {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

func cheaper(a *decimal.Decimal, b *protocol.Decimal) *decimal.Decimal {
	if b == nil || a != nil && a.LessThanOrEqual(b.Decimal) {
		return a
	}
	return &b.Decimal
}

// limits are the bounds as observers are told of them.
func (b bounds) limits() engine.Limits {
	l := engine.Limits{MaxTurns: b.turns}
	if b.calls != nil {
		l.MaxToolCalls = *b.calls
	}
	if b.duration != nil {
		l.MaxDuration = *b.duration
	}
	if b.cost != nil {
		l.MaxCost = &protocol.Decimal{Decimal: *b.cost}
	}
	return l
}

// errMaxDuration is the cause by which the run's own limit is told from the caller's deadline.
var errMaxDuration = errors.New("max duration reached")

// stop says that the run ends: with an error, or with an output for the reason. It is itself an error, so that ops can return it.
type stop struct {
	err     error
	exit    protocol.ExitReason
	message *protocol.Content // nil is the last text of the model
}

func (s *stop) Error() string { return "the run ends" }

// As lets rules see how a model call that they asked for would end the run.
func (s *stop) As(target any) bool {
	if x, ok := target.(**engine.ExitError); ok && s.err == nil {
		*x = &engine.ExitError{Reason: s.exit, Message: s.message}
		return true
	}
	return false
}

// limit reports whether the run ends as one for which a person's approval would come first.
func (s *stop) limit() bool {
	kind := s.exit.Kind()
	return s.err == nil && (kind == protocol.ExitBudgetExhausted || kind == protocol.ExitTimeout)
}

// Unwrap returns the error that the run ends with, if any.
func (s *stop) Unwrap() error { return s.err }

func exit(kind protocol.ExitKind) *stop { return &stop{exit: protocol.Exit(kind)} }

// ended returns how the run stops if ctx has ended, else nil.
func ended(ctx context.Context) *stop {
	if ctx.Err() == nil {
		return nil
	}
	cause := context.Cause(ctx)
	if errors.Is(cause, errMaxDuration) {
		return exit(protocol.ExitTimeout)
	}
	var coded *protocol.Error
	if errors.As(cause, &coded) {
		return &stop{err: coded}
	}
	return &stop{err: protocol.AsError(ctx.Err()).Because(cause)}
}

// mustStop returns how the run stops before another turn or tool call, nil if it need not. The order of the checks is the
// specification's. Time does not stop a durable run before what its log already knows, nor does its budget before what it has
// paid for.
func (r *run) mustStop(ctx context.Context, turn, known, paid bool) *stop {
	end := ended(ctx)
	if end != nil && end.err != nil { // nobody waits for an output
		return end
	}
	switch {
	case turn && r.c.Metrics().Turns >= r.bounds.turns:
		return exit(protocol.ExitMaxTurns)
	case r.spent(turn, paid):
		return exit(protocol.ExitBudgetExhausted)
	case !known && r.late():
		return exit(protocol.ExitTimeout)
	}
	return end
}

// late reports whether the time is over. In a durable run nothing else watches it between steps.
func (r *run) late() bool {
	if r.bounds.duration == nil {
		return false
	}
	elapsed := r.elapsed()
	return elapsed > *r.bounds.duration || r.durable && elapsed == *r.bounds.duration
}

// timed bounds what a step of a durable run does by the time that is left. A step that the log knows in part is replayed
// also where none is.
func (r *run) timed(ctx context.Context, known bool) (context.Context, context.CancelFunc) {
	if r.bounds.duration == nil || known && r.late() {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, *r.bounds.duration-r.elapsed(), errMaxDuration)
}

// outOfTime returns how a durable run stops whose step was interrupted.
func (r *run) outOfTime(ctx context.Context) *stop {
	if end := r.mustStop(ctx, true, false, false); end != nil {
		return end
	}
	return exit(protocol.ExitTimeout)
}

// spent reports whether no more money, or for another turn no more tool calls, are left. Money whose amount is not known is too much for any limit.
// The budget of a durable run is what is left now, so it does not count for what is paid.
func (r *run) spent(turn, paid bool) bool {
	m := r.c.Metrics()
	if turn && r.bounds.calls != nil && m.ToolCalls >= *r.bounds.calls {
		return true
	}
	if r.bounds.cost != nil && (m.UnpricedCalls > 0 || m.Cost.GreaterThan(*r.bounds.cost)) {
		return true
	}
	return !paid && r.budget() != nil && (m.UnpricedCalls > 0 || r.overBudget())
}

// overBudget reports whether the budget of a durable run is used up. As with every limit, a run that spent exactly as much
// may go on, where it is known that it did: what is left is never less than nothing.
func (r *run) overBudget() bool {
	left, spent := r.budget(), r.c.Metrics().Cost
	if r.allowance == nil && (left.IsPositive() || spent.IsZero()) {
		r.allowance = &protocol.Decimal{Decimal: spent.Add(left.Decimal)}
	}
	return !left.IsPositive() && (r.allowance == nil || !spent.Equal(r.allowance.Decimal))
}

// left returns the money that the next calls may spend, nil if there is no limit.
func (r *run) left() *protocol.Decimal {
	left := r.budget()
	if r.account != nil {
		if shared := r.account.Left(); shared != nil && (left == nil || shared.LessThan(left.Decimal)) {
			left = shared
		}
	}
	if r.bounds.cost == nil {
		return left
	}
	own := decimal.Max(decimal.Zero, r.bounds.cost.Sub(r.c.Metrics().Cost.Decimal))
	if left != nil && left.LessThan(own) {
		return left
	}
	return &protocol.Decimal{Decimal: own}
}
