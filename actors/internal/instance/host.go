package instance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/internal/actorx"
	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// Config of a Host.
type Config struct {
	Conn     *bus.Conn
	ID       protocol.OperatorID
	Operator protocol.Operator
	// Node is the identity that a restart keeps.
	Node string
	// Durable operators journal their steps; others are begun again from the top.
	Durable bool
	// WhenBusy is the mode of inputs that say nothing; Enqueue if empty.
	WhenBusy run.Mode
	// Concurrency bounds the inputs in work over the whole cluster, and the runs in work on this node; 64 if 0.
	Concurrency int
	// Attempts is how often a run is begun without getting anywhere before it fails; 5 if 0.
	Attempts int
	// Queue bounds the inputs that wait in an instance; 1,000 if 0.
	Queue int
	// MaxDuration bounds how long the operator's code runs at a stretch; 15 minutes if 0.
	MaxDuration time.Duration
	// AckWait is after how long without a heartbeat a task goes to another node; 30 s if 0.
	AckWait time.Duration
	// Idle is how long the fold of an instance is kept that nothing comes for; a minute if 0.
	Idle time.Duration
	// Retention is after how long an idle instance is put away; 30 days if 0, never if negative.
	Retention time.Duration
	// Version is recorded with every run.
	Version string
	// Sink makes where the events of a run go that its log does not keep.
	Sink func(*protocol.Invocation) protocol.EventSink
	// Count is told how each run ended here.
	Count  func(took time.Duration, err error)
	Logger *zap.Logger
}

func (c Config) withDefaults() Config {
	if c.WhenBusy == "" {
		c.WhenBusy = run.Enqueue
	}
	if c.Concurrency <= 0 {
		c.Concurrency = 64
	}
	if c.Attempts <= 0 {
		c.Attempts = 5
	}
	if c.Queue <= 0 {
		c.Queue = 1000
	}
	if c.MaxDuration <= 0 {
		c.MaxDuration = 15 * time.Minute
	}
	if c.AckWait <= 0 {
		c.AckWait = 30 * time.Second
	}
	if c.Retention == 0 {
		c.Retention = 30 * 24 * time.Hour
	}
	if c.Idle <= 0 {
		c.Idle = time.Minute
	}
	if c.Count == nil {
		c.Count = func(time.Duration, error) {}
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c
}

// snapshotEvery is after how many records an idle instance is folded into one.
const snapshotEvery = 100

// spareClaims are claims that count against nobody: nodes leave, and crash for reasons of their own.
const spareClaims = 5

// Host is one operator's durable instances on one node.
type Host struct {
	cfg    Config
	log    *zap.Logger
	conn   *bus.Conn
	runs   *runlog.Log
	blobs  *runlog.Blobs
	tasks  *task.Tasks
	policy run.Policy
	stream int64 // when the task stream was made

	ref       *actorx.Ref
	consumers [intakes]jetstream.ConsumeContext // guarded by mu
	queries   *nats.Subscription
	slots     chan struct{} // runs whose code runs

	leave   func()
	leaving chan struct{} // closed when Drain has begun
	force   context.CancelFunc
	forced  context.Context //nolint:containedctx // it is the host's life, not a call's: it ends when the time to drain is over

	mu       sync.Mutex
	sessions map[string]*session // by token
	running  atomic.Int64
	seen     sync.Map // operators that somebody hosts
}

// Start creates the operator's consumers if they are missing, takes back what a former process of this node held, and
// begins to take tasks.
func Start(ctx context.Context, sys *actorx.System, cfg Config) (*Host, error) {
	cfg = cfg.withDefaults()
	leaving := make(chan struct{})
	forced, force := context.WithCancel(context.Background())
	h := &Host{
		cfg: cfg, conn: cfg.Conn, log: cfg.Logger.Named("instance").With(zap.String("operator", string(cfg.ID))),
		runs:  runlog.New(cfg.Conn.JetStream(), cfg.Conn.Names()),
		blobs: runlog.NewBlobs(cfg.Conn.JetStream(), cfg.Conn.Names()), tasks: task.New(cfg.Conn),
		slots:   make(chan struct{}, cfg.Concurrency),
		leaving: leaving, leave: sync.OnceFunc(func() { close(leaving) }),
		forced: forced, force: force,
		sessions: map[string]*session{},
	}
	h.policy = run.Policy{
		Node: cfg.Node, Attempts: cfg.Attempts, Claims: cfg.Attempts + spareClaims, Queue: cfg.Queue, Snapshot: snapshotEvery,
		Made: made(cfg.Operator, cfg.Version),
	}
	if err := h.lookUp(ctx); err != nil {
		return nil, err
	}
	if err := h.keepPrompt(ctx); err != nil {
		return nil, err
	}
	inputs, err := h.consumer(ctx, intakeInputs)
	if err != nil {
		return nil, err
	}
	wakes, err := h.consumer(ctx, intakeWakes)
	if err != nil {
		return nil, err
	}
	h.takeBack(ctx, inputs, wakes)
	if h.ref, err = sys.Spawn("tasks."+string(cfg.ID), func() actorx.Actor { return newKeeper(h) }); err != nil {
		return nil, fmt.Errorf("start instances of %s: %w", cfg.ID, err)
	}
	if err := h.answerQueries(); err != nil {
		return nil, err
	}
	for which, c := range [...]jetstream.Consumer{intakeInputs: inputs, intakeWakes: wakes} {
		if err := h.consume(intake(which), c); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// intake is one of the two consumers of an operator's tasks.
type intake int

const (
	intakeInputs intake = iota
	intakeWakes
	intakes
)

// consumer creates the consumer if it is missing.
func (h *Host) consumer(ctx context.Context, which intake) (jetstream.Consumer, error) {
	cfg := task.ConsumerConfig{AckWait: h.cfg.AckWait, MaxAckPending: h.cfg.Concurrency}
	if which == intakeInputs {
		return h.tasks.Inputs(ctx, string(h.cfg.ID), cfg)
	}
	// Wakes are held while the runs that they resume go on: many more than inputs, so that none waits behind another.
	cfg.MaxAckPending = max(1024, 4*h.cfg.Concurrency)
	return h.tasks.Wakes(ctx, string(h.cfg.ID), cfg)
}

// maxWakesAsked is how many wakes are asked for at a time.
const maxWakesAsked = 256

// consume begins to take from a consumer. One that an administrator deletes is made again.
func (h *Host) consume(which intake, c jetstream.Consumer) error {
	size := h.cfg.Concurrency
	if which == intakeWakes {
		size = maxWakesAsked
	}
	taking, err := c.Consume(h.deliver, jetstream.PullMaxMessages(size),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
			h.log.Debug("consumer", zap.Error(err))
			if errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, jetstream.ErrConsumerNotFound) {
				h.ref.Tell(deaf{which})
			}
		}))
	if err != nil {
		return bus.Translate("consume tasks of "+string(h.cfg.ID), err)
	}
	h.mu.Lock()
	h.consumers[which] = taking
	h.mu.Unlock()
	return nil
}

