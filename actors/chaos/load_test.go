//go:build unix

package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/bus"
	"github.com/skelegent/skelegent-go/bus/task"
	"github.com/skelegent/skelegent-go/protocol"
)

// job is a task and what the test did and heard of it.
type job struct {
	turn
	run protocol.RunID

	submitted time.Time
	repeated  int       // how often it was submitted again
	signalled time.Time // when the signal was stored
	completed time.Time // when the test saw it in the log
	answer    []byte    // of askAgain
}

func (j *job) input() protocol.OperatorInput {
	return protocol.Text(text(j.turn)).WithSession(protocol.SessionID(j.Session))
}

// load is all jobs.
type load struct {
	*world
	jobs []*job // in the order in which they are submitted

	mu    sync.Mutex
	byRun map[protocol.RunID]*job
	left  int
	done  chan struct{} // closed when all are completed
	wg    sync.WaitGroup
}

func newLoad(w *world) *load {
	l := &load{world: w, byRun: map[protocol.RunID]*job{}, done: make(chan struct{}), left: w.tasks()}
	for first := 0; first < w.sessions; first += w.together {
		var order []int
		for s := first; s < min(first+w.together, w.sessions); s++ {
			for range w.turns {
				order = append(order, s)
			}
		}
		w.random.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
		numbers := map[int]int{}
		for _, s := range order {
			j := &job{turn: turn{Session: fmt.Sprintf("s-%03d", s), Number: numbers[s], Kind: kindOf(len(l.jobs))}}
			j.run = protocol.RunID(fmt.Sprintf("%s-t-%02d", j.Session, j.Number))
			numbers[s]++
			l.jobs, l.byRun[j.run] = append(l.jobs, j), j
		}
	}
	return l
}

// kindOf mixes the kinds.
func kindOf(i int) kind {
	switch i % 20 {
	case 3, 13:
		return sleep
	case 7, 17:
		return await
	case 9:
		return early
	case 5:
		return quick
	case 15:
		return slow
	}
	return plain
}

// submitAll submits the jobs at the plan's pace, and returns when all are accepted.
func (l *load) submitAll(ctx context.Context) {
	tick := time.NewTicker(l.pace)
	defer tick.Stop()
	for i, j := range l.jobs {
		l.wg.Go(func() { l.submit(ctx, j) })
		if i%20 == 11 { // the same task twice is one
			l.wg.Go(func() { _ = l.try(ctx, j) })
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
	l.wg.Wait()
}

const submitFor = 3 * time.Second

func (l *load) try(ctx context.Context, j *job) error {
	ctx, cancel := context.WithTimeout(ctx, submitFor)
	defer cancel()
	_, err := task.New(l.conn).Submit(ctx, chat, j.input(), task.Submission{Call: protocol.Call{Run: j.run}})
	return err
}

// submit submits a job until it is accepted: an attempt of which nothing was heard may have been, and is made again with the
// same run id.
func (l *load) submit(ctx context.Context, j *job) {
	l.mu.Lock()
	j.submitted = time.Now()
	l.mu.Unlock()
	for {
		err := l.try(ctx, j)
		if err == nil {
			break
		}
		l.mu.Lock()
		j.repeated++
		l.mu.Unlock()
		if pause(ctx, 100*time.Millisecond) != nil {
			l.t.Errorf("task %s was never accepted: %v", j.run, err)
			return
		}
	}
	if j.Kind == early {
		l.signal(ctx, j)
	}
}

// signal sends what a job waits for. One of which nothing was heard is sent again; the run takes the first.
func (l *load) signal(ctx context.Context, j *job) {
	for {
		attempt, cancel := context.WithTimeout(bus.ToRun(ctx, j.run), submitFor)
		err := bus.NewDispatcher(l.conn).Signal(attempt, protocol.WorkflowID(chat+"/"+j.Session), protocol.SignalPayload{
			SignalType: goOn, Data: json.RawMessage(`"on"`),
		})
		cancel()
		if err == nil {
			break
		}
		if pause(ctx, 100*time.Millisecond) != nil {
			l.t.Errorf("signal for %s was never stored: %v", j.run, err)
			return
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	j.signalled = time.Now()
}

// follow reads the log as it grows, until ctx ends: it sends the signals that are waited for, and knows what is completed.
func (l *load) follow(ctx context.Context) {
	var signals sync.WaitGroup
	defer signals.Wait()
	_, subject := bus.EventSubjects(l.conn.Names(), chat, "")
	last := uint64(0)
	for ctx.Err() == nil {
		err := l.conn.Observe(ctx, bus.ObserveConfig{Log: subject, Since: last + 1}, func(o bus.Observation) bool {
			last = o.Seq
			l.saw(o.Event, func(j *job) { signals.Go(func() { l.signal(ctx, j) }) })
			return true
		})
		if err != nil {
			_ = pause(ctx, 100*time.Millisecond)
		}
	}
}

func (l *load) saw(e protocol.Event, signal func(*job)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range append([]protocol.EventPart{{Kind: e.Kind, Data: e.Data}}, e.Also...) {
		j := l.byRun[e.Run]
		switch {
		case j == nil:
		case p.Kind == protocol.EventCompleted && j.completed.IsZero():
			j.completed = time.Now()
			if l.left--; l.left == 0 {
				close(l.done)
			}
		case p.Kind == protocol.EventSuspended && j.Kind == await && j.signalled.IsZero():
			var s run.Suspended
			if json.Unmarshal(p.Data, &s) == nil && s.Wait.Reason == run.WaitSignal {
				signal(j)
			}
		}
	}
}

// missing are the jobs that are not completed.
func (l *load) missing() (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range l.jobs {
		if !j.completed.IsZero() {
			continue
		}
		what := fmt.Sprintf("%s (%s), submitted %s", j.run, j.Kind, j.submitted.Format(time.StampMilli))
		if !j.signalled.IsZero() {
			what += ", signalled " + j.signalled.Format(time.StampMilli)
		}
		found = append(found, what)
	}
	return found
}
