package operator

import (
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// The data of the events that a node itself publishes. That of completed is written by hand.
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

// startDelay is how long the first event of a run may wait for the next one. Most runs that end sooner cost one flush of
// the connection and not two; the event has the time at which it happened.
const startDelay = 2 * time.Millisecond

// live publishes the events of one run that keeps no log. They are for whoever listens just then.
type live struct {
	conn *bus.Conn
	log  *zap.Logger
	inv  *protocol.Invocation

	mu    sync.Mutex
	seq   uint64
	first *event // not yet published
	timer *time.Timer
}

type event struct {
	kind protocol.EventKind
	at   time.Time
	data []byte
}

var _ protocol.EventSink = (*live)(nil)

// start holds the first event back for a moment.
func (l *live) start(in protocol.OperatorInput) {
	data, err := protocol.Marshal(started{Operator: l.inv.Operator, Trigger: in.Trigger, Session: in.Session})
	if err != nil {
		l.log.Warn("event not written", zap.Error(err))
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.first = &event{kind: protocol.EventInvocationStarted, at: time.Now().UTC(), data: data}
	l.timer = time.AfterFunc(startDelay, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.release()
	})
}

// release publishes what was held back. The caller holds the lock.
func (l *live) release() {
	if l.first == nil {
		return
	}
	l.timer.Stop()
	first := l.first
	l.first = nil
	l.publish(first)
}

// Emit implements protocol.EventSink. An event whose data is too large for a message goes out without it.
func (l *live) Emit(kind protocol.EventKind, data any) {
	body, err := protocol.Marshal(data)
	if err != nil {
		l.log.Warn("event not written", zap.String("kind", string(kind)), zap.Error(err))
		return
	}
	l.emit(kind, body)
}

func (l *live) emit(kind protocol.EventKind, data []byte) {
	now := time.Now().UTC()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.release()
	l.publish(&event{kind: kind, at: now, data: data})
}

// completed publishes the end of a run whose output is written already.
func (l *live) completed(output []byte) {
	data := make([]byte, 0, len(output)+len(`{"output":}`))
	data = append(append(append(data, `{"output":`...), output...), '}')
	l.emit(protocol.EventCompleted, data)
}

// truncated is the data of an event that would be too large for a message.
var truncated = []byte(`{"truncated":true}`)

// publish numbers and sends an event. The caller holds the lock, so that the order is that of the numbers.
func (l *live) publish(e *event) {
	l.seq++
	if l.conn.CheckSize("event", len(e.data)) != nil {
		e.data = truncated
	}
	body, err := protocol.Marshal(protocol.Event{
		ID: string(l.inv.Run) + "/" + strconv.FormatUint(l.seq, 10), Kind: e.kind, Operator: l.inv.Operator, Instance: l.inv.Instance,
		Run: l.inv.Run, Parent: l.inv.Parent, Seq: l.seq, Time: e.at, Trace: l.inv.Trace, Data: e.data,
	})
	if err != nil {
		l.log.Warn("event not written", zap.String("kind", string(e.kind)), zap.Error(err))
		return
	}
	err = l.conn.NATS().PublishMsg(&nats.Msg{
		Subject: l.conn.Names().Live(string(l.inv.Operator), l.inv.Instance, string(e.kind)), Data: body, Header: kindHeader(e.kind),
	})
	if err != nil {
		l.log.Debug("event not sent", zap.String("kind", string(e.kind)), zap.Error(err))
	}
}

// kindHeaders are shared by all events: nobody changes the header of a message that is published.
var kindHeaders = func() map[protocol.EventKind]nats.Header {
	all := map[protocol.EventKind]nats.Header{}
	for _, k := range protocol.EventKinds() {
		all[k] = nats.Header{wire.HeaderKind: {string(k)}}
	}
	return all
}()

func kindHeader(kind protocol.EventKind) nats.Header {
	if h, ok := kindHeaders[kind]; ok {
		return h
	}
	return nats.Header{wire.HeaderKind: {string(kind)}} // a kind of an operator's own
}
