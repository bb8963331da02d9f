package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// DeadMessage is a dead letter as it is stored. Letters with the same id are one, the newest; Copies counts them all.
type DeadMessage struct {
	Seq    uint64              `json:"seq"`
	Time   time.Time           `json:"time"`
	Letter protocol.DeadLetter `json:"letter"`
	Copies []uint64            `json:"copies"` // the sequences of all of them, rising
}

// DeadLetters returns the newest letters about an operator, or about all if it is empty: at most limit, newest first.
func (c *Conn) DeadLetters(ctx context.Context, operator string, limit int) ([]DeadMessage, error) {
	for n := limit; ; n *= 8 {
		whole := false
		found, err := c.deadLetters(ctx, operator, func(stream jetstream.Stream, f func(jetstream.Msg)) (err error) {
			whole, err = c.scanLast(ctx, stream, c.deadFilter(operator), n, f)
			return err
		})
		if err != nil || whole || len(found) >= limit {
			return found[:min(len(found), limit)], err
		}
	}
}

// FindDead returns the letter with an id, or with a sequence: not_found if there is none.
func (c *Conn) FindDead(ctx context.Context, idOrSeq string) (DeadMessage, error) {
	found, err := c.deadLetters(ctx, "", func(stream jetstream.Stream, f func(jetstream.Msg)) error {
		return c.scan(ctx, stream, c.deadFilter(""), 1, func(m jetstream.Msg) bool { f(m); return true })
	})
	if err != nil {
		return DeadMessage{}, err
	}
	seq, _ := strconv.ParseUint(idOrSeq, 10, 64)
	for _, d := range found {
		if d.Letter.ID == idOrSeq || slices.Contains(d.Copies, seq) {
			return d, nil
		}
	}
	return DeadMessage{}, protocol.NewError(protocol.CodeNotFound, fmt.Sprintf("dead letter not found: %.200s", idOrSeq))
}

func (c *Conn) deadFilter(operator string) string {
	if operator == "" {
		operator = "*"
	}
	return c.Names().Dead(operator)
}

// deadLetters collapses what read finds, newest first.
func (c *Conn) deadLetters(ctx context.Context, operator string, read func(jetstream.Stream, func(jetstream.Msg)) error) ([]DeadMessage, error) {
	if operator != "" {
		if err := wire.CheckOperator(operator); err != nil {
			return nil, protocol.NewError(protocol.CodeInvalidInput, "invalid input: "+err.Error())
		}
	}
	stream, err := c.JetStream().Stream(ctx, c.Names().Stream(wire.StreamDead))
	if err != nil {
		return nil, Translate("read dead letters", err)
	}
	byID := map[string]*DeadMessage{}
	err = read(stream, func(m jetstream.Msg) {
		d := parseDead(m)
		if old, ok := byID[d.Letter.ID]; ok {
			d.Copies = append(old.Copies, d.Seq)
		}
		byID[d.Letter.ID] = &d
	})
	if err != nil {
		return nil, Translate("read dead letters", err)
	}
	all := make([]DeadMessage, 0, len(byID))
	for _, d := range byID {
		all = append(all, *d)
	}
	slices.SortFunc(all, func(a, b DeadMessage) int { return cmp.Compare(b.Seq, a.Seq) })
	return all, nil
}

// parseDead reads a letter. One that is no letter becomes one that says so, with the message in it.
func parseDead(m jetstream.Msg) DeadMessage {
	var d DeadMessage
	if meta, err := m.Metadata(); err == nil {
		d.Seq, d.Time = meta.Sequence.Stream, meta.Timestamp
	}
	d.Copies = []uint64{d.Seq}
	err := protocol.Unmarshal(m.Data(), &d.Letter)
	if err == nil && d.Letter.Reason != nil {
		return d
	}
	reason := protocol.AsError(err)
	if reason == nil {
		reason = protocol.NewError(protocol.CodeInvalidInput, "the letter gives no reason")
	}
	operator := m.Subject()[strings.LastIndexByte(m.Subject(), '.')+1:]
	d.Letter = protocol.DeadLetter{
		ID: fmt.Sprintf("seq/%d", d.Seq), Operator: protocol.OperatorID(operator), Subject: m.Subject(), Reason: reason, Raw: m.Data(),
	}
	return d
}

// RetryDead gives the input of a run that failed to its operator again, as a run of its own, or asks executors for the effect
// of a letter again, under the same effect id; and removes the letter once that is stored. For an effect it is an instance of its own, since the ledger of the old one says that the effect has ended; the instance is
// named after the letter, so that to do this twice for one letter performs the effect once.
func (c *Conn) RetryDead(ctx context.Context, d DeadMessage) error {
	l := d.Letter
	if len(l.Input) > 0 {
		msg := &nats.Msg{Subject: c.Names().Task(string(l.Operator)), Data: l.Input, Header: nats.Header{}}
		// The same however often this is done: it is one run.
		EncodeCall(msg.Header, protocol.Call{Run: protocol.RunID(fmt.Sprintf("%s~retry-%d", l.Run, d.Seq))}, time.Time{})
		if _, err := c.JetStream().PublishMsg(ctx, msg, jetstream.WithExpectStream(c.Names().Stream(wire.StreamTasks))); err != nil {
			return Translate("give input again", err)
		}
		return c.DropDead(ctx, d)
	}
	if l.Effect == nil {
		return protocol.NewError(protocol.CodeUnsupported, "dead letter "+l.ID+" holds no effect that can be tried again; see its raw message, and drop it")
	}
	err := c.PublishEffects(ctx, []protocol.EffectRequest{{
		Operator: l.Operator, Instance: fmt.Sprintf("retry-%d-%d", d.Seq, d.Time.UnixNano()), Run: l.Run,
		Kind: protocol.FamilyOf(l.Effect.Effect.Effect), M: 1, Effects: []protocol.RequestedEffect{*l.Effect}, Ephemeral: true,
	}})
	if err != nil {
		return err
	}
	return c.DropDead(ctx, d)
}

// DropDead removes a letter, all its copies. One that is gone already is no error.
func (c *Conn) DropDead(ctx context.Context, d DeadMessage) error {
	stream, err := c.JetStream().Stream(ctx, c.Names().Stream(wire.StreamDead))
	if err != nil {
		return Translate("drop dead letter", err)
	}
	for _, seq := range d.Copies {
		err := stream.DeleteMsg(ctx, seq)
		if err == nil {
			continue
		}
		// The server says of a sequence that it has not, and of one that it cannot delete, the same.
		if _, lookErr := stream.GetMsg(ctx, seq); !errors.Is(lookErr, jetstream.ErrMsgNotFound) {
			return Translate("drop dead letter "+d.Letter.ID, err)
		}
	}
	return nil
}
