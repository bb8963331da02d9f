package operator

import (
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// Events wait for company: each flush of a connection wakes goroutines on both of its ends, which costs more than the
// events themselves. They carry the time at which they happened.
const (
	maxDelay   = time.Millisecond
	maxPending = 512
	maxBytes   = 256 << 10
)

// emitter publishes the events of all runs of an operator, in the order in which they come.
type emitter struct {
	conn *bus.Conn
	log  *zap.Logger

	sending sync.Mutex // held while a batch is published, so that batches keep their order
	msg     nats.Msg
	spare   []pending

	mu    sync.Mutex
	queue []pending
	bytes int
	timer *time.Timer
	armed bool
}

type pending struct {
	subject string
	kind    protocol.EventKind
	body    []byte
}

func (e *emitter) add(p pending) {
	e.mu.Lock()
	e.queue = append(e.queue, p)
	e.bytes += len(p.body)
	full := len(e.queue) >= maxPending || e.bytes >= maxBytes
	if !e.armed && !full {
		e.armed = true
		if e.timer == nil {
			e.timer = time.AfterFunc(maxDelay, e.flush)
		} else {
			e.timer.Reset(maxDelay)
		}
	}
	e.mu.Unlock()
	if full {
		e.flush()
	}
}

// flush publishes what there is.
func (e *emitter) flush() {
	e.sending.Lock()
	defer e.sending.Unlock()
	e.mu.Lock()
	batch := e.queue
	e.queue, e.bytes, e.armed = e.spare[:0], 0, false
	e.mu.Unlock()
	for i, p := range batch {
		e.msg.Subject, e.msg.Data, e.msg.Header = p.subject, p.body, kindHeader(p.kind)
		if err := e.conn.NATS().PublishMsg(&e.msg); err != nil { // it is copied when this returns
			e.log.Debug("event not sent", zap.String("kind", string(p.kind)), zap.Error(err))
		}
		batch[i] = pending{}
	}
	e.spare = batch
}

// close publishes the rest. Nothing may be added after.
func (e *emitter) close() {
	e.mu.Lock()
	if e.timer != nil {
		e.timer.Stop()
	}
	e.mu.Unlock()
	e.flush()
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
