package bus

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// EffectRequests groups the effects of one commit into messages: one a family, in the order in which the families first
// appear but memory before all others. head says whose they are; next gives the number of the next message of a
// family. A custom effect with the name of a built-in kind is invalid.
func EffectRequests(head protocol.EffectRequest, effects protocol.Effects, next func(family string) uint64) ([]protocol.EffectRequest, error) {
	var requests []protocol.EffectRequest
	index := map[string]int{}
	for i, e := range effects {
		family := protocol.FamilyOf(e)
		if c, ok := e.(protocol.CustomEffect); ok && protocol.ReservedFamily(c.EffectType) {
			return nil, protocol.NewError(protocol.CodeInvalidInput,
				fmt.Sprintf("effects[%d]: effect_type %q is the name of a built-in kind", i, c.EffectType))
		}
		n, ok := index[family]
		if !ok {
			n = len(requests)
			index[family] = n
			r := head
			r.Kind, r.M = family, next(family)
			requests = append(requests, r)
		}
		r := &requests[n]
		r.Effects = append(r.Effects, protocol.RequestedEffect{
			EffectID: protocol.EffectID(r.Operator, r.Instance, family, r.M, len(r.Effects)+1),
			Effect:   protocol.AnyEffect{Effect: e},
		})
	}
	slices.SortStableFunc(requests, func(a, b protocol.EffectRequest) int {
		return cmp.Compare(rank(a.Kind), rank(b.Kind))
	})
	return requests, nil
}

func rank(family string) int {
	if family == protocol.FamilyMemory {
		return 0
	}
	return 1
}

// PublishEffects stores the requests for their executors and returns when every one is acknowledged. All sizes are
// checked before the first is sent. Repeating it with the same requests stores nothing twice within two minutes, and
// the executors' ledger sees to it that nothing is performed twice later.
func (c *Conn) PublishEffects(ctx context.Context, requests []protocol.EffectRequest) error {
	bodies := make([][]byte, len(requests))
	for i, r := range requests {
		body, err := protocol.Marshal(r)
		if err != nil {
			return protocol.NewError(protocol.CodeInvalidInput, "effect cannot be written as JSON: "+err.Error()).Because(err)
		}
		if err := c.CheckSize("effects of kind "+r.Kind, len(body)); err != nil {
			return err
		}
		bodies[i] = body
	}
	for i, r := range requests {
		msg := &nats.Msg{
			Subject: c.Names().Effect(r.Kind, string(r.Operator), r.Instance), Data: bodies[i],
			Header: nats.Header{wire.HeaderRunID: {string(r.Run)}},
		}
		id := protocol.EffectRequestID(r.Operator, r.Instance, r.Kind, r.M)
		_, err := c.JetStream().PublishMsg(ctx, msg, jetstream.WithMsgID(id), jetstream.WithExpectStream(c.Names().Stream(wire.StreamEffects)))
		if err != nil {
			return Translate("publish effects of kind "+r.Kind, err)
		}
	}
	return nil
}

// PublishDead stores a dead letter, once for its id and instance: an effect that is tried again is one of another instance,
// and its second failure is news.
func (c *Conn) PublishDead(ctx context.Context, letter protocol.DeadLetter) error {
	body, err := protocol.Marshal(letter)
	if err != nil {
		return protocol.NewError(protocol.CodeInternal, "dead letter cannot be written: "+err.Error()).Because(err)
	}
	_, err = c.JetStream().Publish(ctx, c.Names().Dead(string(letter.Operator)), body,
		jetstream.WithMsgID(letter.ID+"@"+wire.Escape(letter.Instance)))
	return Translate("publish dead letter", err)
}
