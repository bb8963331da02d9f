package agenttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/protocol"
)

// Durable runs an operator that has a log, in memory, until it is over. It asks newOperator for one at the begin, and again each
// time that the run waited: as on a node, the code then begins from its top, and what is recorded is not done again.
//
// Where the run waits, a signal of WithSignal is sent, or its earliest timer fires. If there is neither the test fails, as it does
// for the reasons of Run. For more say in what happens, and when, use package steptest. In an example tb is nil.
func Durable(tb testing.TB, newOperator func() protocol.Operator, in protocol.OperatorInput, opts ...Option) Result { //nolint:thelper // tb may be nil
	tb = orPrint(tb)
	tb.Helper()
	o := optionsOf(tb, opts)
	if o.unknown != nil {
		tb.Fatalf("agenttest: WithUnknown is for SurvivesKills")
	}
	l := o.begin(tb, in)
	out, err := l.finish(o.ctx, newOperator)
	if l.stuck != nil {
		tb.Fatalf("agenttest: %s", l.stuck)
	}
	r := l.result(out, err)
	o.finish(tb, &r, l.events)
	return r
}

// life is a durable run from its begin to its end.
type life struct {
	run     *steptest.Run
	events  *collector
	signals []signal // that were not sent
	waits   []run.Wait
	stuck   error
	id      protocol.RunID

	logged int // events that the collector has
	// killed is called when the process was ended, before the next.
	killed func()
}

func (o options) begin(tb testing.TB, in protocol.OperatorInput) *life {
	tb.Helper()
	if o.run != DefaultRun || o.timeout != 0 {
		tb.Fatalf("agenttest: WithRun and WithTimeout are not for durable runs")
	}
	l := &life{signals: slices.Clone(o.signals)}
	cfg := steptest.Config{Operator: o.operator, Budget: o.budget}
	if o.children != nil {
		cfg.Children = o.dispatch
	}
	l.run = steptest.New(cfg)
	l.events = &collector{before: l.log}
	l.id = l.run.Input(o.input(tb, in), run.Enqueue)
	return l
}

// dispatch answers a call of another operator. What belongs to the parent's run must not be seen by the child: its context is
// that of the test, which ends with the parent's.
func (o options) dispatch(parent context.Context, child run.Child, in protocol.OperatorInput) (protocol.OperatorOutput, error) {
	ctx, cancel := context.WithCancelCause(o.ctx)
	defer cancel(nil)
	defer context.AfterFunc(parent, func() { cancel(context.Cause(parent)) })()
	inv := protocol.InvocationFrom(parent)
	ctx = protocol.WithCall(ctx, protocol.Call{
		Run: child.Run, Parent: inv.Run, Budget: child.Budget, Depth: inv.Depth + 1, Trace: inv.Trace,
	})
	return o.children.Dispatch(ctx, child.Operator, in) //nolint:contextcheck // see above
}

// maxExecutions is when a run is given up that gets nowhere.
const maxExecutions = 1000

// finish executes until the run is over.
func (l *life) finish(ctx context.Context, newOperator func() protocol.Operator) (protocol.OperatorOutput, error) {
	ctx = protocol.WithInvocation(ctx, &protocol.Invocation{Events: l.events})
	for range maxExecutions {
		out, err := l.run.Execute(ctx, newOperator())
		if l.over() {
			return out, l.cancelled(err)
		}
		if e := ctx.Err(); e != nil {
			return out, protocol.AsError(e)
		}
		w := l.run.Wait()
		if w == nil {
			var u *step.Unwind
			if l.killed != nil && errors.As(err, &u) && u.Lost {
				l.killed()
			}
			continue
		}
		l.waits = append(l.waits, *w)
		if !l.answer(*w) {
			l.stuck = fmt.Errorf("the run waits (%s) and nothing comes: no signal of WithSignal fits, and it has no timer", waitsFor(*w))
			return out, err
		}
		if l.over() {
			return out, l.cancelled(err)
		}
	}
	l.stuck = fmt.Errorf("the run is not over after %d executions", maxExecutions)
	return protocol.OperatorOutput{}, l.stuck
}

func (l *life) over() bool {
	open := l.run.Fold().Open
	return open == nil || open.Run != l.id
}

// cancelled returns what the caller is told if the run was stopped on request, else err.
func (l *life) cancelled(err error) error {
	all := l.run.Events()
	last := all[len(all)-1]
	var c run.Cancelled
	if last.Kind != protocol.EventCancelled || json.Unmarshal(last.Data, &c) != nil {
		return err
	}
	return run.CancelledError(c.Reason)
}

// answer sees to it that something comes that the run waits for.
func (l *life) answer(w run.Wait) bool {
	for i, s := range l.signals {
		if s.kind == run.SignalCancel || slices.Contains(w.Signals, s.kind) || w.Paused && s.kind == run.SignalResume {
			l.signals = slices.Delete(l.signals, i, i+1)
			l.run.Signal(s.kind, s.data)
			return true
		}
	}
	return l.run.Fire() != ""
}

func waitsFor(w run.Wait) string {
	text := string(w.Reason)
	if len(w.Signals) > 0 {
		text += ": " + strings.Join(w.Signals, ", ")
	}
	for _, c := range w.Children {
		text += " " + string(c)
	}
	return text
}

func (l *life) result(out protocol.OperatorOutput, err error) Result {
	return Result{Output: out, Err: err, Records: l.run.Records(), Waits: l.waits}
}

// log returns the events of the log that were not returned yet.
func (l *life) log() (fresh []Event) {
	all := l.run.Events()
	for _, e := range all[l.logged:] {
		fresh = append(fresh, Event{Kind: e.Kind, Data: e.Data})
		for _, also := range e.Also {
			fresh = append(fresh, Event{Kind: also.Kind, Data: also.Data})
		}
	}
	l.logged = len(all)
	return fresh
}

// records names the records of steps, in their order.
func (l *life) records() (all []string) {
	for _, e := range l.run.Events() {
		all = append(all, recordOf(e.Kind, e.Data)...)
		for _, also := range e.Also {
			all = append(all, recordOf(also.Kind, also.Data)...)
		}
	}
	return all
}

func recordOf(kind protocol.EventKind, data json.RawMessage) []string {
	what := "the outcome"
	switch kind {
	case protocol.EventStepStarted, protocol.EventToolCallAssembled:
		what = "the start"
	case protocol.EventStepCompleted, protocol.EventToolResultReceived, protocol.EventInferenceCompleted:
	default:
		return nil
	}
	var e run.Entry
	if json.Unmarshal(data, &e) != nil {
		return nil
	}
	return []string{fmt.Sprintf("%s of %s %q at %s", what, e.Step, e.Name, e.Path)}
}
