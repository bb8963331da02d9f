package limit

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/protocol"
)

// maxModels is how many models are told apart beside those of Config.Models. Names of models come from inputs; those beyond,
// and those longer than maxName, share one line.
const maxModels = 1024

// Local is a Limiter for the calls of one process.
type Local struct {
	cfg Config
	log *zap.Logger

	mu     sync.Mutex
	models map[string]*queue
	others *queue // of the models beyond maxModels
}

var _ Limiter = (*Local)(nil)

// NewLocal returns a limiter for several providers of one account, to be their Config.Limiter. Of cfg it takes Default,
// Models, MaxWaiting, MaxPause, Pause and Logger.
func NewLocal(cfg Config) *Local {
	cfg = cfg.withDefaults()
	return &Local{cfg: cfg, log: cfg.Logger.Named("limit"), models: map[string]*queue{}}
}

// Acquire implements Limiter.
func (l *Local) Acquire(ctx context.Context, model string, tokens int) (release func(Usage), err error) {
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	q, w, err := l.enter(ctx, model, clamp(tokens))
	if err != nil {
		return nil, err
	}
	for {
		ok, delay, err := l.try(ctx, q, w)
		if err != nil {
			return nil, err
		}
		if ok {
			var once sync.Once
			return func(u Usage) { once.Do(func() { l.release(q, model, w.tokens, u) }) }, nil
		}
		if !w.wait(ctx, delay) {
			l.giveUp(q, w)
			return nil, ended(ctx)
		}
	}
}

// enter puts a call into the line of its model, unless that is full or the call's turn would come too late.
func (l *Local) enter(ctx context.Context, model string, tokens int) (*queue, *waiter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	q := l.queue(now, model)
	full := q.waiting.Len() >= l.cfg.MaxWaiting
	w, delay := q.enter(now, tokens)
	free := delay == 0 && q.waiting.Len() == 1 && (q.concurrent <= 0 || q.running < q.concurrent)
	switch {
	case tooLate(ctx, now, delay):
		q.leave(w)
		return nil, nil, errTooLate(delay)
	case full && !free:
		q.leave(w)
		return nil, nil, limited(fmt.Sprintf("%d calls of the model wait already", q.waiting.Len()), delay, ErrQueueFull)
	}
	return q, w, nil
}

// try lets w go out, or says how long to wait before it looks again. It leaves the line where that would be too late.
func (l *Local) try(ctx context.Context, q *queue, w *waiter) (ok bool, delay time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if ok, delay = q.try(now, w); ok {
		return true, 0, nil
	}
	if atLeast := max(delay, q.paused.Sub(now)); tooLate(ctx, now, atLeast) {
		q.leave(w)
		return false, 0, errTooLate(atLeast)
	}
	return false, delay, nil
}

func (l *Local) giveUp(q *queue, w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q.leave(w)
}

func (l *Local) release(q *queue, model string, reserved int, u Usage) {
	pause := time.Duration(0)
	if u.Refused {
		if pause = u.RetryAfter; pause <= 0 {
			pause = l.cfg.Pause
		}
		pause = min(pause, l.cfg.MaxPause)
	}
	if l.end(q, reserved, u, pause) {
		l.log.Warn("the provider refused a call, calls of the model wait", zap.String("model", name(model)), zap.Duration("delay", pause))
	}
}

func (l *Local) end(q *queue, reserved int, u Usage, pause time.Duration) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	news = pause > 0 && q.pause(now, pause)
	q.done(now, reserved, u)
	return news
}

// queue returns the line of a model.
func (l *Local) queue(now time.Time, model string) *queue {
	if q, ok := l.models[model]; ok {
		return q
	}
	if _, named := l.cfg.Models[model]; !named && !l.room(now, model) {
		if l.others == nil {
			l.others = newQueue(l.cfg.Default)
		}
		return l.others
	}
	q := newQueue(l.cfg.limits(model))
	l.models[model] = q
	return q
}

// room reports whether a model whose name came from an input gets a line of its own.
func (l *Local) room(now time.Time, model string) bool {
	most := maxModels + len(l.cfg.Models)
	if len(l.models) >= most {
		maps.DeleteFunc(l.models, func(_ string, q *queue) bool { return q.untouched(now) })
	}
	return len(l.models) < most && len(model) <= maxName
}

// Waiting returns how many calls of a model wait now.
func (l *Local) Waiting(model string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q, ok := l.models[model]; ok {
		return q.waiting.Len()
	}
	return 0
}

// wait waits to be woken, for d if that is positive, or for the end of ctx, and reports whether it was not that.
func (w *waiter) wait(ctx context.Context, d time.Duration) bool {
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-w.wake:
	case <-over:
	case <-ctx.Done():
		return false
	}
	return ctx.Err() == nil
}

func tooLate(ctx context.Context, now time.Time, delay time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && delay > 0 && !now.Add(delay).Before(deadline)
}

func errTooLate(delay time.Duration) error {
	return limited("the turn of the call would come after its deadline", delay, ErrTooLate)
}

// limited is a rate limited error of our own.
func limited(text string, after time.Duration, cause error) error {
	e := protocol.ErrRateLimited(after).Because(cause)
	e.Message += ": " + text
	return e
}

// ended is the error of a context that ended: timeout or cancelled.
func ended(ctx context.Context) error {
	err := ctx.Err()
	return protocol.AsError(err).Because(fmt.Errorf("%w: %w", err, context.Cause(ctx)))
}
