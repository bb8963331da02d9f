package step

import (
	"context"
	"time"

	"github.com/skelegent/skelegent-go/actors/run"
)

// inline is the longest that a run sleeps without being suspended.
const inline = time.Second

// Sleep waits for d. Up to a second it does so here, and returns early with the error of ctx if that ends; longer, the run is
// suspended and holds nothing meanwhile. When it is due is fixed once; the server's clock decides.
func Sleep(ctx context.Context, d time.Duration) error {
	at := Next(ctx)
	if !at.Durable() {
		return pause(ctx, d)
	}
	var due time.Time
	_, err := at.wait(ctx, run.StepSleep, "sleep", func() (*run.Entry, run.Wait, error) {
		set, fired := at.timer(&due, d)
		switch {
		case fired:
			return &run.Entry{}, run.Wait{}, nil
		case !set && d <= inline:
			return &run.Entry{}, run.Wait{}, pause(ctx, d)
		}
		return nil, run.Wait{Reason: run.WaitTimer, Timers: []run.Due{{Path: at.path, At: due}}}, nil
	})
	return err
}

// timer puts into due when the timer of the step is due, which is d from now if neither the log nor due says.
func (a At) timer(due *time.Time, d time.Duration) (set, fired bool) {
	t, set, fired := a.in.rec.Timer(a.path)
	switch {
	case set:
		*due = t
	case due.IsZero():
		*due = time.Now().Add(d).UTC()
	}
	return set, fired
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