// taking returns what takes tasks now.
func (h *Host) taking() (all []jetstream.ConsumeContext) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.consumers {
		if c != nil {
			all = append(all, c)
		}
	}
	return all
}

// describer is what an operator that can say what it is made of implements.
type describer interface {
	Describe() (model, systemPrompt string)
}

func made(op protocol.Operator, version string) run.Made {
	m := run.Made{Version: version}
	if d, ok := op.(describer); ok {
		model, prompt := d.Describe()
		m.Model = model
		if prompt != "" {
			m.Prompt = digest([]byte(prompt))
		}
	}
	return m
}

// promptToken is where system prompts are among the blobs of an operator: no instance has the empty name.
var promptToken = wire.Escape("")

// keepPrompt stores the system prompt under the digest that every run records.
func (h *Host) keepPrompt(ctx context.Context) error {
	d, ok := h.cfg.Operator.(describer)
	if !ok {
		return nil
	}
	_, prompt := d.Describe()
	if prompt == "" {
		return nil
	}
	_, err := h.blobs.Put(ctx, string(h.cfg.ID), promptToken, []byte(prompt))
	return err
}

func (h *Host) deliver(msg jetstream.Msg) {
	if !h.ref.Tell(&delivery{msg: msg}) {
		h.giveBack(msg, backDelay)
	}
}

// backDelay keeps a task that is given back from coming straight back to a consumer that still asks.
const backDelay = 100 * time.Millisecond

func (h *Host) giveBack(msg jetstream.Msg, after time.Duration) {
	if err := msg.NakWithDelay(max(after, time.Millisecond)); err != nil { // it comes again after AckWait
		h.log.Debug("task not given back", zap.Error(err))
	}
}

// Drain stops the intake, lets every run reach its next boundary, gives the rest back, and waits for all of it until ctx
// ends; then what runs is ended by force and given back too. It is idempotent.
func (h *Host) Drain(ctx context.Context) error {
	h.leave() // before: nothing is taken up again from here on
	consumers := h.taking()
	for _, c := range consumers {
		c.Drain()
	}
	if h.conn.NATS().IsClosed() { // nothing can be recorded or given back any more
		h.force()
	}
	for _, c := range consumers {
		select {
		case <-c.Closed():
		case <-ctx.Done():
		}
	}
	_, err := actorx.Ask(ctx, h.ref, func(r actorx.Reply[struct{}]) any { return drain{r} })
	if err != nil {
		h.force()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), forceGrace)
		defer cancel()
		if _, again := actorx.Ask(grace, h.ref, func(r actorx.Reply[struct{}]) any { return drain{r} }); again != nil {
			err = fmt.Errorf("drain instances of %s: %w", h.cfg.ID, err)
		} else {
			err = nil
		}
	}
	if h.queries != nil {
		_ = h.queries.Unsubscribe() // the connection may be gone, and then so is the subscription
	}
	return err
}

// forceGrace is how long code that is told to end by force may take.
const forceGrace = 2 * time.Second

// Running returns how many runs are in work here.
func (h *Host) Running() int { return int(h.running.Load()) }
