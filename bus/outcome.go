package bus

import (
	"context"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// Outcome is what became of one effect, as the ledger has it.
type Outcome struct {
	protocol.EffectOutcome
	Operator protocol.OperatorID `json:"operator"`
	Instance string              `json:"instance"`
	Run      protocol.RunID      `json:"run"`
	Family   string              `json:"family"`
	Time     time.Time           `json:"time"`
	Seq      uint64              `json:"seq"` // of the ledger's record
}

// Outcomes returns how the effects that ended last did, at most limit, newest first.
func (c *Conn) Outcomes(ctx context.Context, limit int) ([]Outcome, error) {
	stream, err := c.JetStream().Stream(ctx, c.Names().Stream(wire.StreamLog))
	if err != nil {
		return nil, Translate("read outcomes", err)
	}
	for n := limit; ; n *= 8 { // not every record says how an effect ended
		var all []Outcome
		whole, err := c.scanLast(ctx, stream, c.Names().All("log.*.*.done"), n, func(m jetstream.Msg) {
			all = append(all, outcomesOf(m)...)
			all = all[max(0, len(all)-limit):]
		})
		if err != nil {
			return nil, Translate("read outcomes", err)
		}
		if whole || len(all) == limit {
			slices.Reverse(all)
			return all, nil
		}
	}
}

// outcomesOf reads a record of a ledger: none where it does not say how effects ended.
func outcomesOf(m jetstream.Msg) []Outcome {
	event, err := protocol.DecodeEvent(m.Data())
	if err != nil || event.Kind != protocol.EventEffectDone {
		return nil
	}
	var record struct {
		Family   string                   `json:"family"`
		Outcomes []protocol.EffectOutcome `json:"outcomes"`
	}
	meta, err := m.Metadata()
	if err != nil || protocol.Unmarshal(event.Data, &record) != nil {
		return nil
	}
	found := make([]Outcome, len(record.Outcomes))
	for i, o := range record.Outcomes {
		found[i] = Outcome{
			EffectOutcome: o, Operator: event.Operator, Instance: event.Instance, Run: event.Run, Family: record.Family,
			Time: event.Time, Seq: meta.Sequence.Stream,
		}
	}
	return found
}
