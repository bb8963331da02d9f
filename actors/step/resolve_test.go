package step_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// The forms of A13 and what resolve_approval makes of them, B3.
func TestResolve(t *testing.T) {
	t.Parallel()
	yes := step.Decision{Approved: true}
	no := func(reason string) step.Decision { return step.Decision{Reason: reason} }
	with := func(input string) step.Decision {
		return step.Decision{Approved: true, Input: json.RawMessage(input)}
	}
	for name, c := range map[string]struct {
		response string
		c1, c2   step.Decision
	}{
		"ApproveAll":       {`"ApproveAll"`, yes, yes},
		"Approve":          {`{"Approve":{"call_ids":["c1"]}}`, yes, no("not approved")},
		"Approve none":     {`{"Approve":{"call_ids":[]}}`, no("not approved"), no("not approved")},
		"Reject":           {`{"Reject":{"call_ids":["c1"],"reason":"risky"}}`, no("risky"), yes},
		"RejectAll":        {`{"RejectAll":{"reason":"no"}}`, no("no"), no("no")},
		"Modify":           {`{"Modify":{"call_id":"c2","new_input":{"a":1}}}`, yes, with(`{"a":1}`)},
		"Batch":            {`{"Batch":{"decisions":[{"call_id":"c1","action":"Approve"},{"call_id":"c2","action":{"Reject":{"reason":"no"}}}]}}`, yes, no("no")},
		"Batch modifies":   {`{"Batch":{"decisions":[{"call_id":"c1","action":{"Modify":{"new_input":2}}}]}}`, with(`2`), no("no decision provided")},
		"Batch says twice": {`{"Batch":{"decisions":[{"call_id":"c1","action":{"Reject":{"reason":"no"}}},{"call_id":"c1","action":"Approve"}]}}`, no("no"), no("no decision provided")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response, err := protocol.DecodeApprovalResponse([]byte(c.response))
			if err != nil {
				t.Fatal(err)
			}
			got := step.Resolve(response, []protocol.PendingToolCall{{CallID: "c1"}, {CallID: "c2"}})
			if d := cmp.Diff(map[string]step.Decision{"c1": c.c1, "c2": c.c2}, got); d != "" {
				t.Error(d)
			}
		})
	}
	if got := step.Resolve(nil, []protocol.PendingToolCall{{CallID: "c1"}}); got["c1"].Approved {
		t.Error("nothing approves")
	}
}
