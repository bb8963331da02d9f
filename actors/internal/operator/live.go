package operator

import (
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/zap"

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

// startDelay is how long the first event of a run may wait for the next one. Runs that end sooner cost one flush of the
// connection and not two; the event has the time at which it happened.
const startDelay = 2 * time.Millisecond

// live publishes the events of one run that keeps no log. They are for whoever listens just then.
type live struct {
	host *Host
	inv  *protocol.Invocation

	mu    sync.Mutex
	seq   uint64
	first event // held back while it has a kind
	// For one event after the other:
	msg   nats.Msg
	event protocol.Event
	buf   []byte
}

type event struct {
	kind protocol.EventKind
	at   time.Time
	data []byte
}

var _ protocol.EventSink = (*live)(nil)

// start holds the first event back for a moment.
func (l *live) start(in protocol.OperatorInput) {
	data := l.host.startedByUser
	if in.Session != nil || in.Trigger != protocol.TriggerUser {
		data = startedData(l.inv.Operator, in.Trigger, in.Session)
	}
	l.mu.Lock()
	l.first = event{kind: protocol.EventInvocationStarted, at: time.Now().UTC(), data: data}
	l.mu.Unlock()
	l.host.held.add(l)
}

func startedData(id protocol.OperatorID, trigger protocol.TriggerType, session *protocol.SessionID) []byte {
	data, err := protocol.Marshal(started{Operator: id, Trigger: trigger, Session: session})
	if err != nil { // strings can always be written
		return truncated
	}
	return data
}

// release publishes what was held back. The caller holds the lock.
func (l *live) release() {
	if l.first.kind != "" {
		first := l.first
		l.first = event{}
		l.publish(first)
	}
}

// holder releases the first events of runs that go on. It has one timer for all of them.
type holder struct {
	mu    sync.Mutex
	runs  []*live
	timer *time.Timer
}

func (h *holder) add(l *live) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs = append(h.runs, l)
	switch {
	case h.timer == nil:
		h.timer = time.AfterFunc(startDelay, h.release)
	case len(h.runs) == 1:
		h.timer.Reset(startDelay)
	}
}

// close releases what is held and ends the timer. Runs that begin later are refused before.
func (h *holder) close() {
	h.mu.Lock()
	if h.timer != nil {
		h.timer.Stop()
	}
	h.mu.Unlock()
	h.release()
}

func (h *holder) release() {
	h.mu.Lock()
	runs := h.runs
	h.runs = nil
	h.mu.Unlock()
	for _, l := range runs {
		l.mu.Lock()
		l.release()
		l.mu.Unlock()
	}
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

func (l *live) emit(kind protocol.EventKind, data []byte) {
	now := time.Now().UTC()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.release()
	l.publish(event{kind: kind, at: now, data: data})
}

// envelope is what an event without its data takes, but for long ids.
const envelope = 512

// truncated is the data of an event that would be too large for a message.
var truncated = []byte(`{"truncated":true}`)

// publish numbers and sends an event. The caller holds the lock, so that the order is that of the numbers.
func (l *live) publish(e event) {
	l.seq++
	if l.host.cfg.Conn.CheckSize("event", len(e.data)) != nil {
		e.data = truncated
	}
	l.event = protocol.Event{
		ID: string(l.inv.Run) + "/" + strconv.FormatUint(l.seq, 10), Kind: e.kind, Operator: l.inv.Operator, Instance: l.inv.Instance,
		Run: l.inv.Run, Parent: l.inv.Parent, Seq: l.seq, Time: e.at, Trace: l.inv.Trace, Data: e.data,
	}
	if need := len(e.data) + envelope; cap(l.buf) < need {
		l.buf = make([]byte, 0, need)
	}
	body, err := protocol.Append(l.buf[:0], &l.event)
	if err != nil {
		l.host.log.Warn("event not written", zap.String("kind", string(e.kind)), zap.Error(err))
		return
	}
	l.msg.Subject = l.host.cfg.Conn.Names().Live(string(l.inv.Operator), l.inv.Instance, string(e.kind))
	l.msg.Data, l.msg.Header, l.buf = body, kindHeader(e.kind), body
	err = l.host.cfg.Conn.NATS().PublishMsg(&l.msg) // it is written out when this returns
	if err != nil {
		l.host.log.Debug("event not sent", zap.String("kind", string(e.kind)), zap.Error(err))
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
