package tool

import (
	"encoding/json"

	"github.com/skelegent/skelegent-go/protocol"
)

// Approved is t, each of whose calls a person must allow. Everything else is t's own.
func Approved(t Tool) Tool { return approved{t} }

type approved struct{ Tool }

// NeedsApproval implements Approver.
func (approved) NeedsApproval(json.RawMessage) (protocol.ApprovalReason, bool) {
	return protocol.PolicyAlways(), true
}

// Unwrap implements Wrapper.
func (a approved) Unwrap() Tool { return a.Tool }
