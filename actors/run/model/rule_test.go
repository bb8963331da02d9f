package model

import (
	"slices"
	"testing"
)

// Each rule, and a scenario in which it is missed.
var missed = []struct {
	rule     Rule
	scenario string
}{
	{ruleFence, "two inputs, crash"},
	{ruleFence, "janitor"},
	{ruleCarrier, "duplicate dispatch"},
	{ruleCommitFirst, "one input"},
	{ruleQueue, "two inputs, crash"},
	{rulePrevious, "two inputs, crash"},
	{ruleConflict, "duplicate dispatch"},
	{ruleUnknown, "two inputs, unknown outcomes"},
	{ruleSameID, "two inputs, unknown outcomes"},
	{ruleDecideAnew, "a signal for this run"},
	{ruleNote, "a signal for this run"},
	{ruleSettleFirst, "effects of two families"},
	{ruleTimersAfter, "sleep"},
	{ruleTimersAgain, "sleep"},
	{ruleEarly, "cancel what waits its turn"},
	{ruleEffectsAfter, "effects of two families"},
	{ruleAnswerAfter, "cancel"},
	{ruleBar, "child that never began"},
	{ruleParentsRefusal, "child that is turned away"},
	{ruleHeld, "janitor"},
}

// Without a rule, the scenario comes to grief. The trace says how.
func TestRules(t *testing.T) {
	t.Parallel()
	all := Scenarios()
	for _, tc := range missed {
		t.Run(string(tc.rule)+", in "+tc.scenario, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == tc.scenario })
			r := explore(all[i], tc.rule)
			if r.Broken == "" {
				t.Fatalf("it is not missed: %v", r)
			}
			t.Log(r)
		})
	}
}
