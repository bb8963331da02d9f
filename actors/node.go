package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/effect"
	"github.com/skelegent/skelegent-go/actors/internal/actorx"
	"github.com/skelegent/skelegent-go/actors/internal/executor"
	"github.com/skelegent/skelegent-go/actors/internal/instance"
	"github.com/skelegent/skelegent-go/actors/internal/operator"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/runlog"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// Config of a Node. The zero value works: it performs every built-in kind of effect but those on memory, which need State.
type Config struct {
	// Name is shown to people; the host name of the machine would do. "node" if empty.
	Name string
	// ID tells this node from every other, also from itself before a restart of another machine; made if empty.
	ID string
	// State is where memory effects are performed. With nil this node leaves them to others.
	State protocol.StateStore
	// Dispatch wraps every dispatch that the node makes for effects; nil is none.
	Dispatch *protocol.DispatchStack
	// Topology says what the streams must be like.
	Topology bus.Topology
	// WithoutEffects leaves the built-in kinds of effects to other nodes; those of RegisterEffect are performed.
	WithoutEffects bool
	// AckWait is after how long without a heartbeat the effects that this node was performing go to another; 10 s if 0.
	AckWait time.Duration
	// TaskWait is the same for tasks, the runs of durable operators; 30 s if 0.
	TaskWait time.Duration
	// DrainTimeout bounds how long Run waits for what runs when its context has ended; 30 s if 0.
	DrainTimeout time.Duration
	// Logger is for all that the node does; nil is none.
	Logger *zap.Logger
}

// Node hosts operators and executors of effects. Its methods are safe for concurrent use.
type Node struct {
	conn *bus.Conn
	cfg  Config
	log  *zap.Logger
	sys  *actorx.System

	mu        sync.Mutex
	state     state
	operators []registration
	effects   []effectRegistration

	hosts     []*operator.Host
	instances []*instance.Host
	executors []*executor.Host
	discovery *discovery
	janitor   *janitor

	cancelStart context.CancelCauseFunc // nil before Start
	started     chan struct{}           // closed when Start is over; nil before
	stopped     chan struct{}
}

type state int

const (
	stateNew state = iota
	stateRunning
	stateStopping
)

type registration struct {
	id   protocol.OperatorID
	op   protocol.Operator
	opts options
}

type effectRegistration struct {
	family   string
	executor effect.Executor
	opts     effect.Options
}

// ErrRunning says that a node was started already, or has been stopped: it runs once.
var ErrRunning = errors.New("node was started before")

// ErrStopped says that a node was stopped while it started.
var ErrStopped = errors.New("node was stopped while it started")

// NewNode returns a node on conn, which stays the caller's to close after the node has stopped. It does nothing before
// Start or Run.
func NewNode(conn *bus.Conn, cfg Config) (*Node, error) {
	if conn == nil {
		return nil, errors.New("a node needs a connection")
	}
	if cfg.Name == "" {
		cfg.Name = "node"
	}
	if cfg.ID == "" {
		cfg.ID = uuid.NewString()
	}
	if cfg.DrainTimeout <= 0 {
		cfg.DrainTimeout = 30 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = zap.NewNop()
	}
	log := cfg.Logger.With(zap.String("node", cfg.Name))
	return &Node{conn: conn, cfg: cfg, log: log, sys: actorx.NewSystem(actorx.Config{Logger: log}), stopped: make(chan struct{})}, nil
}

