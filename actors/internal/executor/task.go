package executor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/effect"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/protocol"
)

// fate is what becomes of a message after a task.
type fate int

const (
	fateAck  fate = iota // the ledger has it
	fateBack             // give it back: another time, or another executor
	fateDrop             // neither: it is another executor's
)

// verdict is the end of a task.
type verdict struct {
	fate  fate
	delay time.Duration // before a redelivery
}

// Delays before a message is tried again.
const (
	waitDelay     = 200 * time.Millisecond // an earlier message of the instance is missing
	conflictDelay = 100 * time.Millisecond // another executor wrote to the ledger
	troubleDelay  = 2 * time.Second        // the ledger cannot be read or written
)

// perform sees one message through. It ends early when ctx does, and then the message is given back.
func (h *Host) perform(ctx context.Context, r *protocol.EffectRequest, seq, deliveries uint64) verdict {
	log := h.log.With(zap.String("operator", string(r.Operator)), zap.String("instance", r.Instance),
		zap.String("run_id", string(r.Run)), zap.Uint64("m", r.M))
	led, err := h.book.read(ctx, r)
	if err != nil {
		return h.trouble(ctx, log, "read ledger", err)
	}
	if led.kind == protocol.EventEffectActing && led.last.M == r.M && deliveries < led.last.Delivery {
		return verdict{fate: fateDrop} // it is this delivery that was slow: the newer one's owner performs it
	}
	step, from, outcomes, doubtful := led.decide(r.M)
	switch step {
	case stepDone:
		return verdict{fate: fateAck}
	case stepWait:
		return h.wait(ctx, log, r, led, seq, deliveries)
	case stepPerform:
	}
	if h.opts.Idempotent {
		from, outcomes, doubtful = 1, nil, false
	}
	for i := from; i <= len(r.Effects); i++ {
		e := r.Effects[i-1]
		if doubtful {
			doubtful = false
			outcome, settled, err := h.resolve(ctx, r, i, seq, led.seq)
			if err != nil && protocol.IsRetryable(err) {
				return h.trouble(ctx, log, "settle effect", err)
			}
			if err != nil { // it will never be known
				outcome.Error, settled = protocol.AsError(err).Clip(), true
			}
			if settled {
				outcomes = append(outcomes, outcome)
				if err := h.bury(ctx, r, e, outcome); err != nil {
					return h.trouble(ctx, log, "publish dead letter", err)
				}
				continue
			}
		}
		if !h.opts.Idempotent {
			if led, err = h.book.write(ctx, led, protocol.EventEffectActing, r, deliveries, i, outcomes); err != nil {
				return h.trouble(ctx, log, "record effect", err)
			}
		}
		outcome, back := h.act(ctx, r, i, seq)
		if back {
			return h.release(log, led, r, deliveries, i, outcomes) //nolint:contextcheck // it must get through although ctx has ended
		}
		outcomes = append(outcomes, outcome)
		if err := h.insist(ctx, log, "publish dead letter", func(ctx context.Context) error { return h.bury(ctx, r, e, outcome) }); err != nil {
			return h.trouble(ctx, log, "publish dead letter", err)
		}
		if ctx.Err() != nil && i < len(r.Effects) {
			return h.release(log, led, r, deliveries, i+1, outcomes) //nolint:contextcheck // it must get through although ctx has ended
		}
	}
	if err := h.insist(ctx, log, "record effects", func(ctx context.Context) error {
		_, err := h.book.write(ctx, led, protocol.EventEffectDone, r, deliveries, 0, outcomes)
		return err
	}); err != nil {
		return h.trouble(ctx, log, "record effects", err)
	}
	h.count(outcomes)
	log.Debug("effects performed", zap.Int("effects", len(outcomes)), zap.Uint64("deliveries", deliveries))
	return verdict{fate: fateAck}
}

// maxWaits is after how many deliveries a missing predecessor is looked for, about ten minutes.
const maxWaits = 3000

