package instance

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/internal/actorx"
)

type (
	// delivery is a task in work.
	delivery struct {
		msg     jetstream.Msg
		current atomic.Pointer[jetstream.Msg] // its newest delivery: the one to settle
	}
	// beat tells the server that the work on everything in flight goes on, and forgets sessions nobody needs.
	beat struct{}
	// drain asks for an answer when nothing is in flight any more.
	drain struct{ reply actorx.Reply[struct{}] }
	// deaf says that a consumer is gone.
	deaf struct{ which intake }
)

// handle is the delivery that the server waits to hear of.
func (d *delivery) handle() jetstream.Msg { return *d.current.Load() }

// keeper is the operator's actor for tasks: it knows what is in flight.
type keeper struct {
	host     *Host
	inFlight map[uint64]*delivery // by stream sequence
	last     chan struct{}        // closed when the newest task has its place in the line of its session
	draining []actorx.Reply[struct{}]
	asked    int // queries in work
	mending  [intakes]bool
}

func newKeeper(h *Host) *keeper { return &keeper{host: h, inFlight: map[uint64]*delivery{}} }

// Start implements actorx.Starter.
func (k *keeper) Start(c *actorx.Context) error {
	k.next(c)
	return nil
}

// deafPause is how long a consumer that is gone is waited for before it is made again.
const deafPause = time.Second

// listenAgain makes a consumer again that was deleted, unless the node leaves.
func (k *keeper) listenAgain(c *actorx.Context, d deaf) {
	if k.host.isLeaving() || k.mending[d.which] {
		return
	}
	k.mending[d.which] = true
	actorx.Async(c, func(ctx context.Context) (struct{}, error) {
		if !sleep(ctx, deafPause) || k.host.isLeaving() {
			return struct{}{}, nil
		}
		consumer, err := k.host.consumer(ctx, d.which)
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, k.host.consume(d.which, consumer)
	}, func(c *actorx.Context, _ struct{}, err error) {
		k.mending[d.which] = false
		if err != nil {
			k.host.log.Warn("consumer of tasks not made again, trying again", zap.Error(err))
			c.After(deafPause, d)
			return
		}
		k.host.log.Warn("the consumer of tasks was deleted, and made again")
	})
}

func (k *keeper) next(c *actorx.Context) { c.After(jitter(k.host.cfg.AckWait/3), beat{}) }

// Receive implements actorx.Actor.
func (k *keeper) Receive(c *actorx.Context, msg any) {
	switch m := msg.(type) {
	case *delivery:
		k.accept(c, m)
	case *question:
		k.ask(c, m)
	case deaf:
		k.listenAgain(c, m)
	case beat:
		for _, d := range k.inFlight {
			if err := d.handle().InProgress(); err != nil {
				k.host.log.Debug("heartbeat not sent", zap.Error(err))
			}
		}
		k.host.passivate(time.Now())
		k.next(c)
	case drain:
		k.draining = append(k.draining, m.reply)
		k.drained()
	}
}

func (k *keeper) accept(c *actorx.Context, d *delivery) {
	meta, err := d.msg.Metadata()
	if err != nil {
		k.host.log.Error("message without metadata", zap.Error(err))
		return
	}
	seq := meta.Sequence.Stream
	if running, ok := k.inFlight[seq]; ok { // AckWait passed while it is being worked on
		running.current.Store(&d.msg)
		return
	}
	if len(k.draining) > 0 || k.host.isLeaving() {
		k.host.giveBack(d.msg, backDelay)
		return
	}
	d.current.Store(&d.msg)
	k.inFlight[seq] = d
	w := &work{keeper: k, delivery: d, meta: meta, before: k.last, lined: make(chan struct{})}
	k.last = w.lined
	actorx.Do(c, w)
}

// work is one task on its way. Tasks are read at the same time, but line up at their sessions in the order in which they were
// delivered.
type work struct {
	keeper        *keeper
	delivery      *delivery
	meta          *jetstream.MsgMetadata
	before, lined chan struct{}
}

// Work implements actorx.Task.
func (w *work) Work(ctx context.Context) {
	lined := sync.OnceFunc(func() { close(w.lined) })
	defer lined()
	w.keeper.host.see(ctx, w, lined)
}

// Then implements actorx.Task.
func (w *work) Then(_ *actorx.Context, err error) {
	if err != nil { // see crashed, a defect: AckWait gives the task to the next
		w.keeper.host.log.Error("task crashed", zap.Error(err))
	}
	delete(w.keeper.inFlight, w.meta.Sequence.Stream)
	w.keeper.drained()
}

func (k *keeper) drained() {
	if len(k.inFlight) > 0 {
		return
	}
	for _, r := range k.draining {
		r.Send(struct{}{})
	}
}

func (h *Host) isLeaving() bool {
	select {
	case <-h.leaving:
		return true
	default:
		return false
	}
}
