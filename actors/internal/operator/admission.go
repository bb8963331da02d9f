package operator

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/internal/actorx"
	"github.com/skelegent/skelegent-go/protocol"
)

type (
	// request is a message that asks the operator for something.
	request struct {
		msg       *nats.Msg
		admission *admission // once it runs
	}
	// closing refuses what waits and what comes.
	closing struct{}
	// drain asks for an answer when nothing runs any more.
	drain struct{ reply actorx.Reply[struct{}] }
)

var errDraining = refusal("the node is shutting down; another may serve this", 100*time.Millisecond)

// refusal is the answer to a request that did not begin.
func refusal(text string, after time.Duration) *protocol.Error {
	e := protocol.NewError(protocol.CodeUnavailable, text).After(after)
	e.Kind = protocol.KindOrchNotStarted
	return e
}

// admission is the actor of an operator: it decides what runs, what waits and what is refused.
type admission struct {
	host    *Host
	running int
	waiting []*request // in the order of arrival
	bytes   int        // of what waits
	closing bool
	drains  []actorx.Reply[struct{}]
}

// Receive implements actorx.Actor.
func (a *admission) Receive(c *actorx.Context, msg any) {
	switch m := msg.(type) {
	case *request:
		a.admit(c, m)
	case closing:
		a.close()
	case drain:
		a.close()
		a.drains = append(a.drains, m.reply)
		a.drained()
	}
	a.publishCounts()
}

// Stop implements actorx.Stopper: whoever waits learns that this node will not serve him.
func (a *admission) Stop(*actorx.Context) { a.close() }

func (a *admission) admit(c *actorx.Context, r *request) {
	limits := &a.host.cfg
	switch {
	case a.closing:
		a.host.refuse(r.msg, errDraining)
	case a.running < limits.Concurrency:
		a.start(c, r)
	case len(a.waiting) < limits.Waiting && a.bytes+len(r.msg.Data) <= limits.WaitingBytes:
		a.waiting = append(a.waiting, r)
		a.bytes += len(r.msg.Data)
	default:
		a.host.refuse(r.msg, refusal("operator is at its limit of running and waiting requests", a.hint()))
	}
}

func (a *admission) start(c *actorx.Context, r *request) {
	a.running++
	r.admission = a
	actorx.Do(c, r)
}

// Work implements actorx.Task.
func (r *request) Work(ctx context.Context) { r.admission.host.run(ctx, r) }

// Then implements actorx.Task.
func (r *request) Then(c *actorx.Context, err error) {
	if err != nil { // run recovers the operator's panics, so this is ours
		r.admission.host.log.Error("run crashed", zap.Error(err))
	}
	r.admission.finished(c)
}

func (a *admission) finished(c *actorx.Context) {
	a.running--
	for len(a.waiting) > 0 && a.running < a.host.cfg.Concurrency {
		next := a.waiting[0]
		a.waiting[0] = nil
		a.waiting = a.waiting[1:]
		a.bytes -= len(next.msg.Data)
		a.start(c, next)
	}
	a.drained()
	a.publishCounts()
}

func (a *admission) close() {
	a.closing = true
	for _, r := range a.waiting {
		a.host.refuse(r.msg, errDraining)
	}
	a.waiting, a.bytes = nil, 0
}

func (a *admission) drained() {
	if a.running > 0 {
		return
	}
	for _, r := range a.drains {
		r.Send(struct{}{})
	}
	a.drains = nil
}

// Bounds of the hint to a refused caller.
const (
	minHint = 50 * time.Millisecond
	maxHint = 30 * time.Second
)

// hint guesses when there will be room: the mean time of a run for each round of those that wait.
func (a *admission) hint() time.Duration {
	rounds := 1 + len(a.waiting)/a.host.cfg.Concurrency
	return min(maxHint, max(minHint, a.host.stats.mean()*time.Duration(rounds)))
}

func (a *admission) publishCounts() {
	a.host.stats.running.Store(int64(a.running))
	a.host.stats.waiting.Store(int64(len(a.waiting)))
}
