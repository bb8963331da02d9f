package task

import (
	"context"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/skelegent/skelegent-go/protocol/wire"
)

// inputs, with the operator behind it, is the name of a consumer of inputs.
const inputs = "in_"

// Defaults of ConsumerConfig.
const (
	DefaultAckWait       = 30 * time.Second
	DefaultMaxAckPending = 1000
)

// ConsumerConfig says how tasks are handed out. It holds for all nodes: the last one to ask decides.
type ConsumerConfig struct {
	// AckWait is how long a task may go without a sign of life before somebody else gets it; DefaultAckWait if 0.
	AckWait time.Duration
	// MaxAckPending is how many tasks may be worked on at a time, on all nodes together; DefaultMaxAckPending if 0.
	MaxAckPending int
}

// Inputs returns the consumer of an operator's inputs, which it creates or changes as needed. It delivers a task until
// that is acknowledged, however often. A cluster without a leader it waits for until ctx ends.
func (t *Tasks) Inputs(ctx context.Context, operator string, cfg ConsumerConfig) (jetstream.Consumer, error) {
	return t.consumer(ctx, inputs+operator, operator, t.conn.Names().Task(operator), cfg)
}

// Wakes is Inputs for what wakes the operator's instances: of its own, so that they never wait behind inputs.
func (t *Tasks) Wakes(ctx context.Context, operator string, cfg ConsumerConfig) (jetstream.Consumer, error) {
	return t.consumer(ctx, "wake_"+operator, operator, t.conn.Names().WakesOf(operator), cfg)
}

func (t *Tasks) consumer(ctx context.Context, name, operator, filter string, cfg ConsumerConfig) (jetstream.Consumer, error) {
	if err := wire.CheckOperator(operator); err != nil {
		return nil, invalid("%v", err)
	}
	if cfg.AckWait < 0 || cfg.MaxAckPending < 0 {
		return nil, invalid("AckWait and MaxAckPending must not be negative")
	}
	if cfg.AckWait == 0 {
		cfg.AckWait = DefaultAckWait
	}
	if cfg.MaxAckPending == 0 {
		cfg.MaxAckPending = DefaultMaxAckPending
	}
	var consumer jetstream.Consumer
	err := t.insist(ctx, "consumer "+name, func(ctx context.Context) (err error) {
		consumer, err = t.conn.JetStream().CreateOrUpdateConsumer(ctx, t.tasks, jetstream.ConsumerConfig{
			Durable: name, FilterSubject: filter, AckPolicy: jetstream.AckExplicitPolicy, MaxDeliver: -1,
			AckWait: cfg.AckWait, MaxAckPending: cfg.MaxAckPending,
		})
		return err
	})
	return consumer, err
}

// Where the stream is in an acknowledgement's subject, and how many tokens that has: $JS.ACK.<stream>.<consumer>.<five
// numbers>, or with domain and account before the stream and perhaps one token more at the end.
const (
	ackPrefix                  = "$JS.ACK."
	ackTokens, ackStream       = 9, 2
	longAckTokens, longAckAddr = 11, 4
)

// GiveBack has a delivery handed out again at once, to whoever asks next: that of the acknowledgement's subject, which may be
// another process's. It is for who knows that nobody works on it any more: one that was handed out again since is handed
// out once more, one that is acknowledged stays so. It returns when the server has done it.
func (t *Tasks) GiveBack(ctx context.Context, ackSubject string) error {
	tokens := strings.Split(ackSubject, ".")
	ok := len(tokens) == ackTokens && tokens[ackStream] == t.tasks ||
		len(tokens) >= longAckTokens && tokens[longAckAddr] == t.tasks
	if !ok || !strings.HasPrefix(ackSubject, ackPrefix) || !literal(ackSubject) {
		return invalid("acknowledgement %.200q: must start with %s and be of stream %s", ackSubject, ackPrefix, t.tasks)
	}
	return t.insist(ctx, "give back", func(ctx context.Context) error {
		_, err := t.conn.NATS().RequestWithContext(ctx, ackSubject, []byte("-NAK"))
		return err
	})
}
