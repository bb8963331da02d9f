package actors

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/bus"
)

// sweeper is a state store that leaves things behind which somebody has to clear away now and then.
type sweeper interface {
	// Sweep returns how many things it removed. More than one node may call it.
	Sweep(ctx context.Context) (int, error)
}

// How often a node does its chores, about: the nodes of a cluster do not all do them at the same time.
const (
	sweepEvery = time.Hour
	watchEvery = time.Minute
)

// janitor does the chores of a node until it is stopped.
type janitor struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
	log    *zap.Logger
}

func startJanitor(log *zap.Logger) (*janitor, context.Context) {
	ctx, cancel := context.WithCancel(context.Background())
	return &janitor{cancel: cancel, log: log.Named("janitor")}, ctx
}

// every calls chore now and then.
func (j *janitor) every(ctx context.Context, about time.Duration, chore func(ctx context.Context)) {
	j.wg.Go(func() {
		for {
			pause := time.NewTimer(about/2 + rand.N(about)) //nolint:gosec // spreads the nodes of a cluster
			select {
			case <-ctx.Done():
				pause.Stop()
				return
			case <-pause.C:
				chore(ctx)
			}
		}
	})
}

func (j *janitor) stop() {
	j.cancel()
	j.wg.Wait()
}

// sweep clears away what a state store left behind.
func (j *janitor) sweep(s sweeper) func(context.Context) {
	return func(ctx context.Context) {
		switch removed, err := s.Sweep(ctx); {
		case err != nil && ctx.Err() == nil:
			j.log.Warn("state store not swept", zap.Error(err))
		case removed > 0:
			j.log.Info("state store swept", zap.Int("removed", removed))
		}
	}
}

// watch warns of effects that wait and that nobody executes: they are not lost, but somebody has to know.
func (j *janitor) watch(conn *bus.Conn) func(context.Context) {
	return func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, watchEvery/2)
		defer cancel()
		pending, err := conn.PendingEffects(ctx)
		if err != nil {
			j.log.Debug("pending effects not read", zap.Error(err))
			return
		}
		for _, p := range pending {
			if !p.Listening {
				j.log.Warn("effects wait that no node executes", zap.String("family", p.Family), zap.Uint64("messages", p.Messages))
			}
		}
	}
}
