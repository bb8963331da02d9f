package protocol

import "fmt"

// ScopeKind says which of its forms a Scope has.
type ScopeKind string

// The kinds of scope.
const (
	ScopeGlobal   ScopeKind = "global"
	ScopeSession  ScopeKind = "session"
	ScopeWorkflow ScopeKind = "workflow"
	ScopeOperator ScopeKind = "operator"
	ScopeCustom   ScopeKind = "custom"
)

// Scope says what a piece of state belongs to. It is comparable; the zero value is the global scope.
type Scope struct {
	kind     ScopeKind
	id       string // session, workflow or custom name; the workflow of an operator scope
	operator string
}

// GlobalScope is shared by all.
func GlobalScope() Scope { return Scope{} }

// InSession is the state of one conversation.
func InSession(id SessionID) Scope { return Scope{kind: ScopeSession, id: string(id)} }

// InWorkflow is the state of one workflow.
func InWorkflow(id WorkflowID) Scope { return Scope{kind: ScopeWorkflow, id: string(id)} }

// OfOperator is what an operator keeps, within a workflow or, with an empty workflow, across all.
func OfOperator(workflow WorkflowID, operator OperatorID) Scope {
	return Scope{kind: ScopeOperator, id: string(workflow), operator: string(operator)}
}

// CustomScope is a scope of the user's own naming.
func CustomScope(name string) Scope { return Scope{kind: ScopeCustom, id: name} }

// Kind returns which form the scope has.
func (s Scope) Kind() ScopeKind {
	if s.kind == "" {
		return ScopeGlobal
	}
	return s.kind
}

// ID returns the session, workflow or custom name; for an operator scope its workflow.
func (s Scope) ID() string { return s.id }

// Operator returns the operator of an operator scope.
func (s Scope) Operator() OperatorID { return OperatorID(s.operator) }

// String returns the scope as the command line writes it, such as session/s1.
func (s Scope) String() string {
	switch s.Kind() {
	case ScopeGlobal:
		return string(ScopeGlobal)
	case ScopeOperator:
		return fmt.Sprintf("%s/%s/%s", s.kind, s.id, s.operator)
	default:
		return fmt.Sprintf("%s/%s", s.kind, s.id)
	}
}

type operatorScope struct {
	Workflow string `json:"workflow" wire:"required"`
	Operator string `json:"operator" wire:"required"`
}

// MarshalJSON writes the externally tagged form, such as {"session":"s1"} or "global".
func (s Scope) MarshalJSON() ([]byte, error) {
	switch s.Kind() {
	case ScopeGlobal:
		return []byte(`"global"`), nil
	case ScopeOperator:
		return Marshal(map[ScopeKind]operatorScope{ScopeOperator: {Workflow: s.id, Operator: s.operator}})
	default:
		return Marshal(map[ScopeKind]string{s.kind: s.id})
	}
}

// UnmarshalJSON reads both documented forms: beside what MarshalJSON writes, {"operator":"coder"} (an empty
// workflow) and {"custom":{"namespace":"n","id":"i"}} (the name n:i).
func (s *Scope) UnmarshalJSON(raw []byte) error {
	tag, data, err := externalTag(raw)
	if err != nil {
		return err
	}
	switch kind := ScopeKind(tag); {
	case kind == ScopeGlobal && data == nil:
		*s = Scope{}
		return nil
	case data == nil:
	case kind == ScopeSession, kind == ScopeWorkflow, kind == ScopeCustom && data[0] == '"':
		id, err := unquote(data)
		*s = Scope{kind: kind, id: id}
		return at(tag, err)
	case kind == ScopeCustom:
		var c struct {
			Namespace string `json:"namespace" wire:"required"`
			ID        string `json:"id" wire:"required"`
		}
		err := decodeStruct(data, &c)
		*s = CustomScope(c.Namespace + ":" + c.ID)
		return at(tag, err)
	case kind == ScopeOperator && data[0] == '"':
		id, err := unquote(data)
		*s = OfOperator("", OperatorID(id))
		return at(tag, err)
	case kind == ScopeOperator:
		var o operatorScope
		err := decodeStruct(data, &o)
		*s = OfOperator(WorkflowID(o.Workflow), OperatorID(o.Operator))
		return at(tag, err)
	}
	return unknownVariant(tag, "global", "session", "workflow", "operator", customTag)
}
