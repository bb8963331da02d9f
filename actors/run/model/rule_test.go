package model

import (
	"slices"
	"strings"
	"testing"
)

// Each rule, and a scenario in which it is missed.
var missed = []struct {
	rule     Rule
	scenario string
	comes    string // of it
}{
	{ruleFence, "two inputs, crash", "while r1 is open"},
	{ruleJanitorFence, "janitor", "r2 was accepted and never ended"},
	{ruleCarrier, "duplicate dispatch", "paid 2 times with 0"},
	{ruleNewest, "one input", "paid 3 times with 1"},
	{ruleCommitFirst, "one input", "is open in i, and nobody goes on"},
	{ruleQueue, "two inputs, crash", "r2 waits in i, and nobody goes on"},
	{rulePrevious, "two inputs, crash", "paid before effect"},
	{ruleSettleFirst, "effects of two families", "r2 waits in i, and nobody goes on"},
	{ruleConflict, "duplicate dispatch", "paid 2 times with 0"},
	{ruleDecideAnew, "a signal for this run", "has come, and nobody goes on"},
	{ruleUnknown, "two inputs, unknown outcomes", "paid 2 times with 0"},
	{ruleSameID, "two inputs, unknown outcomes", "while r1 is open"},
	{ruleNote, "a signal for this run", "r1 waits for ever"},
	{ruleOneMessage, "a signal for this run", "has come, and nobody goes on"},
	{ruleAttach, "duplicate dispatch", "was never answered"},
	{ruleEarly, "cancel what waits its turn", "told to stop, and completed"},
	{ruleTimersAfter, "sleep", "r1 waits for ever"},
	{ruleTimersAgain, "sleep", "r1 waits for ever"},
	{ruleOlder, "behind its own effects", "r1 is open in i, and nobody goes on"},
	{ruleBehind, "sleep, zombie", "r1 waits for ever"},
	{ruleEffectsAfter, "effects of two families", "is not committed"},
	{ruleAnswerAfter, "interrupt", "alice heard"},
	{ruleBar, "child that never began", "r1 waits for ever"},
	{ruleRefusal, "child that is turned away", "r1 waits for ever"},
	{ruleHeld, "janitor", "was never answered"},
	{ruleKnown, "janitor, lost acknowledgement", "r1 waits for ever"},
}

// Without a rule, the scenario comes to grief; the trace says how. An acknowledgement that comes too early is caught as that,
// and once more by what comes of it.
func TestRules(t *testing.T) {
	t.Parallel()
	all := Scenarios()
	for _, tc := range missed {
		t.Run(string(tc.rule)+", in "+tc.scenario, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == tc.scenario })
			m := newMachine(all[i], tc.rule)
			if r := m.explore(); r.Broken == "" {
				t.Errorf("it is not missed: %v", r)
			}
			m = newMachine(all[i], tc.rule)
			m.blunt = true
			r := m.explore()
			t.Log(r)
			if !strings.Contains(r.Broken, tc.comes) || r.Broken == "" {
				t.Errorf("what comes of it is not that %s", tc.comes)
			}
		})
	}
}