// wait gives back a message that is not next. Its predecessor may take its time; only where there is none any more do the
// effects go to the dead letters.
func (h *Host) wait(ctx context.Context, log *zap.Logger, r *protocol.EffectRequest, led ledger, seq, deliveries uint64) verdict {
	if deliveries <= maxWaits {
		return verdict{fate: fateBack, delay: waitDelay}
	}
	subject := h.conn.Names().Effect(r.Kind, string(r.Operator), r.Instance)
	first, err := h.effects.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(subject))
	if err != nil {
		return h.trouble(ctx, log, "look for the message before", bus.Translate("look for effects", err))
	}
	if first.Sequence < seq {
		return verdict{fate: fateBack, delay: troubleDelay}
	}
	for _, e := range r.Effects {
		o := protocol.EffectOutcome{EffectID: e.EffectID, Kind: e.Effect.Kind(), Status: protocol.OutcomeFailed, Error: protocol.NewError(
			protocol.CodeConflict, fmt.Sprintf("message %d of this instance and kind came, and %d never did", r.M, led.through+1))}
		if err := h.bury(ctx, r, e, o); err != nil {
			return h.trouble(ctx, log, "publish dead letter", err)
		}
	}
	return verdict{fate: fateAck}
}

// act performs one effect with retries. back says that it certainly was not performed and the node is stopping.
func (h *Host) act(ctx context.Context, r *protocol.EffectRequest, i int, seq uint64) (outcome protocol.EffectOutcome, back bool) {
	e := r.Effects[i-1]
	outcome = protocol.EffectOutcome{EffectID: e.EffectID, Kind: e.Effect.Kind()}
	for attempt := 1; ; attempt++ {
		if ctx.Err() != nil {
			return outcome, true
		}
		outcome.Attempts = attempt
		err := h.try(ctx, h.request(r, i, seq, attempt))
		if outcome.Error = protocol.AsError(err); err != nil {
			outcome.Error = outcome.Error.Clip()
		}
		switch {
		case err == nil:
			outcome.Status = protocol.OutcomeOK
			return outcome, false
		case !h.opts.Idempotent && outcomeUnknown(err):
			outcome.Status = protocol.OutcomeUnknown
			return outcome, false
		case (ctx.Err() != nil || h.isLeaving()) && (outcome.Error.Retryable || outcomeUnknown(err)):
			return outcome, true
		case !outcome.Error.Retryable && !outcomeUnknown(err), h.opts.Attempts > 0 && attempt >= h.opts.Attempts:
			outcome.Status = protocol.OutcomeFailed
			return outcome, false
		}
		h.log.Warn("effect failed, trying again", zap.String("effect_id", e.EffectID), zap.Int("attempt", attempt),
			zap.String("code", string(outcome.Error.Code)), zap.Error(err))
		if !h.pause(ctx, jitter(h.opts.Delay(attempt, err))) {
			return outcome, true
		}
	}
}

// isLeaving reports whether the node drains: then what can be done later is another's.
func (h *Host) isLeaving() bool {
	select {
	case <-h.leaving:
		return true
	default:
		return false
	}
}

// pause waits for d, or returns false when the node leaves or ctx ends.
func (h *Host) pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-h.leaving:
	}
	return false
}

// try is one attempt, with its own deadline.
func (h *Host) try(ctx context.Context, req effect.Request) error {
	ctx, cancel := context.WithTimeout(ctx, h.opts.Timeout)
	defer cancel()
	return safely(func() error { return h.executor.Perform(ctx, req) })
}

// outcomeUnknown reports whether err leaves open whether the effect was performed: a timeout, a cancellation in the
// middle, a panic.
func outcomeUnknown(err error) bool {
	var p *panicError
	code := protocol.CodeOf(err)
	return code == protocol.CodeTimeout || code == protocol.CodeCancelled || errors.As(err, &p)
}

// resolve finds out what became of an effect that another executor was performing at record since. It is not settled
// where the executor found that it was not performed.
func (h *Host) resolve(ctx context.Context, r *protocol.EffectRequest, i int, seq, since uint64) (o protocol.EffectOutcome, settled bool, err error) {
	e := r.Effects[i-1]
	o = protocol.EffectOutcome{EffectID: e.EffectID, Kind: e.Effect.Kind(), Status: protocol.OutcomeUnknown}
	s, ok := h.executor.(effect.Settler)
	if !ok {
		o.Error = protocol.NewError(protocol.CodeInternal, "an executor ended while performing this; whether it was performed is unknown")
		return o, true, nil
	}
	performed, err := s.Settle(ctx, h.request(r, i, seq, 1), since)
	if performed {
		o.Status = protocol.OutcomeOK
	}
	return o, performed, err
}

