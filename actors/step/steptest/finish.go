package steptest

import (
	"context"
	"fmt"
	"iter"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/protocol"
)

// maxExecutions is when Finish gives up on a run that gets nowhere.
const maxExecutions = 1000

// Finish executes until the open run is over, and returns what it gave. It asks make for an operator before each execution,
// as each may be that of another process. Where the run waits it calls answer, which sees to it that what the run waits for
// comes; nil is to fire the earliest timer.
func (r *Run) Finish(ctx context.Context, make func() protocol.Operator, answer func(run.Wait)) (protocol.OperatorOutput, error) {
	id := r.open()
	for range maxExecutions {
		out, err := r.Execute(ctx, make())
		w := r.Wait()
		switch {
		case id == "" || r.open() != id:
			return out, err
		case w == nil: // killed or released: another goes on
		case answer != nil:
			answer(*w)
		case r.Fire() == "":
			return out, fmt.Errorf("steptest: nothing ends the wait: %w", err)
		}
	}
	return protocol.OperatorOutput{}, fmt.Errorf("steptest: not over after %d executions", maxExecutions)
}

// open is the open run, empty if there is none.
func (r *Run) open() protocol.RunID {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fold.Open == nil {
		return ""
	}
	return r.fold.Open.Run
}

// Kills names every place at which a run of that many records can be killed, and returns what does it.
func Kills(records int) iter.Seq2[string, func(*Run)] {
	return func(yield func(string, func(*Run)) bool) {
		for n := 1; n <= records; n++ {
			if !yield(fmt.Sprintf("before record %d", n), func(r *Run) { r.KillBefore(n) }) ||
				!yield(fmt.Sprintf("after record %d", n), func(r *Run) { r.KillAfter(n) }) {
				return
			}
		}
	}
}
