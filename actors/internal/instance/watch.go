package instance

import (
	"context"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/run"
)

// listenAfter is how long a run goes on before its node subscribes to what others append to its log. Most are over by then.
const listenAfter = 100 * time.Millisecond

// watch ends ctx when the log says that the run must stop, or is another's. The function that it returns ends the watching.
func (w *worker) watch(ctx context.Context, cancel context.CancelCauseFunc) (stop func()) {
	s := w.session
	check := func(f *run.Fold) {
		switch {
		case !w.driver.Claimed(f):
			cancel(errLost)
		case f.Stopping():
			cancel(errCancelled)
		}
	}
	s.mu.Lock()
	s.changed, s.watcher = check, w
	if s.fold != nil {
		check(s.fold)
	}
	s.mu.Unlock()
	listening, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	timer := time.AfterFunc(listenAfter, func() {
		defer close(ended)
		w.listen(listening)
	})
	return func() {
		s.mu.Lock()
		if s.watcher == w { // not where the run has gone on here by another claim
			s.changed, s.watcher = nil, nil
		}
		s.mu.Unlock()
		end()
		if !timer.Stop() {
			<-ended
		}
	}
}

// listen folds in what other nodes append, until ctx ends.
func (w *worker) listen(ctx context.Context) {
	s, h := w.session, w.host
	if ctx.Err() != nil {
		return
	}
	news := make(chan *nats.Msg, newsBuffer)
	sub, err := h.conn.NATS().ChanSubscribe(h.conn.Names().Event(s.subject), news)
	if err != nil {
		h.log.Warn("cannot listen to the log", zap.Error(err))
		return
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone, and then so is the subscription
	seen := uint64(0)                        // refresh once: something may have come before the subscription
	for {
		var known uint64
		s.view(func(f *run.Fold) { known = f.Seq })
		if seen == 0 || seen > known {
			if err := s.catchUp(ctx); err != nil && ctx.Err() == nil {
				h.log.Debug("log not refreshed", zap.Error(err))
			}
		}
		select {
		case m := <-news:
			seen, _ = strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
		case <-ctx.Done():
			return
		}
	}
}

// newsBuffer is how many events wait for a run's node; one that is dropped is followed by others, or by the next append.
const newsBuffer = 16

// catchUp folds in what is new in the log.
func (s *session) catchUp(ctx context.Context) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.giveTurn()
	if err := s.ensure(ctx); err != nil {
		return err
	}
	return s.refresh(ctx)
}