// Register adds an operator. It must come before Start; an id that is no token, or is taken on this node, is an error.
func (n *Node) Register(id protocol.OperatorID, op protocol.Operator, opts ...Option) error {
	if err := wire.CheckOperator(string(id)); err != nil {
		return protocol.NewError(protocol.CodeInvalidInput, err.Error())
	}
	if op == nil {
		return fmt.Errorf("operator %s is nil", id)
	}
	o, err := newOptions(opts)
	if err != nil {
		return fmt.Errorf("operator %s: %w", id, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state != stateNew {
		return ErrRunning
	}
	if slices.ContainsFunc(n.operators, func(r registration) bool { return r.id == id }) {
		return fmt.Errorf("operator %s is registered twice", id)
	}
	n.operators = append(n.operators, registration{id: id, op: op, opts: o})
	return nil
}

// RegisterEffect adds an executor for custom effects of a type. It must come before Start; a built-in kind, or a type
// that is taken on this node, is an error.
func (n *Node) RegisterEffect(effectType string, e effect.Executor, opts effect.Options) error {
	if protocol.ReservedFamily(effectType) {
		return fmt.Errorf("effect type %q is the name of a built-in kind", effectType)
	}
	if e == nil {
		return fmt.Errorf("executor of effect type %q is nil", effectType)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state != stateNew {
		return ErrRunning
	}
	if slices.ContainsFunc(n.effects, func(r effectRegistration) bool { return r.family == effectType }) {
		return fmt.Errorf("effect type %q is registered twice", effectType)
	}
	n.effects = append(n.effects, effectRegistration{family: effectType, executor: e, opts: opts})
	return nil
}

// Run starts the node, runs until ctx ends, and drains. It returns what failed at the start or at the drain.
func (n *Node) Run(ctx context.Context) error {
	if err := n.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	// What was accepted has to be finished although ctx has ended.
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.cfg.DrainTimeout)
	defer cancel()
	return n.Stop(drain)
}

// Start makes sure that the streams are there and begins to take work; its operators answer when it returns. If it
// fails, nothing is left running. A node starts once; a Stop ends a Start that is under way.
func (n *Node) Start(ctx context.Context) error {
	n.mu.Lock()
	if n.state != stateNew {
		n.mu.Unlock()
		return ErrRunning
	}
	n.state = stateRunning
	starting, cancel := context.WithCancelCause(ctx)
	n.cancelStart = cancel
	n.started = make(chan struct{})
	n.mu.Unlock()
	err := n.start(starting)
	if err != nil && errors.Is(context.Cause(starting), ErrStopped) {
		err = ErrStopped
	}
	cancel(nil)
	close(n.started)
	if err != nil {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.cfg.DrainTimeout)
		defer cancel()
		return errors.Join(err, n.Stop(stop))
	}
	n.log.Info("node started", zap.String("node_id", n.cfg.ID), zap.Int("operators", len(n.hosts)), zap.Int("executors", len(n.executors)))
	return nil
}

func (n *Node) start(ctx context.Context) error {
	if err := n.conn.Ensure(ctx, n.cfg.Topology); err != nil {
		return err
	}
	if err := runlog.NewBlobs(n.conn.JetStream(), n.conn.Names()).Ensure(ctx, n.cfg.Topology.Replicas); err != nil {
		return err
	}
	identity := n.cfg.ID + "/" + uuid.NewString()
	for _, r := range append(n.builtinEffects(), n.effects...) {
		h, err := executor.Start(ctx, n.sys, executor.Config{
			Conn: n.conn, Family: r.family, Executor: r.executor, Options: r.opts, Identity: identity,
			AckWait: n.cfg.AckWait, Logger: n.log,
		})
		if err != nil {
			return err
		}
		n.executors = append(n.executors, h)
	}
	n.discovery = newDiscovery(n.conn, n.cfg.ID, n.log)
	for _, r := range n.operators {
		if err := n.startOperator(r); err != nil {
			return err
		}
	}
	// Tasks come at once, and their runs may ask any operator of this node.
	if err := n.flush(ctx); err != nil {
		return err
	}
	for i, r := range n.operators {
		if err := n.startInstances(ctx, r, n.hosts[i]); err != nil {
			return err
		}
	}
	if err := n.discovery.start(); err != nil {
		return err
	}
	n.startJanitor() //nolint:contextcheck // it ends with the node, not with the start
	return n.flush(ctx)
}

// startOperator hosts an operator for requests.
func (n *Node) startOperator(r registration) error {
	cfg := operator.Config{
		Conn: n.conn, ID: r.id, Operator: r.op, Concurrency: r.opts.concurrency, Waiting: r.opts.waiting,
		MaxDuration: r.opts.maxDuration, Logger: n.log,
	}
	if r.opts.durable {
		tasks := task.New(n.conn)
		cfg.Enqueue = func(ctx context.Context, msg *nats.Msg) error {
			_, err := tasks.Enqueue(ctx, msg)
			return err
		}
	}
	h, err := operator.Start(n.sys, cfg)
	if err != nil {
		return err
	}
	n.hosts = append(n.hosts, h)
	n.discovery.add(h, r.opts)
	return nil
}

// startInstances hosts it for tasks.
func (n *Node) startInstances(ctx context.Context, r registration, h *operator.Host) error {
	i, err := instance.Start(ctx, n.sys, instance.Config{
		Conn: n.conn, ID: r.id, Operator: r.op, Node: n.cfg.ID, Durable: r.opts.durable, WhenBusy: r.opts.whenBusy,
		Concurrency: r.opts.concurrency, Attempts: r.opts.attempts, MaxDuration: r.opts.maxDuration, AckWait: n.cfg.TaskWait,
		Version: r.opts.version, Retention: r.opts.retention, Sink: h.Sink, Count: h.Count, Logger: n.log,
	})
	if err != nil {
		return err
	}
	n.instances = append(n.instances, i)
	return n.schedule(ctx, r)
}

// scheduleName names the one schedule of an operator.
const scheduleName = "schedule"

// schedule sets the operator's schedule, or ends the one of an earlier version.
func (n *Node) schedule(ctx context.Context, r registration) error {
	tasks := task.New(n.conn)
	if r.opts.schedule == nil {
		return tasks.Cancel(ctx, n.conn.Names().TimerTask(string(r.id), scheduleName))
	}
	body, err := protocol.Marshal(r.opts.schedule.input)
	if err != nil {
		return fmt.Errorf("schedule of %s: %w", r.id, err)
	}
	return tasks.TaskEvery(ctx, string(r.id), scheduleName, r.opts.schedule.cron, nil, body)
}

func (n *Node) startJanitor() {
	j, ctx := startJanitor(n.log)
	j.every(ctx, watchEvery, j.watch(n.conn))
	if s, ok := n.cfg.State.(sweeper); ok {
		j.every(ctx, sweepEvery, j.sweep(s))
	}
	for _, i := range n.instances {
		j.every(ctx, sweepEvery, func(ctx context.Context) {
			if closed, err := i.Close(ctx); err != nil || closed > 0 {
				j.log.Info("idle instances put away", zap.Int("instances", closed), zap.Error(err))
			}
		})
	}
	n.janitor = j
}

// flushTimeout bounds how long the server may take to have heard everything.
const flushTimeout = 10 * time.Second

// flush returns when the server has everything that was sent, subscriptions included.
func (n *Node) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	return bus.Translate("flush", n.conn.NATS().FlushWithContext(ctx))
}

