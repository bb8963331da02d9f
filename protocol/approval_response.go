package protocol

import "encoding/json"

// ApprovalResponse is a decision on the calls of an ApprovalRequest. The variants are ApproveAll, Approve, Reject,
// RejectAll, Modify and Batch; a field of this type is read by its tag.
type ApprovalResponse interface{ approvalResponse() }

// DecodeApprovalResponse reads a decision. What does not fit is an *Error with code invalid_input.
func DecodeApprovalResponse(data []byte) (ApprovalResponse, error) {
	var r ApprovalResponse
	err := Unmarshal(data, &r)
	return r, err
}

// ApproveAll lets every pending call run.
type ApproveAll struct{}

// Approve lets the named calls run; the others are rejected.
type Approve struct {
	CallIDs []string `json:"call_ids" wire:"required"`
}

// Reject refuses the named calls; the others run.
type Reject struct {
	CallIDs []string `json:"call_ids" wire:"required"`
	Reason  string   `json:"reason" wire:"required"`
}

// RejectAll refuses every pending call.
type RejectAll struct {
	Reason string `json:"reason" wire:"required"`
}

// Modify lets every pending call run, one of them with another input.
type Modify struct {
	CallID   string          `json:"call_id" wire:"required"`
	NewInput json.RawMessage `json:"new_input" wire:"required"`
}

// Batch decides call by call; one that is not named is rejected.
type Batch struct {
	Decisions []ToolCallDecision `json:"decisions" wire:"required"`
}

func (ApproveAll) approvalResponse() {}
func (Approve) approvalResponse()    {}
func (Reject) approvalResponse()     {}
func (RejectAll) approvalResponse()  {}
func (Modify) approvalResponse()     {}
func (Batch) approvalResponse()      {}

var _ = newExternalUnion(
	variant[ApprovalResponse]{"ApproveAll", ApproveAll{}},
	variant[ApprovalResponse]{"Approve", Approve{}},
	variant[ApprovalResponse]{"Reject", Reject{}},
	variant[ApprovalResponse]{"RejectAll", RejectAll{}},
	variant[ApprovalResponse]{"Modify", Modify{}},
	variant[ApprovalResponse]{"Batch", Batch{}},
)

// MarshalJSON writes "ApproveAll".
func (ApproveAll) MarshalJSON() ([]byte, error) { return []byte(`"ApproveAll"`), nil }

// MarshalJSON writes {"Approve":{...}}.
func (r Approve) MarshalJSON() ([]byte, error) {
	type plain Approve
	r.CallIDs = orEmpty(r.CallIDs)
	return marshalExternal("Approve", plain(r))
}

// MarshalJSON writes {"Reject":{...}}.
func (r Reject) MarshalJSON() ([]byte, error) {
	type plain Reject
	r.CallIDs = orEmpty(r.CallIDs)
	return marshalExternal("Reject", plain(r))
}

// MarshalJSON writes {"RejectAll":{...}}.
func (r RejectAll) MarshalJSON() ([]byte, error) {
	type plain RejectAll
	return marshalExternal("RejectAll", plain(r))
}

// MarshalJSON writes {"Modify":{...}}.
func (r Modify) MarshalJSON() ([]byte, error) {
	type plain Modify
	return marshalExternal("Modify", plain(r))
}

// MarshalJSON writes {"Batch":{...}}.
func (r Batch) MarshalJSON() ([]byte, error) {
	type plain Batch
	r.Decisions = orEmpty(r.Decisions)
	return marshalExternal("Batch", plain(r))
}

// ToolCallDecision is the decision on one call.
type ToolCallDecision struct {
	CallID string         `json:"call_id" wire:"required"`
	Action ToolCallAction `json:"action" wire:"required"`
}

// UnmarshalJSON reads a decision; the action by its tag.
func (d *ToolCallDecision) UnmarshalJSON(raw []byte) error {
	type plain ToolCallDecision
	return decodeStruct(raw, (*plain)(d))
}

// ToolCallAction is what to do with one call. The variants are ApproveCall, RejectCall and ModifyCall.
type ToolCallAction interface{ toolCallAction() }

// ApproveCall lets the call run as it is.
type ApproveCall struct{}

// RejectCall refuses the call.
type RejectCall struct {
	Reason string `json:"reason" wire:"required"`
}

// ModifyCall lets the call run with another input.
type ModifyCall struct {
	NewInput json.RawMessage `json:"new_input" wire:"required"`
}

func (ApproveCall) toolCallAction() {}
func (RejectCall) toolCallAction()  {}
func (ModifyCall) toolCallAction()  {}

var _ = newExternalUnion(
	variant[ToolCallAction]{"Approve", ApproveCall{}},
	variant[ToolCallAction]{"Reject", RejectCall{}},
	variant[ToolCallAction]{"Modify", ModifyCall{}},
)

// MarshalJSON writes "Approve".
func (ApproveCall) MarshalJSON() ([]byte, error) { return []byte(`"Approve"`), nil }

// MarshalJSON writes {"Reject":{...}}.
func (a RejectCall) MarshalJSON() ([]byte, error) {
	type plain RejectCall
	return marshalExternal("Reject", plain(a))
}

// MarshalJSON writes {"Modify":{...}}.
func (a ModifyCall) MarshalJSON() ([]byte, error) {
	type plain ModifyCall
	return marshalExternal("Modify", plain(a))
}
