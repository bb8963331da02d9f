package operator

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/internal/actorx"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/protocol"
)

// Config of a Host.
type Config struct {
	Conn     *bus.Conn
	ID       protocol.OperatorID
	Operator protocol.Operator
	// Concurrency is how many requests run at a time; 64 if 0.
	Concurrency int
	// Waiting is how many more may wait; ten times the concurrency, at least 64, if 0. Negative is none.
	Waiting int
	// WaitingBytes bounds what waits in bytes; 64 MiB if 0.
	WaitingBytes int
	// MaxDuration bounds a run whose caller gives no earlier deadline; 15 minutes if 0.
	MaxDuration time.Duration
	// Enqueue stores a request as a task, whose runner answers. Nil executes the operator here.
	Enqueue func(ctx context.Context, task *nats.Msg) error
	Logger  *zap.Logger
}

func (c Config) withDefaults() Config {
	if c.Concurrency <= 0 {
		c.Concurrency = 64
	}
	if c.Waiting == 0 {
		c.Waiting = max(64, 10*c.Concurrency)
	}
	c.Waiting = max(0, c.Waiting)
	if c.WaitingBytes <= 0 {
		c.WaitingBytes = 64 << 20
	}
	if c.MaxDuration <= 0 {
		c.MaxDuration = 15 * time.Minute
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c
}

// Queue is the queue group of every operator: one node of those that host it gets a request.
const Queue = "q"

// Host is one operator on one node.
type Host struct {
	cfg   Config
	log   *zap.Logger
	stats *Stats
	// events of all runs
	events *emitter
	// startedByUser is the data of the first event of most runs.
	startedByUser []byte
	ref           *actorx.Ref
	sub           *nats.Subscription

	closed func()        // says that the subscription has handed over its last message
	over   chan struct{} // closed by it
	gone   atomic.Bool   // Drain was called
}

// Start spawns the actor and subscribes. The operator answers when Start has returned and the connection is flushed.
func Start(sys *actorx.System, cfg Config) (*Host, error) {
	h := &Host{cfg: cfg.withDefaults(), stats: &Stats{}, over: make(chan struct{})}
	h.closed = sync.OnceFunc(func() { close(h.over) })
	h.log = h.cfg.Logger.Named("operator").With(zap.String("operator", string(cfg.ID)))
	h.events = &emitter{conn: cfg.Conn, log: h.log}
	h.startedByUser = startedData(cfg.ID, protocol.TriggerUser, nil)
	var err error
	if h.ref, err = sys.Spawn("operator."+string(cfg.ID), func() actorx.Actor { return &admission{host: h} }, actorx.Inline()); err != nil {
		return nil, fmt.Errorf("start operator %s: %w", cfg.ID, err)
	}
	nc := cfg.Conn.NATS()
	if h.sub, err = nc.QueueSubscribe(cfg.Conn.Names().Op(string(cfg.ID)), Queue, h.intake); err != nil {
		return nil, bus.Translate("subscribe for operator "+string(cfg.ID), err)
	}
	h.sub.SetClosedHandler(func(string) { h.closed() })
	return h, nil
}

// intake runs in the subscription's goroutine and only hands over, so that nothing piles up there.
func (h *Host) intake(m *nats.Msg) {
	if !h.ref.Tell(&request{msg: m}) {
		h.refuse(m, errDraining)
	}
}

// Drain unsubscribes, answers what waits with unavailable, and waits for what runs until ctx ends. It is idempotent.
func (h *Host) Drain(ctx context.Context) error {
	if h.gone.CompareAndSwap(false, true) {
		if err := h.sub.Drain(); err != nil {
			h.log.Warn("subscription not drained", zap.Error(err))
			h.closed()
		}
	}
	if !h.cfg.Conn.NATS().IsConnected() { // then nobody says when it is over, and nothing comes
		h.closed()
	}
	h.ref.Tell(closing{}) // what waits need not wait for the subscription
	select {
	case <-h.over:
	case <-ctx.Done():
	}
	if _, err := actorx.Ask(ctx, h.ref, func(r actorx.Reply[struct{}]) any { return drain{r} }); err != nil {
		return fmt.Errorf("drain operator %s: %w", h.cfg.ID, err)
	}
	h.events.close()
	return nil
}

// Sink returns where the events of a run go that no log keeps.
func (h *Host) Sink(inv *protocol.Invocation) protocol.EventSink { return &live{host: h, inv: inv} }

// Count tells the statistics of a run that did not come through this host.
func (h *Host) Count(took time.Duration, err error) { h.stats.ran(took, failure(err)) }

// ID returns the operator's id.
func (h *Host) ID() protocol.OperatorID { return h.cfg.ID }

// Limits returns how many requests may run and wait.
func (h *Host) Limits() (concurrency, waiting int) { return h.cfg.Concurrency, h.cfg.Waiting }

// Stats returns the operator's statistics on this node.
func (h *Host) Stats() *Stats { return h.stats }