func (n *Node) builtinEffects() []effectRegistration {
	if n.cfg.WithoutEffects {
		return nil
	}
	d := bus.NewDispatcher(n.conn)
	submit := task.New(n.conn).Dispatcher()
	if n.cfg.Dispatch != nil {
		submit = n.cfg.Dispatch.Wrap(submit)
	}
	log := n.log.Named("effect")
	all := []effectRegistration{
		{string(protocol.KindSignal), effect.Signals(d, bus.WithSignalID, d.SignalStored), effect.Options{}},
		{string(protocol.KindDelegate), effect.Delegation(submit), effect.DispatchOptions()},
		{string(protocol.KindHandoff), effect.Handoffs(submit, task.WithInboxes), effect.DispatchOptions()},
		{string(protocol.KindLog), effect.Logs(log), effect.Options{Idempotent: true}},
		{string(protocol.KindToolApprovalRequired), effect.Approvals(log), effect.Options{Idempotent: true}},
	}
	if n.cfg.State != nil {
		all = append(all, effectRegistration{protocol.FamilyMemory, effect.Memory(n.cfg.State), effect.MemoryOptions()})
	}
	return all
}

// Stop takes no more work, lets what runs end until ctx does, ends the rest by force, and returns when everything has ended
// or ctx has; then its error says what has not, and it may be called again to wait for that. It is idempotent and works
// before Start.
func (n *Node) Stop(ctx context.Context) error {
	n.mu.Lock()
	first := n.state != stateStopping
	n.state = stateStopping
	if n.cancelStart != nil {
		n.cancelStart(ErrStopped)
	}
	n.mu.Unlock()
	if first {
		go func() { // it ends with Start, which was cancelled, and with ctx
			defer close(n.stopped)
			n.stop(ctx)
		}()
	}
	select {
	case <-n.stopped:
		return n.sys.Stop(ctx) // at once, unless the first Stop ran out of time
	case <-ctx.Done():
		return fmt.Errorf("stop node: %w", context.Cause(ctx))
	}
}

func (n *Node) stop(ctx context.Context) {
	n.mu.Lock()
	started := n.started
	n.mu.Unlock()
	if started != nil {
		<-started // it was cancelled; and what it began has to be ended although ctx may have
	}
	n.log.Info("node stopping")
	// Operators first: their last effects may still be performed here. Executors have a part of the time to themselves, and
	// what is left after both is there to end by force.
	var intake []drainer
	for _, h := range n.hosts {
		intake = append(intake, h)
	}
	for _, h := range n.instances {
		intake = append(intake, h)
	}
	errs := drainAll(ctx, 0.6, intake)
	if n.discovery != nil { // until now a caller could learn that the operator is leaving, not missing
		n.discovery.stop()
	}
	errs = append(errs, drainAll(ctx, 0.5, n.executors)...)
	if n.janitor != nil {
		n.janitor.stop()
	}
	if err := n.sys.Stop(ctx); err != nil {
		errs = append(errs, err)
	}
	if !n.conn.NATS().IsConnected() {
		n.log.Warn("not connected: last replies are lost")
	} else if err := n.flush(ctx); err != nil {
		n.log.Warn("last replies may be lost", zap.Error(err))
	}
	for _, e := range errs {
		n.log.Warn("not drained in time; ended by force", zap.Error(e))
	}
	n.log.Info("node stopped")
}

type drainer interface {
	Drain(ctx context.Context) error
}

// drainAll drains all at the same time, within a part of what is left of ctx.
func drainAll[D drainer](ctx context.Context, part float64, all []D) []error {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(part*float64(time.Until(deadline))))
		defer cancel()
	}
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, d := range all {
		wg.Go(func() { errs[i] = d.Drain(ctx) })
	}
	wg.Wait()
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}
