//go:build unix

package chaos_test

import (
	"context"
	"sync"
	"syscall"
	"time"
)

const (
	faultEvery = time.Second
	stopFor    = taskWait + 2*time.Second
)

// torment does things to the processes until ctx ends; then it heals all and returns.
func (w *world) torment(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { w.tormentNodes(ctx) })
	if w.serverEvery > 0 {
		wg.Go(func() { w.tormentServers(ctx) })
	}
	wg.Wait()
	w.mu.Lock()
	w.calm = true
	w.mu.Unlock()
}

func (w *world) tormentNodes(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for n := 1; pause(ctx, faultEvery) == nil; n++ {
		var present []*slot
		for _, s := range w.nodes {
			if s.ready() {
				present = append(present, s)
			}
		}
		if len(present) == 0 {
			continue
		}
		victim := present[w.pick(len(present))]
		switch {
		case n%w.stopEvery == w.stopEvery/2:
			if victim.signal(faultStop, syscall.SIGSTOP) {
				wg.Go(func() {
					_ = pause(ctx, stopFor) // or the faults are over
					victim.resume()
				})
			}
		case n%w.leaveEvery == 0:
			victim.signal(faultLeave, syscall.SIGTERM)
		default:
			victim.signal(faultKill, syscall.SIGKILL)
		}
	}
}

// tormentServers kills a server now and then, when all are there: with copies on three, the other two go on.
func (w *world) tormentServers(ctx context.Context) {
	for pause(ctx, w.serverEvery/2+time.Duration(w.pick(int(w.serverEvery)))) == nil {
		whole := true
		for _, s := range w.servers {
			whole = whole && s.ready()
		}
		if whole {
			w.servers[w.pick(len(w.servers))].signal(faultKill, syscall.SIGKILL)
		}
	}
}
