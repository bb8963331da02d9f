package actorx

import (
	"context"
	"sync"
)

// maxIdle is how many goroutines wait for the next task.
const maxIdle = 256

// workers are goroutines that run one task after the other.
type workers struct {
	wg sync.WaitGroup

	mu      sync.Mutex
	idle    []chan job // last used first
	stopped bool
}

type job struct {
	task *running
	ctx  context.Context //nolint:containedctx // it is on its way to the task
}

// run gives j to a goroutine that waits, or to a new one.
func (w *workers) run(j job) {
	w.mu.Lock()
	if n := len(w.idle); n > 0 {
		next := w.idle[n-1]
		w.idle = w.idle[:n-1]
		w.mu.Unlock()
		next <- j // its buffer is empty
		return
	}
	w.wg.Add(1)
	w.mu.Unlock()
	go w.work(j)
}

func (w *workers) work(j job) {
	defer w.wg.Done() // also when a task ends its goroutine
	jobs := make(chan job, 1)
	for ok := true; ok; j, ok = <-jobs {
		j.task.run(j.ctx)
		j = job{}
		w.mu.Lock()
		if w.stopped || len(w.idle) >= maxIdle {
			w.mu.Unlock()
			return
		}
		w.idle = append(w.idle, jobs)
		w.mu.Unlock()
	}
}

// stop ends the goroutines that wait. There are no tasks any more.
func (w *workers) stop() {
	w.mu.Lock()
	w.stopped = true
	idle := w.idle
	w.idle = nil
	w.mu.Unlock()
	for _, jobs := range idle {
		close(jobs)
	}
}

// wait returns when the goroutines have ended.
func (w *workers) wait() { w.wg.Wait() }
