package executor

import (
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/protocol"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	told := []protocol.EffectOutcome{{EffectID: "a", Status: protocol.OutcomeOK}}
	at := func(kind protocol.EventKind, through, m uint64, i int) ledger {
		return ledger{seq: 9, kind: kind, through: through, last: record{M: m, Through: through, I: i, Outcomes: told}}
	}
	for _, tc := range []struct {
		name     string
		ledger   ledger
		m        uint64
		step     step
		from     int
		outcomes int
		doubtful bool
	}{
		{"nothing yet, first", ledger{}, 1, stepPerform, 1, 0, false},
		{"nothing yet, second", ledger{}, 2, stepWait, 0, 0, false},
		{"done before", at(protocol.EventEffectDone, 3, 3, 0), 3, stepDone, 0, 0, false},
		{"done long before", at(protocol.EventEffectDone, 3, 3, 0), 1, stepDone, 0, 0, false},
		{"next", at(protocol.EventEffectDone, 3, 3, 0), 4, stepPerform, 1, 0, false},
		{"too early", at(protocol.EventEffectDone, 3, 3, 0), 5, stepWait, 0, 0, false},
		{"begun by somebody", at(protocol.EventEffectActing, 3, 4, 2), 4, stepPerform, 2, 1, true},
		{"given back by somebody", at(protocol.EventEffectReleased, 3, 4, 2), 4, stepPerform, 2, 1, false},
		{"behind one that is begun", at(protocol.EventEffectActing, 3, 4, 2), 5, stepWait, 0, 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, from, outcomes, doubtful := tc.ledger.decide(tc.m)
			if s != tc.step || from != tc.from || len(outcomes) != tc.outcomes || doubtful != tc.doubtful {
				t.Errorf("got %v from %d with %d outcomes, doubtful %v", s, from, len(outcomes), doubtful)
			}
		})
	}
}

// A record tells of every effect of a message, however much their errors have to say.
func TestBrief(t *testing.T) {
	t.Parallel()
	e := protocol.NewError(protocol.CodeToolError, strings.Repeat("ü", 1000)).With("k", "v")
	in := []protocol.EffectOutcome{{EffectID: "a", Status: protocol.OutcomeFailed, Error: e}, {EffectID: "b", Status: protocol.OutcomeOK}}
	out := brief(in)
	if got := out[0].Error; got.Code != protocol.CodeToolError || len(got.Message) > maxReason+3 || got.Details != nil {
		t.Errorf("got %+v", got)
	}
	if in[0].Error != e || len(e.Message) != 2000 || e.Details["k"] != "v" {
		t.Error("the outcome itself was changed")
	}
}
