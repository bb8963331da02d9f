package executor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// record is the data of a ledger event.
type record struct {
	Family string `json:"family" wire:"required"`
	// M is the message that the record is about, Through the last one that is wholly done.
	M       uint64 `json:"m" wire:"required"`
	Through uint64 `json:"through" wire:"required"`
	// I is the position of the effect that is being performed, from 1; 0 in effect_done.
	I int `json:"i,omitempty"`
	// Executor names who is performing it.
	Executor string `json:"executor"`
	// Delivery counts the deliveries of the message up to the one that was performed.
	Delivery uint64 `json:"delivery,omitempty"`
	// Outcomes are those of the effects before I, or of all.
	Outcomes []protocol.EffectOutcome `json:"outcomes"`
}

// MarshalJSON writes no outcomes as [].
func (r record) MarshalJSON() ([]byte, error) {
	type plain record
	if r.Outcomes == nil {
		r.Outcomes = []protocol.EffectOutcome{}
	}
	return protocol.Marshal(plain(r))
}

// ledger is what the last record of an instance and family says.
type ledger struct {
	seq     uint64 // of the last record, the fence; 0 if there is none
	kind    protocol.EventKind
	through uint64
	last    record
}

// step is what a ledger asks to be done about a message.
type step int

const (
	stepPerform step = iota // from the position given
	stepDone                // it is done already: acknowledge
	stepWait                // an earlier message is missing: later
)

// decide says what to do about message m. from is the position to begin at, outcomes are those recorded before it, and
// doubtful says that somebody else may have performed the effect at from.
func (l ledger) decide(m uint64) (s step, from int, outcomes []protocol.EffectOutcome, doubtful bool) {
	switch {
	case m <= l.through:
		return stepDone, 0, nil, false
	case m > l.through+1:
		return stepWait, 0, nil, false
	case l.seq == 0 || l.last.M != m:
		return stepPerform, 1, nil, false
	}
	return stepPerform, max(1, l.last.I), l.last.Outcomes, l.kind == protocol.EventEffectActing
}

// book reads and writes ledgers.
type book struct {
	log      *runlog.Log
	names    wire.Names
	family   string
	executor string
	ttl      time.Duration // of the records of ephemeral instances
}

func (b *book) subject(r *protocol.EffectRequest) string {
	return b.names.Done(string(r.Operator), r.Instance, b.family)
}

func (b *book) read(ctx context.Context, r *protocol.EffectRequest) (ledger, error) {
	rec, found, err := b.log.Last(ctx, b.subject(r))
	if err != nil || !found {
		return ledger{}, err
	}
	ev, err := protocol.DecodeEvent(rec.Data)
	if err != nil {
		return ledger{}, fmt.Errorf("ledger record %d: %w", rec.Seq, err)
	}
	l := ledger{seq: rec.Seq, kind: ev.Kind}
	if err := protocol.Unmarshal(ev.Data, &l.last); err != nil {
		return ledger{}, fmt.Errorf("ledger record %d: %w", rec.Seq, err)
	}
	l.through = l.last.Through
	return l, nil
}

// maxReason is how much of an error a record keeps; the dead letter has more.
const maxReason = 200

// brief returns the outcomes with short errors, so that the record of a whole message is one message itself.
func brief(outcomes []protocol.EffectOutcome) []protocol.EffectOutcome {
	out := slices.Clone(outcomes)
	for i, o := range out {
		if o.Error != nil {
			e := *o.Error
			e.Details = nil
			if len(e.Message) > maxReason {
				e.Message = strings.ToValidUTF8(e.Message[:maxReason], "") + "..."
			}
			out[i].Error = &e
		}
	}
	return out
}

// write appends a record behind l and returns the ledger that it makes.
func (b *book) write(ctx context.Context, l ledger, kind protocol.EventKind, r *protocol.EffectRequest, delivery uint64, i int, outcomes []protocol.EffectOutcome) (ledger, error) {
	rec := record{Family: b.family, M: r.M, Through: r.M - 1, I: i, Executor: b.executor, Delivery: delivery, Outcomes: brief(outcomes)}
	if kind == protocol.EventEffectDone {
		rec.Through, rec.I = r.M, 0
	}
	data, err := protocol.Marshal(rec)
	if err != nil {
		return l, fmt.Errorf("ledger record: %w", err)
	}
	// The server drops a message whose id it has seen, on any subject of the stream. So an id must not only be unique but
	// unguessable: guests may publish signals to the same stream, with ids of their choice.
	id := uuid.NewString()
	body, err := protocol.Marshal(protocol.Event{
		ID: id, Kind: kind, Operator: r.Operator, Instance: r.Instance, Run: r.Run, Parent: r.Parent,
		Time: time.Now().UTC(), Trace: r.Trace, Data: data,
	})
	if err != nil {
		return l, fmt.Errorf("ledger record: %w", err)
	}
	msg := &nats.Msg{Subject: b.subject(r), Data: body, Header: nats.Header{
		wire.HeaderKind: {string(kind)}, wire.HeaderRunID: {string(r.Run)},
	}}
	if r.Ephemeral {
		msg.Header.Set("Nats-TTL", fmt.Sprintf("%ds", int64(b.ttl.Seconds())))
	}
	seq, err := b.log.Append(ctx, msg, id, l.seq)
	if err != nil {
		return l, err
	}
	return ledger{seq: seq, kind: kind, through: rec.Through, last: rec}, nil
}
