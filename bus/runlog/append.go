package runlog

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol"
)

// Append publishes msg, which must have its subject and may have headers, if the last sequence of the subject is
// expect (0: there is none). id must be unique to this content; it is what settles an unknown outcome. It returns the
// sequence of the message, or an error of the list above, or that of ctx. Safe to call again with the same
// arguments after ErrUnknown: it finds the message that an earlier call left, also behind other writers' later ones.
func (l *Log) Append(ctx context.Context, msg *nats.Msg, id string, expect uint64) (uint64, error) {
	return l.append(ctx, msg, id, expect)
}

// underWay is how long a write takes to reach the replicas, or a little more.
const underWay = 5 * time.Millisecond

func (s *stream) append(ctx context.Context, msg *nats.Msg, id string, expect uint64) (uint64, error) {
	doubtful := false
	patience := time.Now().Add(s.try)
	for {
		try, cancel := context.WithTimeout(ctx, s.try)
		ack, err := s.js.PublishMsg(try, msg, jetstream.WithMsgID(id), jetstream.WithExpectStream(s.name),
			jetstream.WithExpectLastSequencePerSubject(expect))
		cancel()
		switch {
		case err == nil:
			return ack.Sequence, nil
		case hasCode(err, jetstream.JSErrCodeStreamWrongLastSequence):
			return s.ownBehind(ctx, msg.Subject, id, expect, err)
		case hasCode(err, jetstream.JSErrCodeStreamWrongLastSequenceConstant):
			// On replicas: another write of the subject is under way. It may fail yet, and could not be read now.
			if time.Now().After(patience) || !sleep(ctx, underWay) {
				return s.ownBehind(ctx, msg.Subject, id, expect, err)
			}
		case ctx.Err() != nil:
			return 0, s.wrap(protocol.CodeTimeout, msg.Subject, ErrUnknown, err)
		case isTimeout(err):
			doubtful = true
		case errors.Is(err, nats.ErrMaxPayload):
			return 0, s.wrap(protocol.CodeQuotaExceeded, msg.Subject, ErrTooLarge, err)
		case isFull(err):
			return 0, s.wrap(protocol.CodeQuotaExceeded, msg.Subject, ErrFull, err)
		case transient(err) && (doubtful || time.Now().Before(patience)):
			if !sleep(ctx, 100*time.Millisecond) {
				return 0, s.wrap(protocol.CodeTimeout, msg.Subject, ErrUnknown, err)
			}
		default:
			return 0, s.wrap(protocol.CodeUnavailable, msg.Subject, ErrUnavailable, err)
		}
	}
}

// ownBehind settles a conflict: what the fence met may be our own message, of an earlier attempt or call, and others may have
// written behind it since. It returns its sequence, or the conflict if it is not there.
func (s *stream) ownBehind(ctx context.Context, subject, id string, expect uint64, conflict error) (seq uint64, err error) {
	err = s.each(ctx, subject, expect, func(r Record) bool {
		if r.ID == id {
			seq = r.Seq
		}
		return seq == 0
	})
	switch {
	case err != nil:
		return 0, s.wrap(protocol.CodeTimeout, subject, ErrUnknown, err)
	case seq == 0:
		return 0, s.wrap(protocol.CodeConflict, subject, ErrConflict, conflict)
	}
	return seq, nil
}

func isFull(err error) bool { return hasCode(err, 10077) || hasCode(err, 10023) || hasCode(err, 10047) }

func hasCode(err error, code jetstream.ErrorCode) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == code
}

func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
}

// codeIDInProcess says that an earlier attempt with the same message id is still on its way to the replicas.
const codeIDInProcess jetstream.ErrorCode = 10158

// transient reports whether a repeated attempt may get through: the earlier one may have been stored.
func transient(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders) ||
		errors.Is(err, nats.ErrDisconnected) || errors.As(err, &api) && (api.Code == 503 || api.ErrorCode == codeIDInProcess)
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
