package model

import (
	"flag"
	"testing"
	"time"
)

var long = flag.Bool("model.long", false, "explore with the larger bounds")

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
			r := Explore(s)
			t.Logf("%v %v", r, time.Since(start).Round(time.Millisecond))
			if r.Broken != "" {
				t.Fail()
			}
		})
	}
}
