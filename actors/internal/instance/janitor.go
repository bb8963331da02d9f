package instance

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// closedFor is how long the last record of an instance stays that was a single run: nobody comes back to it.
const closedFor = 24 * time.Hour

// Close puts away the instances that have been idle for longer than the retention time, and returns how many. Every node that
// hosts the operator may do it at the same time: the fence lets one. What is under way, or has effects that are not done,
// stays.
func (h *Host) Close(ctx context.Context) (int, error) {
	if h.cfg.Retention <= 0 {
		return 0, nil
	}
	stream, err := h.conn.JetStream().Stream(ctx, h.conn.Names().Stream(wire.StreamLog))
	if err != nil {
		return 0, bus.Translate("look up logs", err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(h.conn.Names().RunLog(string(h.cfg.ID), "*")))
	if err != nil {
		return 0, bus.Translate("list logs", err)
	}
	closed := 0
	for subject := range info.State.Subjects {
		if h.isLeaving() {
			break
		}
		token := strings.Split(subject, ".")[3]
		if h.closed(ctx, subject, token) {
			closed++
		}
	}
	return closed, nil
}

// closed closes one instance, and reports whether it did. What went wrong, the next round tries again.
func (h *Host) closed(ctx context.Context, subject, token string) bool {
	ok, err := h.closeOne(ctx, subject, token)
	if err != nil {
		h.log.Warn("instance not closed", zap.String("code", string(protocol.CodeOf(err))), zap.Error(err))
	}
	return ok
}

// closeOne closes one instance, if it is over.
func (h *Host) closeOne(ctx context.Context, subject, token string) (bool, error) {
	last, found, err := h.runs.Last(ctx, subject)
	if err != nil || !found || time.Since(last.Time) < h.cfg.Retention || last.Kind == string(protocol.EventClosed) {
		return false, err
	}
	name := token
	if full, err := wire.Unescape(token); err == nil {
		name = full
	}
	s := h.acquire(token, name)
	defer h.release(s)
	if err := s.take(ctx); err != nil {
		return false, err
	}
	defer s.giveTurn()
	if err := s.ensure(ctx); err != nil {
		return false, err
	}
	if err := s.refresh(ctx); err != nil {
		return false, err
	}
	var idle, single bool
	var pending map[string]uint64
	s.view(func(f *run.Fold) {
		idle = f.Open == nil && len(f.Queue) == 0 && f.Unknown == "" && !f.Closed
		single = len(f.Known) == 1 && string(f.Known[0].Run) == f.Instance
		pending = f.M
	})
	if !idle {
		return false, nil
	}
	for family, m := range pending {
		through, err := h.doneThrough(ctx, h.conn.Names().Done(string(h.cfg.ID), name, family))
		if err != nil || through < m {
			return false, err
		}
	}
	var items []run.Item
	s.view(func(f *run.Fold) { items = []run.Item{f.Close()} })
	if _, err := s.append(ctx, items, ttl(single)); err != nil {
		if errors.Is(err, runlog.ErrConflict) { // somebody came back
			err = nil
		}
		s.forget()
		return false, err
	}
	return true, h.purge(ctx, s, token, name, pending, single)
}

// ttl is how long the last record stays: for ever, where somebody may come back and the numbers of effects must go on.
func ttl(single bool) time.Duration {
	if single {
		return closedFor
	}
	return 0
}

// purge removes what is below the closing record, the signals and the blobs. A single run leaves no ledger; others leave the
// last record of each.
func (h *Host) purge(ctx context.Context, s *session, token, name string, families map[string]uint64, single bool) error {
	var seq uint64
	s.view(func(f *run.Fold) { seq = f.Seq })
	s.forget()
	if err := h.runs.Purge(ctx, s.subject, seq); err != nil {
		return err
	}
	for family := range families {
		ledger := h.conn.Names().Done(string(h.cfg.ID), name, family)
		var keep uint64
		if !single {
			last, found, err := h.runs.Last(ctx, ledger)
			if err != nil || !found {
				return err
			}
			keep = last.Seq
		}
		if err := h.runs.Purge(ctx, ledger, keep); err != nil {
			return err
		}
	}
	if err := h.runs.PurgeSignals(ctx, string(h.cfg.ID), token); err != nil {
		return err
	}
	return h.blobs.Purge(ctx, string(h.cfg.ID), token)
}
