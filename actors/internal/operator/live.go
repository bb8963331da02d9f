package operator

import (
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/protocol"
)

// The data of the events that a node itself publishes; that of completed is written by hand.
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
	failed struct {
		Error *protocol.Error `json:"error"`
	}
)

// live makes the events of one run that keeps no log. They are for whoever listens just then.
type live struct {
	host *Host
	inv  *protocol.Invocation

	mu    sync.Mutex
	seq   uint64
	event protocol.Event
}

var _ protocol.EventSink = (*live)(nil)

func (l *live) started(in protocol.OperatorInput) {
	data := l.host.startedByUser
	if in.Session != nil || in.Trigger != protocol.TriggerUser {
		data = startedData(l.inv.Operator, in.Trigger, in.Session)
	}
	l.emit(protocol.EventInvocationStarted, data)
}

func startedData(id protocol.OperatorID, trigger protocol.TriggerType, session *protocol.SessionID) []byte {
	data, err := protocol.Marshal(started{Operator: id, Trigger: trigger, Session: session})
	if err != nil { // strings can always be written
		return truncated
	}
	return data
}

// Emit implements protocol.EventSink. An event whose data is too large for a message goes out without it.
func (l *live) Emit(kind protocol.EventKind, data any) {
	body, err := protocol.Marshal(data)
	if err != nil {
		l.host.log.Warn("event not written", zap.String("kind", string(kind)), zap.Error(err))
		return
	}
	l.emit(kind, body)
}

// truncated is the data of an event that would be too large for a message.
var truncated = []byte(`{"truncated":true}`)

// emit numbers an event and hands it over under one lock, so that the order is that of the numbers.
func (l *live) emit(kind protocol.EventKind, data []byte) {
	conn := l.host.cfg.Conn
	if conn.CheckSize("event", len(data)) != nil {
		data = truncated
	}
	subject := conn.Names().Live(string(l.inv.Operator), l.inv.Instance, string(kind))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	l.event = protocol.Event{
		ID: string(l.inv.Run) + "/" + strconv.FormatUint(l.seq, 10), Kind: kind, Operator: l.inv.Operator, Instance: l.inv.Instance,
		Run: l.inv.Run, Parent: l.inv.Parent, Seq: l.seq, Time: time.Now().UTC(), Trace: l.inv.Trace, Data: data,
	}
	body, err := protocol.Marshal(&l.event)
	if err != nil {
		l.host.log.Warn("event not written", zap.String("kind", string(kind)), zap.Error(err))
		return
	}
	l.host.events.add(pending{subject: subject, kind: kind, body: body})
}
