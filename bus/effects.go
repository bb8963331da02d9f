package bus

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// PublishEffects stores the requests for their executors and returns when every one is acknowledged. All sizes are
// checked before the first is sent, and what fails is tried again until ctx ends: so that it is all of them or none. Where
// that cannot be, the error's details say what was stored. Repeating it with the same requests stores nothing twice within
// two minutes, and the executors' ledger sees to it that nothing is performed twice later.
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
		doubt, err := c.publishEffect(ctx, msg, protocol.EffectRequestID(r.Operator, r.Instance, r.Kind, r.M), i > 0)
		if err == nil {
			continue
		}
		e := protocol.AsError(Translate("publish effects of kind "+r.Kind, err))
		if i > 0 || doubt {
			e = e.With("effects_stored", fmt.Sprintf("at least %d of %d messages", i, len(requests)))
			e.Retryable = false
		}
		return e
	}
	return nil
}

// Each attempt to store effects is short, since its answer may be lost; the message id makes one of all of them.
const (
	effectAttempt = 2 * time.Second
	effectPause   = 100 * time.Millisecond
)

// publishEffect tries until ctx ends where others of the same run are stored already, or where this one may be; doubt says
// so of it at the end. Otherwise it tries once.
func (c *Conn) publishEffect(ctx context.Context, msg *nats.Msg, id string, insist bool) (doubt bool, err error) {
	for {
		attempt, cancel := context.WithTimeout(ctx, effectAttempt)
		_, err = c.JetStream().PublishMsg(attempt, msg, jetstream.WithMsgID(id), jetstream.WithExpectStream(c.Names().Stream(wire.StreamEffects)))
		cancel()
		if err == nil {
			return false, nil
		}
		if code := protocol.CodeOf(Translate("", err)); code == protocol.CodeTimeout || code == protocol.CodeCancelled {
			doubt = true
		}
		if !insist && !doubt {
			return false, err
		}
		select {
		case <-ctx.Done():
			return doubt, err
		case <-time.After(effectPause):
		}
	}
}

// PublishDead stores a dead letter, once for its id and instance: an effect that is tried again is one of another instance,
// and its second failure is news.
//
// A letter that is too large for a message is stored without what makes it so; its reason then tells the size and the
// SHA-256 of that.
func (c *Conn) PublishDead(ctx context.Context, letter protocol.DeadLetter) error {
	letter.Reason = letter.Reason.Clip()
	body, err := protocol.Marshal(letter)
	if err == nil && c.CheckSize("dead letter", len(body)) != nil {
		content := letter.Raw
		if letter.Effect != nil {
			if content, err = protocol.Marshal(letter.Effect); err != nil {
				content = nil
			}
		}
		letter.Reason = letter.Reason.With("omitted_bytes", fmt.Sprint(len(content))).With("omitted_sha256", fmt.Sprintf("%x", sha256.Sum256(content)))
		letter.Effect, letter.Raw = nil, nil
		body, err = protocol.Marshal(letter)
	}
	if err != nil {
		return protocol.NewError(protocol.CodeInternal, "dead letter cannot be written: "+err.Error()).Because(err)
	}
	_, err = c.JetStream().Publish(ctx, c.Names().Dead(string(letter.Operator)), body,
		jetstream.WithMsgID(letter.ID+"@"+wire.Escape(letter.Instance)))
	return Translate("publish dead letter", err)
}
