package bus

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// observeBuffer is how many events wait for an observer that is slower than they come; what is beyond is dropped and
// counted.
const observeBuffer = 16 << 10

// Observation is an event as an observer gets it.
type Observation struct {
	Subject string
	// Seq is the sequence in the log, 0 for an event that no log keeps.
	Seq uint64
	// Event is what was read; Err says why it could not be, and Data is the message in any case.
	Event protocol.Event
	Err   error
	Data  []byte
	// Lost counts the events that were dropped so far since the observer was too slow.
	Lost int
}

// ObserveConfig says what to observe.
type ObserveConfig struct {
	// Live are the subjects of events that no log keeps, below skg.live; Log those of committed events, below
	// skg.event. Nothing is observed of what is empty.
	Live, Log string
	// Since is the first sequence of the log to begin with, and then nothing committed is missed, not even while the
	// connection is away; 0 begins with what comes, and misses what comes while it is away.
	Since uint64
	// Ready, if not nil, is called when everything that happens from now on will be observed.
	Ready func()
}

// EventSubjects returns the subjects to observe of an operator, of one instance of it, or of all where both are empty.
func EventSubjects(n wire.Names, operator, instance string) (live, log string) {
	switch {
	case operator == "":
		return n.All("live"), n.All("event")
	case instance == "":
		return n.All("live." + operator), n.All("event." + operator)
	}
	rest := operator + "." + wire.Escape(instance)
	return n.All("live." + rest), n.All("event." + rest)
}

// Observe calls f with each event until f returns false or ctx ends, whose error it then returns. Committed events come
// in the order of the log.
func (c *Conn) Observe(ctx context.Context, cfg ObserveConfig, f func(Observation) bool) error {
	o := &observer{conn: c, core: make(chan *nats.Msg, observeBuffer), stored: make(chan jetstream.Msg)}
	defer o.stop()
	subjects := []string{cfg.Live, cfg.Log}
	if cfg.Since > 0 && cfg.Log != "" {
		subjects = subjects[:1]
		if err := o.consume(ctx, cfg); err != nil {
			return err
		}
	}
	for _, subject := range subjects {
		if err := o.subscribe(subject); err != nil {
			return err
		}
	}
	if err := c.flush(ctx); err != nil {
		return Translate("observe events", err)
	}
	if cfg.Ready != nil {
		cfg.Ready()
	}
	for {
		var seen Observation
		select {
		case m := <-o.core:
			seen = observed(m.Subject, m.Data)
			seen.Seq, _ = strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
		case m := <-o.stored:
			seen = observed(c.Names().Event(m.Subject()), m.Data())
			if meta, err := m.Metadata(); err == nil {
				seen.Seq = meta.Sequence.Stream
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		seen.Lost = o.lost()
		if !f(seen) {
			return nil
		}
	}
}

// flush returns when the server has seen what was sent. The client wants a deadline for it.
func (c *Conn) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	return c.NATS().FlushWithContext(ctx)
}

func observed(subject string, data []byte) Observation {
	event, err := protocol.DecodeEvent(data)
	return Observation{Subject: subject, Event: event, Err: err, Data: data}
}

// observer is what Observe has to stop.
type observer struct {
	conn   *Conn
	core   chan *nats.Msg
	stored chan jetstream.Msg
	subs   []*nats.Subscription
	reader jetstream.ConsumeContext
	end    context.CancelFunc
}

func (o *observer) subscribe(subject string) error {
	if subject == "" {
		return nil
	}
	sub, err := o.conn.NATS().ChanSubscribe(subject, o.core)
	if err != nil {
		return Translate("observe "+subject, err)
	}
	o.subs = append(o.subs, sub)
	return nil
}

// consume reads the log itself: an ordered consumer goes on where it was after any interruption.
func (o *observer) consume(ctx context.Context, cfg ObserveConfig) error {
	names := o.conn.Names()
	rest, ok := strings.CutPrefix(cfg.Log, names.Prefix()+".event.")
	if !ok {
		return protocol.NewError(protocol.CodeInvalidInput, fmt.Sprintf("invalid input: subject %.200s is not below %s", cfg.Log, names.All("event")))
	}
	consumer, err := o.conn.JetStream().OrderedConsumer(ctx, names.Stream(wire.StreamLog), jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{names.Prefix() + ".log." + rest},
		DeliverPolicy:  jetstream.DeliverByStartSequencePolicy, OptStartSeq: cfg.Since, InactiveThreshold: scanIdle,
	})
	if err != nil {
		return Translate("read the log", err)
	}
	ctx, o.end = context.WithCancel(ctx)
	o.reader, err = consumer.Consume(func(m jetstream.Msg) {
		select {
		case o.stored <- m:
		case <-ctx.Done():
		}
	})
	return Translate("read the log", err)
}

func (o *observer) lost() int {
	n := 0
	for _, sub := range o.subs {
		if dropped, err := sub.Dropped(); err == nil {
			n += dropped
		}
	}
	return n
}

func (o *observer) stop() {
	for _, sub := range o.subs {
		_ = sub.Unsubscribe() // the connection may be gone, and then so is the subscription
	}
	if o.end != nil {
		o.end()
	}
	if o.reader != nil {
		o.reader.Stop()
		<-o.reader.Closed()
	}
}
