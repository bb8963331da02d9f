package model

import (
	"flag"
	"slices"
	"testing"
	"time"
)

var long = flag.Bool("model.long", false, "explore with the larger bounds")

// enough is how many worlds of a scenario are visited under the race detector, which is slow and has nothing to find here: a
// machine has one goroutine. Without it, and in make model, all are.
const enough = 2000

// Every scenario is explored to its end, and no world of it breaks a rule.
func TestScenarios(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, s := range Scenarios() {
		if names[s.Name] {
			t.Fatalf("two scenarios %q", s.Name)
		}
		names[s.Name] = true
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			if *long && s.Long != (Faults{}) {
				s.Faults = s.Long
			}
			start := time.Now()
			m := newMachine(s, "")
			if underRace && !*long {
				m.limit = enough
			}
			r := m.explore()
			t.Logf("%v %v", r, time.Since(start).Round(time.Millisecond))
			if r.Broken != "" {
				t.Fail()
			}
			if r.Ends != s.Ends && !r.Cut && !*long {
				t.Errorf("the runs ought to end so: %s", s.Ends)
			}
		})
	}
}

// What onlyWay leaves out is no log.
func TestOnlyWay(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"two inputs, crash", "duplicate dispatch", "steer", "attempts", "sleep", "retry", "child", "child of a cancelled run",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if underRace {
				t.Skip("the race detector makes it slow, and has nothing to find here")
			}
			i := slices.IndexFunc(Scenarios(), func(s Scenario) bool { return s.Name == name })
			s := Scenarios()[i]
			s.Faults.Expire, s.Faults.LoseAck = 0, 0
			want := newMachine(s, "")
			want.every = true
			w, got := want.explore(), Explore(s)
			t.Logf("%d states, %d without", got.States, w.States)
			if got.Logs != w.Logs || got.Ends != w.Ends || w.Broken != "" {
				t.Errorf("got %v\nwant %v", got, w)
			}
		})
	}
}
