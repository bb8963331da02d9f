package actors

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"go.uber.org/zap"
)

// sweeper is a state store that leaves things behind which somebody has to clear away now and then.
type sweeper interface {
	// Sweep returns how many things it removed. More than one node may call it.
	Sweep(ctx context.Context) (int, error)
}

// sweepEvery is about how often a node sweeps its state store.
const sweepEvery = time.Hour

// janitor sweeps a store until it is stopped.
type janitor struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func startJanitor(s sweeper, log *zap.Logger) *janitor {
	ctx, cancel := context.WithCancel(context.Background())
	j := &janitor{cancel: cancel}
	j.wg.Go(func() {
		for {
			pause := time.NewTimer(sweepEvery/2 + rand.N(sweepEvery)) //nolint:gosec // spreads the nodes of a cluster
			select {
			case <-ctx.Done():
				pause.Stop()
				return
			case <-pause.C:
			}
			switch removed, err := s.Sweep(ctx); {
			case err != nil && ctx.Err() == nil:
				log.Warn("state store not swept", zap.Error(err))
			case removed > 0:
				log.Info("state store swept", zap.Int("removed", removed))
			}
		}
	})
	return j
}

func (j *janitor) stop() {
	j.cancel()
	j.wg.Wait()
}
