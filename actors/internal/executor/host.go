package executor

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/effect"
	"github.com/skelegent/skelegent-go/actors/internal/actorx"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// Config of a Host.
type Config struct {
	Conn     *bus.Conn
	Family   string
	Executor effect.Executor
	Options  effect.Options
	// Identity names this executor in ledgers; it must be unique to this start of the node.
	Identity string
	// AckWait is after how long without a heartbeat a message goes to another executor; 10 s if 0.
	AckWait time.Duration
	// LedgerTTL is how long the ledgers of ephemeral instances are kept; 7 days if 0.
	LedgerTTL time.Duration
	Logger    *zap.Logger
}

// Host is the executor of one family on one node.
type Host struct {
	conn     *bus.Conn
	family   string
	executor effect.Executor
	opts     effect.Options
	ackWait  time.Duration
	book     *book
	effects  jetstream.Stream
	stream   int64 // when it was made
	log      *zap.Logger
	ref      *actorx.Ref
	consume  jetstream.ConsumeContext
	leave    func()
	leaving  chan struct{} // closed when Drain has begun

	ok, failed, unknown atomic.Uint64
}

// Start creates the family's consumer if it is missing and begins to take messages.
func Start(ctx context.Context, sys *actorx.System, cfg Config) (*Host, error) {
	if cfg.AckWait <= 0 {
		cfg.AckWait = 10 * time.Second
	}
	if cfg.LedgerTTL <= 0 {
		cfg.LedgerTTL = 7 * 24 * time.Hour
	}
	if cfg.Logger == nil {
		cfg.Logger = zap.NewNop()
	}
	names := cfg.Conn.Names()
	leaving := make(chan struct{})
	h := &Host{
		leaving: leaving, leave: sync.OnceFunc(func() { close(leaving) }),
		conn: cfg.Conn, family: cfg.Family, executor: cfg.Executor, opts: cfg.Options.WithDefaults(), ackWait: cfg.AckWait,
		log: cfg.Logger.Named("executor").With(zap.String("family", cfg.Family)),
		book: &book{
			log: runlog.New(cfg.Conn.JetStream(), names), names: names, family: cfg.Family,
			executor: cfg.Identity, ttl: cfg.LedgerTTL,
		},
	}
	stream, err := cfg.Conn.JetStream().Stream(ctx, names.Stream(wire.StreamEffects))
	if err != nil {
		return nil, bus.Translate("look up effects", err)
	}
	h.effects, h.stream = stream, stream.CachedInfo().Created.UnixNano()
	consumer, err := stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable:       ConsumerName(cfg.Family),
		Description:   "Performs effects of family " + cfg.Family + ".",
		FilterSubject: names.EffectsOf(cfg.Family),
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       cfg.AckWait,
		MaxAckPending: h.opts.Concurrency,
		MaxDeliver:    -1,
	})
	if err != nil {
		return nil, bus.Translate("create consumer of effects "+cfg.Family, err)
	}
	if h.ref, err = sys.Spawn("effects."+cfg.Family, func() actorx.Actor { return newKeeper(h) }); err != nil {
		return nil, fmt.Errorf("start executor %s: %w", cfg.Family, err)
	}
	// No more messages than the consumer allows unacknowledged are ever here, so none waits behind another.
	h.consume, err = consumer.Consume(h.deliver, jetstream.PullMaxMessages(h.opts.Concurrency),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
			h.log.Debug("consumer", zap.Error(err))
		}))
	if err != nil {
		return nil, bus.Translate("consume effects "+cfg.Family, err)
	}
	return h, nil
}

// ConsumerName is the durable consumer of a family.
func ConsumerName(family string) string { return "exec_" + wire.Escape(family) }

func (h *Host) deliver(msg jetstream.Msg) {
	if !h.ref.Tell(&delivery{msg: msg}) {
		h.giveBack(msg)
	}
}

func (h *Host) giveBack(msg jetstream.Msg) {
	// Not at once: while this consumer still asks for messages it would come straight back.
	if err := msg.NakWithDelay(conflictDelay); err != nil { // it comes back after AckWait
		h.log.Debug("message not given back", zap.Error(err))
	}
}

// Drain stops the intake, gives back what has not begun and waits for what has, until ctx ends. It is idempotent.
func (h *Host) Drain(ctx context.Context) error {
	h.leave()
	h.consume.Drain()
	select {
	case <-h.consume.Closed():
	case <-ctx.Done():
	}
	_, err := actorx.Ask(ctx, h.ref, func(r actorx.Reply[struct{}]) any { return drain{r} })
	if err != nil {
		return fmt.Errorf("drain executor %s: %w", h.family, err)
	}
	return nil
}

// Family returns the family of effects.
func (h *Host) Family() string { return h.family }

// Counts returns how many effects ended in each way since the start.
func (h *Host) Counts() (ok, failed, unknown uint64) {
	return h.ok.Load(), h.failed.Load(), h.unknown.Load()
}

func (h *Host) count(outcomes []protocol.EffectOutcome) {
	for _, o := range outcomes {
		switch o.Status {
		case protocol.OutcomeOK:
			h.ok.Add(1)
		case protocol.OutcomeFailed:
			h.failed.Add(1)
		case protocol.OutcomeUnknown:
			h.unknown.Add(1)
		}
	}
}

// panicError is what a panic of an Executor becomes. Its value may hold data of the effect and stays out of texts.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string {
	return fmt.Sprintf("executor panicked with %T\n%s", e.value, e.stack)
}

func safely(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = protocol.NewError(protocol.CodeInternal, "the executor panicked; see the node's log").Because(&panicError{value: v, stack: debug.Stack()})
		}
	}()
	return f()
}
