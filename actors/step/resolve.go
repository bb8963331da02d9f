package step

import (
	"encoding/json"
	"slices"

	"github.com/skelegent/skelegent-go/protocol"
)

// Decision is what was decided about one call.
type Decision struct {
	Approved bool `json:"approved"`
	// Reason is why it was refused; it may be empty.
	Reason string `json:"reason,omitempty"`
	// Input replaces the input of an approved call; nil leaves it.
	Input json.RawMessage `json:"input,omitempty"`
}

// The reasons of calls that are refused since nothing was said of them.
const (
	notApproved = "not approved"
	noDecision  = "no decision provided"
)

// Resolve returns what a response decides about the pending calls, by their ids. Each of them has a decision: Approve refuses
// those it does not name, Reject approves them, Modify approves all, and Batch refuses them. Ids that are not pending change
// nothing; of two decisions of a Batch on one call the first counts.
func Resolve(response protocol.ApprovalResponse, pending []protocol.PendingToolCall) map[string]Decision {
	decide := func(protocol.PendingToolCall) Decision { return Decision{Reason: noDecision} }
	switch r := response.(type) {
	case protocol.ApproveAll:
		decide = func(protocol.PendingToolCall) Decision { return Decision{Approved: true} }
	case protocol.RejectAll:
		decide = func(protocol.PendingToolCall) Decision { return Decision{Reason: r.Reason} }
	case protocol.Approve:
		decide = func(p protocol.PendingToolCall) Decision {
			if slices.Contains(r.CallIDs, p.CallID) {
				return Decision{Approved: true}
			}
			return Decision{Reason: notApproved}
		}
	case protocol.Reject:
		decide = func(p protocol.PendingToolCall) Decision {
			if slices.Contains(r.CallIDs, p.CallID) {
				return Decision{Reason: r.Reason}
			}
			return Decision{Approved: true}
		}
	case protocol.Modify:
		decide = func(p protocol.PendingToolCall) Decision {
			if p.CallID == r.CallID {
				return Decision{Approved: true, Input: r.NewInput}
			}
			return Decision{Approved: true}
		}
	case protocol.Batch:
		decide = func(p protocol.PendingToolCall) Decision { return ofBatch(r, p) }
	}
	decisions := make(map[string]Decision, len(pending))
	for _, p := range pending {
		decisions[p.CallID] = decide(p)
	}
	return decisions
}

func ofBatch(b protocol.Batch, p protocol.PendingToolCall) Decision {
	for _, d := range b.Decisions {
		if d.CallID != p.CallID {
			continue
		}
		switch a := d.Action.(type) {
		case protocol.ApproveCall:
			return Decision{Approved: true}
		case protocol.ModifyCall:
			return Decision{Approved: true, Input: a.NewInput}
		case protocol.RejectCall:
			return Decision{Reason: a.Reason}
		}
	}
	return Decision{Reason: noDecision}
}

// named returns the ids that a response names.
func named(response protocol.ApprovalResponse) []string {
	switch r := response.(type) {
	case protocol.Approve:
		return r.CallIDs
	case protocol.Reject:
		return r.CallIDs
	case protocol.Modify:
		return []string{r.CallID}
	case protocol.Batch:
		ids := make([]string, len(r.Decisions))
		for i, d := range r.Decisions {
			ids[i] = d.CallID
		}
		return ids
	}
	return nil
}
