// Package effect is how effects are performed: the Executor interface for those of your own, and the built-in ones.
//
//	operator output -> skg.effect.<family>... -> executor actor -> Executor.Perform
//	                                                   |
//	                                                   +-> ledger: skg.log.<operator>.<instance>.done.<family>
//
// The node runs one actor for each family of effects it has an Executor for. That actor, not the Executor, sees to it that an
// effect is performed once, in order, retried where that is safe, recorded, and put among the dead letters when it fails.
// An Executor only acts.
package effect

import (
	"cmp"
	"context"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// Request is one effect to perform.
type Request struct {
	// ID is the idempotency key: the same for every attempt, different for every other effect.
	ID       string
	Operator protocol.OperatorID
	Instance string
	Run      protocol.RunID
	// Effect is what to do.
	Effect protocol.Effect
	// Attempt counts from 1.
	Attempt int
	// Order says where the effect stands among all of its family.
	Order Order
	// Depth and Trace are those of the run.
	Depth int
	Trace string
	// Budget is the USD that a run dispatched for the effect may spend; nil is no limit.
	Budget *protocol.Decimal
	// Inboxes are who waits for the answer of the operator that a handoff names.
	Inboxes []string
}

// Order is the place of an effect among those of its family, as the stream of effects has them.
type Order struct {
	Stream   int64  `json:"stream"`   // when the stream was made, in nanoseconds: a new one counts from 1 again
	Seq      uint64 `json:"seq"`      // of the message
	Position int    `json:"position"` // in the message, from 1
}

// Before reports whether o comes before p.
func (o Order) Before(p Order) bool {
	return cmp.Or(cmp.Compare(o.Stream, p.Stream), cmp.Compare(o.Seq, p.Seq), cmp.Compare(o.Position, p.Position)) < 0
}

// Executor performs effects of one family.
type Executor interface {
	// Perform acts and returns nil when it is done. A retryable *protocol.Error says that nothing was done and
	// another attempt may succeed; one with code timeout, or that of an ended ctx, that the outcome is unknown; any
	// other error that the effect failed for good. Safe for concurrent use if Options.Concurrency is above 1.
	Perform(ctx context.Context, r Request) error
}

// Func is a function as an Executor.
type Func func(ctx context.Context, r Request) error

// Perform calls f.
func (f Func) Perform(ctx context.Context, r Request) error { return f(ctx, r) }

// Settler is an Executor that can find out whether an effect was performed, when another executor died while
// performing it.
type Settler interface {
	// Settle reports whether r was performed by a message that the log stored after sequence since.
	Settle(ctx context.Context, r Request, since uint64) (bool, error)
}

// Options say how the effects of a family are performed. The zero value is safe for anything.
type Options struct {
	// Idempotent says that performing an effect again with the same ID does no harm. Then a crash in the middle leads to
	// another attempt; otherwise to the outcome unknown.
	Idempotent bool
	// Concurrency is how many requests of the family are worked on at a time in the whole cluster; 8 if 0. With 1 they are
	// performed in the order in which they were accepted.
	Concurrency int
	// Attempts is how often an effect is tried before it counts as failed; 5 if 0, for ever if negative.
	Attempts int
	// Backoff is the pause after the first failed attempt; it doubles up to a minute. 500 ms if 0. A longer
	// RetryAfter of the error wins.
	Backoff time.Duration
	// Timeout bounds one attempt; 30 s if 0.
	Timeout time.Duration
}

// maxBackoff caps the pause between attempts.
const maxBackoff = time.Minute

// WithDefaults returns o with every zero field filled in.
func (o Options) WithDefaults() Options {
	if o.Concurrency <= 0 {
		o.Concurrency = 8
	}
	if o.Attempts == 0 {
		o.Attempts = 5
	}
	if o.Backoff <= 0 {
		o.Backoff = 500 * time.Millisecond
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	return o
}

// Delay returns the pause after failed attempt n, counted from 1, without jitter.
func (o Options) Delay(n int, err error) time.Duration {
	d := o.Backoff
	for range n - 1 {
		if d *= 2; d >= maxBackoff {
			d = maxBackoff
			break
		}
	}
	if e := protocol.AsError(err); e != nil && e.RetryAfter > d {
		d = min(e.RetryAfter, 10*maxBackoff)
	}
	return d
}