// request is the effect at position i of message seq, for an executor.
func (h *Host) request(r *protocol.EffectRequest, i int, seq uint64, attempt int) effect.Request {
	e := r.Effects[i-1]
	return effect.Request{
		ID: e.EffectID, Operator: r.Operator, Instance: r.Instance, Run: r.Run, Effect: e.Effect.Effect,
		Attempt: attempt, Depth: r.Depth, Trace: r.Trace, Budget: r.Budget, Inboxes: r.Inboxes, Order: effect.Order{Stream: h.stream, Seq: seq, Position: i},
	}
}

// bury puts an effect that did not end well among the dead letters, once.
func (h *Host) bury(ctx context.Context, r *protocol.EffectRequest, e protocol.RequestedEffect, o protocol.EffectOutcome) error {
	if o.Status == protocol.OutcomeOK {
		return nil
	}
	for _, inbox := range r.Inboxes { // who waits for the operator that is handed to would wait for ever
		if err := h.conn.NATS().PublishMsg(bus.ErrorMessage(inbox, o.Error)); err != nil {
			h.log.Warn("answer not sent", zap.Error(err))
		}
	}
	h.log.Error("effect "+string(o.Status), zap.String("effect_id", e.EffectID), zap.String("operator", string(r.Operator)),
		zap.String("run_id", string(r.Run)), zap.Int("attempts", o.Attempts), zap.String("code", string(protocol.CodeOf(o.Error))), zap.Error(o.Error.Unwrap()))
	return h.conn.PublishDead(ctx, protocol.DeadLetter{
		ID: e.EffectID, Operator: r.Operator, Instance: r.Instance, Run: r.Run, Attempts: o.Attempts, Effect: &e, Reason: o.Error,
		Subject: h.conn.Names().Effect(r.Kind, string(r.Operator), r.Instance),
	})
}

// release records that the effect at i was not performed, so that another executor need not wonder. It must get through
// although the node is stopping.
func (h *Host) release(log *zap.Logger, led ledger, r *protocol.EffectRequest, deliveries uint64, i int, outcomes []protocol.EffectOutcome) verdict {
	if h.opts.Idempotent {
		return verdict{fate: fateBack}
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	if _, err := h.book.write(ctx, led, protocol.EventEffectReleased, r, deliveries, i, outcomes); err != nil {
		log.Warn("effect not released", zap.Error(err))
	}
	return verdict{fate: fateBack}
}

const releaseTimeout = 5 * time.Second

// insist repeats what must be written down while its outcome is still known: given up, an effect that was performed would
// be one whose outcome is unknown. It ends some seconds after ctx, or when somebody else wrote.
func (h *Host) insist(ctx context.Context, log *zap.Logger, what string, write func(ctx context.Context) error) error {
	grace, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		late := time.AfterFunc(releaseTimeout, cancel)
		context.AfterFunc(grace, func() { late.Stop() })
	})()
	for {
		err := write(grace)
		if err == nil || errors.Is(err, runlog.ErrConflict) || errors.Is(err, runlog.ErrTooLarge) || h.conn.NATS().IsClosed() {
			return err
		}
		log.Warn(what+" failed, trying again", zap.Error(err))
		if !sleep(grace, insistPause) {
			return err
		}
	}
}

const insistPause = 500 * time.Millisecond

// trouble turns an error of the ledger into a fate.
func (h *Host) trouble(ctx context.Context, log *zap.Logger, what string, err error) verdict {
	switch {
	case ctx.Err() != nil:
		return verdict{fate: fateBack}
	case errors.Is(err, runlog.ErrConflict):
		return verdict{fate: fateBack, delay: conflictDelay}
	}
	log.Warn(what+" failed, the message is given back", zap.Error(err))
	return verdict{fate: fateBack, delay: troubleDelay}
}

// settle carries a verdict out. A lost acknowledgement means a redelivery, which the ledger answers.
func (h *Host) settle(msg jetstream.Msg, v verdict) {
	var err error
	switch {
	case v.fate == fateDrop:
	case v.fate == fateAck:
		err = msg.Ack()
	case v.delay > 0:
		err = msg.NakWithDelay(v.delay)
	default:
		err = msg.Nak()
	}
	if err != nil {
		h.log.Debug("message not settled, it will come again", zap.Error(err))
	}
}

func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2+1) //nolint:gosec // spreads retries, guards nothing
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
