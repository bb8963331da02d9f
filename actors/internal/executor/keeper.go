package executor

import (
	"context"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/internal/actorx"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

type (
	// delivery is a message on its way into the actor.
	delivery struct{ msg jetstream.Msg }
	// beat tells the server that the work on everything in flight goes on.
	beat struct{}
	// drain asks for an answer when nothing is in flight any more.
	drain struct{ reply actorx.Reply[struct{}] }
)

// keeper is the actor of a family: it knows what is in flight.
type keeper struct {
	host     *Host
	inFlight map[uint64]jetstream.Msg // by stream sequence: the newest delivery
	beating  bool
	draining []actorx.Reply[struct{}]
}

func newKeeper(h *Host) *keeper {
	return &keeper{host: h, inFlight: map[uint64]jetstream.Msg{}}
}

// Receive implements actorx.Actor.
func (k *keeper) Receive(c *actorx.Context, msg any) {
	switch m := msg.(type) {
	case *delivery:
		k.accept(c, m.msg)
	case beat:
		k.beat(c)
	case drain:
		k.draining = append(k.draining, m.reply)
		k.drained()
	}
}

func (k *keeper) accept(c *actorx.Context, msg jetstream.Msg) {
	meta, err := msg.Metadata()
	if err != nil {
		k.host.log.Error("message without metadata", zap.Error(err))
		return
	}
	seq := meta.Sequence.Stream
	if _, ok := k.inFlight[seq]; ok { // its AckWait passed while it is being worked on; the heartbeats are for the new one
		k.inFlight[seq] = msg
		return
	}
	if len(k.draining) > 0 {
		k.host.giveBack(msg)
		return
	}
	k.inFlight[seq] = msg
	if !k.beating {
		k.beating = true
		c.After(k.host.ackWait/3, beat{})
	}
	// The task settles the message itself: it knows how it ended even when the actor is gone.
	actorx.Async(c, func(ctx context.Context) (struct{}, error) {
		k.host.settle(msg, k.host.process(ctx, msg, meta))
		return struct{}{}, nil
	}, func(_ *actorx.Context, _ struct{}, err error) {
		if err != nil { // process crashed: AckWait gives the message to the next, and the ledger tells how far it got
			k.host.log.Error("task crashed", zap.Error(err))
		}
		delete(k.inFlight, seq)
		k.drained()
	})
}

func (k *keeper) beat(c *actorx.Context) {
	for _, msg := range k.inFlight {
		if err := msg.InProgress(); err != nil {
			k.host.log.Debug("heartbeat not sent", zap.Error(err))
		}
	}
	if k.beating = len(k.inFlight) > 0; k.beating {
		c.After(k.host.ackWait/3, beat{})
	}
}

func (k *keeper) drained() {
	if len(k.inFlight) > 0 {
		return
	}
	for _, r := range k.draining {
		r.Send(struct{}{})
	}
}

// process reads a message and performs it. One that cannot be read goes to the dead letters.
func (h *Host) process(ctx context.Context, msg jetstream.Msg, meta *jetstream.MsgMetadata) verdict {
	var r protocol.EffectRequest
	err := protocol.Unmarshal(msg.Data(), &r)
	if err == nil {
		err = h.check(&r, msg.Subject())
	}
	if err == nil {
		return h.perform(ctx, &r, meta.Sequence.Stream, meta.NumDelivered)
	}
	operator := operatorOf(msg.Subject())
	h.log.Error("unreadable effect request", zap.String("subject", msg.Subject()), zap.Error(err))
	letter := protocol.DeadLetter{
		ID: fmt.Sprintf("effect-message/%d-%d", meta.Sequence.Stream, meta.Timestamp.UnixNano()), Operator: operator,
		Subject: msg.Subject(), Reason: protocol.AsError(err), Attempts: 1, Raw: msg.Data(),
	}
	if err := h.conn.PublishDead(ctx, letter); err != nil {
		return h.trouble(ctx, h.log, "publish dead letter", err)
	}
	return verdict{fate: fateAck}
}

// check refuses a request that is not what its subject says.
func (h *Host) check(r *protocol.EffectRequest, subject string) error {
	switch {
	case wire.CheckOperator(string(r.Operator)) != nil:
		return invalidRequest("operator", "is no operator id")
	case r.M == 0:
		return invalidRequest("m", "counts from 1")
	case len(r.Effects) == 0:
		return invalidRequest("effects", "is empty")
	case r.Kind != h.family:
		return invalidRequest("kind", "is not that of the subject")
	case h.conn.Names().Effect(r.Kind, string(r.Operator), r.Instance) != subject:
		return invalidRequest("instance", "is not that of the subject")
	}
	for _, e := range r.Effects {
		if protocol.FamilyOf(e.Effect.Effect) != h.family {
			return invalidRequest("effects", "holds an effect of another family")
		}
	}
	return nil
}

func invalidRequest(field, what string) error {
	return protocol.NewError(protocol.CodeInvalidInput, "invalid input: field "+field+": "+what).With("field", field)
}

// operatorOf reads the operator out of the subject of an effect.
func operatorOf(subject string) protocol.OperatorID {
	tokens := strings.Split(subject, ".")
	if len(tokens) == 5 && wire.ValidOperator(tokens[3]) {
		return protocol.OperatorID(tokens[3])
	}
	return "unknown"
}
