package operator

import (
	"encoding/json"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// The data of the events that a node itself publishes.
type (
	started struct {
		Operator protocol.OperatorID  `json:"operator"`
		Trigger  protocol.TriggerType `json:"trigger"`
		Session  *protocol.SessionID  `json:"session,omitempty"`
	}
	declared struct {
		EffectID string              `json:"effect_id"`
		Kind     protocol.EffectKind `json:"kind"`
	}
	completed struct {
		Output json.RawMessage `json:"output"`
	}
	failed struct {
		Error *protocol.Error `json:"error"`
	}
)

// live publishes the events of one run that keeps no log. They are for whoever listens just then.
type live struct {
	conn *bus.Conn
	log  *zap.Logger
	inv  *protocol.Invocation
	seq  atomic.Uint64
}

var _ protocol.EventSink = (*live)(nil)

func (l *live) emitStarted(in protocol.OperatorInput) {
	l.Emit(protocol.EventInvocationStarted, started{Operator: l.inv.Operator, Trigger: in.Trigger, Session: in.Session})
}

// truncated is the data of an event that would be too large for a message.
var truncated = json.RawMessage(`{"truncated":true}`)

// Emit implements protocol.EventSink. An event whose data is too large for a message goes out without it.
func (l *live) Emit(kind protocol.EventKind, data any) {
	body, err := protocol.Marshal(data)
	if err != nil {
		l.log.Warn("event not written", zap.String("kind", string(kind)), zap.Error(err))
		return
	}
	if l.conn.CheckSize("event", len(body)) != nil {
		body = truncated
	}
	seq := l.seq.Add(1)
	event, err := protocol.Marshal(protocol.Event{
		ID: string(l.inv.Run) + "/" + strconv.FormatUint(seq, 10), Kind: kind, Operator: l.inv.Operator, Instance: l.inv.Instance,
		Run: l.inv.Run, Parent: l.inv.Parent, Seq: seq, Time: time.Now().UTC(), Trace: l.inv.Trace, Data: body,
	})
	if err != nil {
		l.log.Warn("event not written", zap.String("kind", string(kind)), zap.Error(err))
		return
	}
	err = l.conn.NATS().PublishMsg(&nats.Msg{
		Subject: l.conn.Names().Live(string(l.inv.Operator), l.inv.Instance, string(kind)), Data: event,
		Header: nats.Header{wire.HeaderKind: {string(kind)}, wire.HeaderRunID: {string(l.inv.Run)}},
	})
	if err != nil {
		l.log.Debug("event not sent", zap.String("kind", string(kind)), zap.Error(err))
	}
}
