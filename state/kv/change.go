package kv

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/protocol"
)

// change is a write or a delete on its way.
type change struct {
	subject  string
	record   *record // nil: a delete
	value    json.RawMessage
	ttl      time.Duration
	revision *uint64 // nil: whatever is there
	exact    bool    // revision is the last sequence itself
	by       json.RawMessage
}

// expect returns the sequence that the last message of the key must have, given what it is now.
func (c *change) expect(old stored, now time.Time) (*uint64, error) {
	switch {
	case c.revision == nil:
		return &old.seq, nil
	case c.exact:
		return c.revision, nil
	case *c.revision == 0 && old.live(now), *c.revision != 0 && old.seq > *c.revision:
		return nil, errConflict
	case *c.revision == 0:
		return &old.seq, nil // the remains of a value are none
	}
	return c.revision, nil
}

// present reports whether there is a value, expired or not.
func (st *stored) present() bool { return st.seq > 0 && !st.deleted }

const (
	// markerTTL is how long the server remembers a delete.
	markerTTL = 24 * time.Hour
	// graceTTL is how much later than a value expires the server removes it: its clock is not ours.
	graceTTL = time.Minute
	// maxTTL is the longest time to live that the server is told; values that live longer are not removed by it.
	maxTTL = 10 * 365 * 24 * time.Hour
	// overhead is more than the headers of a message and the rest of an entry take.
	overhead = 4096
)

// attempt replaces what has the expected sequence, or whatever is there if expect is nil, and tidies up: the blob of old
// after success, its own after failure. After an unknown outcome it leaves both to Sweep.
func (s *Store) attempt(ctx context.Context, c change, old stored, expect *uint64) (uint64, error) {
	id := uuid.NewString()
	msg := &nats.Msg{Subject: s.publishPrefix + c.subject, Header: nats.Header{}}
	var own *blobRef
	var err error
	if c.record == nil {
		msg.Header.Set(headerOperation, opDelete)
		msg.Header.Set(headerTTL, strconv.Itoa(int(markerTTL/time.Second)))
		if c.by != nil {
			msg.Data, err = protocol.Marshal(record{By: c.by})
		}
	} else {
		own, err = s.fill(ctx, c, id, msg)
	}
	if err != nil {
		return 0, err
	}
	seq, err := s.commit(ctx, s.stream, msg, c.subject, id, expect)
	if c.record == nil && isFull(err) {
		err = s.deleteFull(ctx, c.subject, old.seq)
	}
	switch {
	case err == nil:
		s.removeBlob(ctx, old.record.Blob) // no two entries share one
	case !errors.Is(err, errUnknown):
		s.removeBlob(ctx, own)
	}
	return seq, err
}

// fill puts a record into a message, its value into a blob if it does not fit.
func (s *Store) fill(ctx context.Context, c change, id string, msg *nats.Msg) (*blobRef, error) {
	r := *c.record
	r.By = c.by
	size := len(c.value) + len(c.by) + len(r.Key) + 4*len(r.KeyBytes)/3
	if size <= s.inline() {
		r.Value = c.value
	} else {
		ref, err := s.writeBlob(ctx, c.subject, id, c.value)
		if err != nil {
			return nil, err
		}
		r.Blob = &ref
	}
	if c.record.Expires != nil && c.ttl <= maxTTL {
		msg.Header.Set(headerTTL, strconv.Itoa(int((c.ttl+graceTTL)/time.Second)))
	}
	var err error
	if msg.Data, err = protocol.Marshal(r); err != nil {
		return r.Blob, protocol.ErrSerialization("the options cannot be written as JSON").Because(err)
	}
	return r.Blob, nil
}

// inline is how long an entry may be to be one message. Reading through the leader answers in base64, a third longer,
// and that must fit too: on its way it may meet a leaf node that counts.
func (s *Store) inline() int {
	n := int(s.js.Conn().MaxPayload())/4*3 - overhead
	if s.maxMessage > 0 {
		n = min(n, s.maxMessage-overhead)
	}
	return max(n, 0)
}

// commit publishes a message if the last one of its subject has the expected sequence, or in any case if expect is nil. While
// the outcome is unknown it publishes again; a conflict is one only if it is not with itself.
func (s *Store) commit(ctx context.Context, stream string, msg *nats.Msg, subject, id string, expect *uint64) (uint64, error) {
	doubt := false
	for n := 0; ; n++ {
		seq, err := s.publish(ctx, stream, msg, id, expect)
		switch {
		case err == nil:
			return seq, nil
		case isConflict(err) && expect != nil:
			last, lastErr := s.last(ctx, subject)
			switch {
			case lastErr != nil && doubt:
				return 0, errors.Join(errUnknown, lastErr)
			case lastErr != nil:
				return 0, lastErr
			case last.id == id:
				return last.seq, nil
			case last.seq != *expect && doubt:
				// Ours may have landed and been replaced since.
				return 0, errors.Join(errUnknown, errConflict, err)
			case last.seq != *expect:
				return 0, errors.Join(errConflict, err)
			}
			// Another write of the key is under way, perhaps our own.
		case refused(err) && !doubt:
			return 0, err
		case !refused(err):
			doubt = true
			if s.js.Conn().IsClosed() {
				return 0, errors.Join(errUnknown, err)
			}
		}
		if pause(ctx, backoff(n)) != nil {
			if doubt {
				return 0, errors.Join(errUnknown, err)
			}
			return 0, err
		}
	}
}

func (s *Store) publish(ctx context.Context, stream string, msg *nats.Msg, id string, expect *uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Attempt)
	defer cancel()
	opts := []jetstream.PublishOpt{jetstream.WithMsgID(id), jetstream.WithExpectStream(stream)}
	if expect != nil {
		opts = append(opts, jetstream.WithExpectLastSequencePerSubject(*expect))
	}
	ack, err := s.js.PublishMsg(ctx, msg, opts...)
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// deleteFull removes a message without leaving a marker, which a full bucket has no room for. A later message stays.
func (s *Store) deleteFull(ctx context.Context, subject string, seq uint64) error {
	purged, err := s.purge(ctx, s.stream, subject, seq+1)
	if err == nil && purged == 0 {
		return errConflict // replaced in the meantime
	}
	if err == nil {
		s.log.Info("deleted without a marker: the bucket is full", zap.String("subject", subject), zap.Uint64("seq", seq))
	}
	return err
}

// backoff is how long to wait before attempt n+1.
func backoff(n int) time.Duration { return min(time.Millisecond<<min(n, 10), 250*time.Millisecond) }
