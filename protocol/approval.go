package protocol

import "encoding/json"

// ApprovalRequest asks a person about calls that wait.
type ApprovalRequest struct {
	RunID     RunID             `json:"run_id" wire:"required"`
	WaitPoint string            `json:"wait_point" wire:"required"`
	Pending   []PendingToolCall `json:"pending" wire:"required"`
	Prompt    *string           `json:"prompt,omitempty"`
	Context   *Content          `json:"context,omitempty"` // what the operator said so far
}

// MarshalJSON writes an empty list of calls as [].
func (r ApprovalRequest) MarshalJSON() ([]byte, error) {
	type plain ApprovalRequest
	r.Pending = orEmpty(r.Pending)
	return Marshal(plain(r))
}

// PendingToolCall is a call that waits for a decision.
type PendingToolCall struct {
	CallID    string          `json:"call_id" wire:"required"`
	ToolName  string          `json:"tool_name" wire:"required"`
	ToolInput json.RawMessage `json:"tool_input" wire:"required"`
	Reason    ApprovalReason  `json:"reason" wire:"required"`
}

// ApprovalReasonKind is the name of an ApprovalReason.
type ApprovalReasonKind string

// The reasons why a call needs approval. The tags of approvals are in Pascal case, unlike all others.
const (
	ReasonPolicyAlways      ApprovalReasonKind = "PolicyAlways"
	ReasonPolicyPredicate   ApprovalReasonKind = "PolicyPredicate"   // with a description
	ReasonMiddlewareBlocked ApprovalReasonKind = "MiddlewareBlocked" // with the name of the guard
)

// ApprovalReason says why a call needs approval. It is comparable; the zero value is PolicyAlways.
type ApprovalReason struct {
	kind   ApprovalReasonKind
	detail string
}

// PolicyAlways says that every call of the tool needs approval.
func PolicyAlways() ApprovalReason { return ApprovalReason{} }

// PolicyPredicate says that this input needs approval, and what it was that matched.
func PolicyPredicate(description string) ApprovalReason {
	return ApprovalReason{kind: ReasonPolicyPredicate, detail: description}
}

// MiddlewareBlocked says which guard held the call.
func MiddlewareBlocked(guard string) ApprovalReason {
	return ApprovalReason{kind: ReasonMiddlewareBlocked, detail: guard}
}

// Kind returns which reason it is.
func (r ApprovalReason) Kind() ApprovalReasonKind {
	if r.kind == "" {
		return ReasonPolicyAlways
	}
	return r.kind
}

// Detail returns the description or the guard.
func (r ApprovalReason) Detail() string { return r.detail }

type descriptionJSON struct {
	Description string `json:"description" wire:"required"`
}

type guardJSON struct {
	Guard string `json:"guard" wire:"required"`
}

// MarshalJSON writes "PolicyAlways" or an object such as {"MiddlewareBlocked":{"guard":"..."}}.
func (r ApprovalReason) MarshalJSON() ([]byte, error) {
	switch r.kind {
	case ReasonPolicyPredicate:
		return marshalExternal(r.kind, descriptionJSON{r.detail})
	case ReasonMiddlewareBlocked:
		return marshalExternal(r.kind, guardJSON{r.detail})
	default:
		return Marshal(string(r.Kind()))
	}
}

// UnmarshalJSON reads every form.
func (r *ApprovalReason) UnmarshalJSON(raw []byte) error {
	tag, data, err := externalTag(raw)
	switch kind := ApprovalReasonKind(tag); {
	case err != nil:
		return err
	case kind == ReasonPolicyAlways && data == nil:
		*r = PolicyAlways()
		return nil
	case kind == ReasonPolicyPredicate && data != nil:
		var j descriptionJSON
		err := decodeStruct(data, &j)
		*r = PolicyPredicate(j.Description)
		return at(tag, err)
	case kind == ReasonMiddlewareBlocked && data != nil:
		var j guardJSON
		err := decodeStruct(data, &j)
		*r = MiddlewareBlocked(j.Guard)
		return at(tag, err)
	}
	return unknownVariant(tag, string(ReasonPolicyAlways), string(ReasonPolicyPredicate), string(ReasonMiddlewareBlocked))
}
