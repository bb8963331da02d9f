package instance

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/protocol"
)

// Delays before a task is tried again.
const (
	troubleDelay = 2 * time.Second // the log cannot be read or written
	defectDelay  = time.Second     // it will not be read by this program: maybe by another
)

// maxDefects is how often a task comes whose log nobody can read: after that it is a dead letter, since what is given back
// holds a place of the operator's.
const maxDefects = 5

// see sees one task through: it reads it, lines up at its session, and does what its driver says until that ends the task.
func (h *Host) see(ctx context.Context, work *work, lined func()) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.forced, cancel)() //nolint:contextcheck // either ends it
	d := work.delivery
	t, err := h.read(d.msg, work.meta)
	if err == nil {
		err = h.checkParent(ctx, &t)
	}
	if err != nil {
		lined()
		h.settleUnreadable(ctx, d, work.meta, err)
		return
	}
	if work.before != nil {
		select {
		case <-work.before:
		case <-ctx.Done():
		}
	}
	s := h.acquire(t.token, t.instance)
	defer h.release(s)
	before, decided := s.lineUp()
	defer decided()
	lined()
	if t.large != nil {
		if t.task.Input.Blob, err = h.putBlob(ctx, t.token, t.large); err != nil {
			h.trouble(ctx, d, "store input", err)
			return
		}
	}
	if t.fresh {
		s.presume()
	}
	if before != nil {
		select {
		case <-before:
		case <-ctx.Done():
		}
	}
	w := &worker{
		host: h, session: s, delivery: d, meta: work.meta,
		driver: &run.Driver{Task: t.task, Policy: h.policy}, decided: decided,
	}
	for !w.step(ctx) {
	}
}

// worker is a task being seen through.
type worker struct {
	host     *Host
	session  *session
	delivery *delivery
	driver   *run.Driver
	meta     *jetstream.MsgMetadata
	caughtUp bool   // the log was read for this task
	decided  func() // lets the next task of the session decide
}

// step does what comes next; true is the end.
func (w *worker) step(ctx context.Context) bool {
	h := w.host
	cmd, err := w.session.decide(ctx, w.driver)
	w.decided()
	if errors.Is(err, runlog.ErrTooLarge) {
		return w.tooLarge(ctx, err)
	}
	if errors.Is(err, errDefect) && w.meta.NumDelivered >= maxDefects {
		h.settleUnreadable(ctx, w.delivery, w.meta, &unreadable{protocol.AsError(h.safe(err))})
		return true
	}
	if err != nil {
		h.trouble(ctx, w.delivery, "decide", err)
		return true
	}
	switch {
	case cmd.Settle != nil:
		if err := h.settle(ctx, w.session, cmd.Settle); err != nil {
			h.trouble(ctx, w.delivery, "settle", err)
			return true
		}
		w.session.markSettled(cmd.Settle.Seq)
	case cmd.Run:
		w.driver.Ran(w.run(ctx))
	case cmd.Answer != nil:
		if err := h.answerKnown(ctx, w.session, w.driver.Task.Input, *cmd.Answer); err != nil {
			h.trouble(ctx, w.delivery, "answer", err)
			return true
		}
		w.driver.Answered()
	case cmd.Ack:
		h.ack(w.delivery)
		return true
	case cmd.GiveBack && !w.caughtUp && !h.isLeaving():
		// What is known here may be old: another node has gone on since.
		w.caughtUp = true
		if err := w.session.catchUp(ctx); err != nil {
			h.trouble(ctx, w.delivery, "read the log", err)
			return true
		}
	case cmd.GiveBack:
		h.giveBack(w.delivery.handle(), max(cmd.Delay, h.backDelay()))
		return true
	default: // Drop: it is somebody else's, and so is its acknowledgement
		return true
	}
	return false
}

// tooLarge goes on without what does not fit into a message: a snapshot is not needed, an input is refused.
func (w *worker) tooLarge(ctx context.Context, err error) bool {
	h := w.host
	if w.driver.Policy.Snapshot > 0 {
		h.log.Warn("instance not folded: it does not fit into a message", zap.Error(err))
		w.driver.Policy.Snapshot = 0
		return false
	}
	if w.driver.Task.Input != nil && !w.driver.Task.Bar && !w.claimed() {
		h.settleUnreadable(ctx, w.delivery, w.meta, &unreadable{protocol.AsError(err)})
		return true
	}
	h.trouble(ctx, w.delivery, "decide", errors.Join(errDefect, err))
	return true
}

func (w *worker) claimed() (claimed bool) {
	w.session.view(func(f *run.Fold) { claimed = w.driver.Claimed(f) })
	return claimed
}

// backDelay is how long a task stays away that this node gives back: not at all when it leaves and another may wait for it.
func (h *Host) backDelay() time.Duration {
	if h.isLeaving() {
		return 0
	}
	return backDelay
}

func (h *Host) ack(d *delivery) {
	if err := d.handle().Ack(); err != nil { // it comes again, and its log says that all is done
		h.log.Debug("task not acknowledged", zap.Error(err))
	}
}

func (s *session) markSettled(seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settled = max(s.settled, seq)
}

// trouble ends a task that could not be seen through: later, or elsewhere. What is in the log says how far it came.
func (h *Host) trouble(ctx context.Context, d *delivery, what string, err error) {
	delay := troubleDelay
	switch {
	case ctx.Err() != nil:
		delay = h.backDelay()
	case errors.Is(err, errDefect):
		delay = defectDelay
	case errors.Is(err, runlog.ErrUnknown):
		h.log.Warn(what+": outcome unknown, the task will come again", zap.Error(err))
	default:
		h.log.Warn(what+" failed, the task is given back", zap.String("code", string(protocol.CodeOf(err))), zap.Error(err))
	}
	h.giveBack(d.handle(), jitter(delay))
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
