package agenttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/actors/step/steptest"
	"github.com/skelegent/skelegent-go/protocol"
)

// maxFailures is after how many kills that a run did not survive SurvivesKills stops.
const maxFailures = 3

// SurvivesKills fails the test unless a durable operator survives the end of its process wherever that comes. It runs it once
// without, as Durable does, and then for each record of that run twice from the begin: the process is killed just before the
// record is in the log, and just after. What is wrong is told with the record:
//
//   - the output, the effects or the error are not those of the run without a kill, but for durations;
//   - a Model is asked something else, or once more in a step whose answer was recorded;
//   - what Once or Watch counts happens more often in a step;
//   - the run has other steps than before;
//   - a Model is asked, or what Once or Watch counts happens, outside of any step: a kill behind the last record repeats it.
//
// A Model begins its script anew in each run. The one answer that was lost with its record is given again to the step that asks
// again. So make models before, and not in newOperator, which is asked for the operator of each process.
//
// Where the process is killed while a step is made that must not be repeated, its outcome is unknown, and the model or the code is
// told so: only there may what happens happen less often, may questions differ, and the success and the cost of calls. If then the
// output differs for good reason, use WithUnknown.
//
// The result is that of the run without a kill, which must not fail. What else the operator shares among the runs, such as what
// its tools count or write, is the test's own to tell apart.
func SurvivesKills(tb testing.TB, newOperator func() protocol.Operator, in protocol.OperatorInput, opts ...Option) Result { //nolint:thelper // tb may be nil
	tb = orPrint(tb)
	tb.Helper()
	o := optionsOf(tb, opts)
	store := o.state
	o.state = nil // each run reads what the first one read
	clean := newTrial(tb, o, in, nil)
	want := clean.run(tb, newOperator)
	clean.leave(want)
	if len(clean.wrong) > 0 {
		tb.Fatalf("agenttest: without a kill: %s", strings.Join(clean.wrong, "\n"))
	}
	records, failures := clean.life.records(), 0
	for when, kill := range steptest.Kills(want.Records) {
		t := newTrial(tb, o, in, clean)
		kill(t.life.run)
		t.judge(tb, want, t.run(tb, newOperator))
		if len(t.wrong) == 0 {
			continue
		}
		tb.Errorf("agenttest: killed %s: %s", naming(when, records), strings.Join(t.wrong, "\n"))
		if failures++; failures == maxFailures {
			tb.Errorf("agenttest: the kills behind this one were not tried")
			break
		}
	}
	if failures == 0 {
		clean.outside(tb)
	}
	if store != nil {
		o.perform(tb, store, want)
	}
	return want
}

// outside tells of what is in no step, and so has no record that would keep it from being repeated.
func (t *trial) outside(tb testing.TB) {
	tb.Helper()
	code := string(t.life.id)
	for what := range t.happens {
		if what.place == code {
			tb.Errorf("agenttest: %s happens outside of a step: a kill behind the last record repeats it", what.what)
		}
	}
	for _, mem := range t.models {
		if mem.places[code] != nil {
			tb.Errorf("agenttest: a model is asked outside of a step: a kill behind the last record asks and pays again")
		}
	}
}

// leave makes the models show what they were asked without a kill, and looks at what is wrong with that.
func (t *trial) leave(r Result) {
	if r.Err != nil {
		t.complain("the run failed: %v", r.Err)
	}
	for m, mem := range t.models {
		if left := mem.script.Left(); !m.adopt(mem.script) && len(left) > 0 {
			t.complain("%d steps of the model's script were not used up:\n%s", len(left), describe(left))
		}
	}
}

// naming says which record it is that steptest counts.
func naming(when string, records []string) string {
	var n int
	var side string
	if _, err := fmt.Sscanf(when, "%s record %d", &side, &n); err != nil || n > len(records) {
		return when
	}
	return fmt.Sprintf("%s (%s)", when, records[n-1])
}

// run executes the operator until it is over.
func (t *trial) run(tb testing.TB, newOperator func() protocol.Operator) Result {
	tb.Helper()
	t.life.killed = t.died
	out, err := t.life.finish(t.opts.ctx, func() protocol.Operator {
		t.mu.Lock()
		t.process++
		t.mu.Unlock()
		return newOperator()
	})
	if t.life.stuck != nil {
		t.complain("%s", t.life.stuck)
	}
	r := t.life.result(out, err)
	t.opts.finish(tb, &r, t.life.events)
	return r
}

// died looks for steps whose outcome nobody knows any more.
func (t *trial) died() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deaths++
	for _, e := range t.life.run.Fold().Open.Journal {
		t.unknown = t.unknown || e.Begun && e.Child == nil
	}
}

// judge compares a trial with the one without a kill.
func (t *trial) judge(tb testing.TB, want, got Result) {
	tb.Helper()
	if t.deaths == 0 {
		t.complain("the run did not come so far: it has other steps each time")
	} else if !t.unknown && got.Records != want.Records {
		t.complain("the run has %d records, and without the kill %d", got.Records, want.Records)
	}
	for what, n := range t.happens {
		if before := t.clean.happens[what]; n > before {
			t.complain("%s happens %s at %s, and without the kill %s", what.what, times(n), what.place, times(before))
		}
	}
	for what, before := range t.clean.happens {
		if n := t.happens[what]; n < before && !t.unknown {
			t.complain("%s happens %s at %s, and without the kill %s", what.what, times(n), what.place, times(before))
		}
	}
	slices.Sort(t.wrong) // maps have no order
	if check := t.opts.unknown; t.unknown && check != nil {
		check(tb, got)
		return
	}
	if d := difference("error", errorText(want.Err), errorText(got.Err)); d != "" {
		t.complain("%s", d)
	} else if d := difference("output", plain(want, t.unknown), plain(got, t.unknown)); d != "" {
		t.complain("%s", d)
	}
}

func times(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
