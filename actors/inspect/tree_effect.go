package inspect

import (
	"context"
	"errors"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// maxLedger bounds how many records of a ledger are read for one run.
const maxLedger = 500

// addOutcomes reads out of the ledgers what became of the effects.
func (r *Reader) addOutcomes(ctx context.Context, t target, b *builder) error {
	if len(b.tree.Effects) == 0 {
		return nil
	}
	const attempted = "read the ledger"
	stream, err := r.stream(ctx, attempted, wire.StreamLog)
	if err != nil {
		return err
	}
	open := map[string]*Effect{} // by id
	families := map[string]bool{}
	for n := range b.tree.Effects {
		e := &b.tree.Effects[n]
		open[e.ID] = e
		families[familyOf(e.ID)] = true
	}
	for family := range families {
		subject := r.ledgers(t) + family
		for n, seq := 0, b.commit; n < maxLedger && len(open) > 0; n++ {
			msg, err := stream.GetMsg(ctx, seq+1, jetstream.WithGetMsgSubject(subject))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				break
			}
			if err != nil {
				return bus.Translate(attempted, err)
			}
			seq = msg.Sequence
			settle(open, msg)
		}
	}
	return nil
}

// ledgers is what the subjects of the instance's ledgers begin with.
func (r *Reader) ledgers(t target) string { return strings.TrimSuffix(r.subject(t), "run") + "done." }

// familyOf is the token of an effect's family, the third part from the end of its id: OPERATOR/INSTANCE/FAMILY/M/I. The
// instance is a token there too, so that no part has a slash in it.
func familyOf(id string) string {
	tokens := splitID(id)
	if tokens == nil {
		return "="
	}
	return tokens[2]
}

// settle enters the outcomes of a record of a ledger.
func settle(open map[string]*Effect, msg *jetstream.RawStreamMsg) {
	event, err := protocol.DecodeEvent(msg.Data)
	if err != nil || event.Kind != protocol.EventEffectDone {
		return
	}
	var record struct {
		Outcomes []protocol.EffectOutcome `json:"outcomes"`
	}
	if protocol.Unmarshal(event.Data, &record) != nil {
		return
	}
	for _, o := range record.Outcomes {
		if e := open[o.EffectID]; e != nil {
			at := msg.Time
			e.Status, e.Attempts, e.Error, e.Time = o.Status, o.Attempts, o.Error, &at
			if o.Status != protocol.OutcomeUnknown { // what is not known may become known
				delete(open, o.EffectID)
			}
		}
	}
}

// splitID returns the parts of an effect's id, nil if it is none.
func splitID(id string) []string {
	const parts = 5
	if tokens := strings.Split(id, "/"); len(tokens) == parts {
		return tokens
	}
	return nil
}
