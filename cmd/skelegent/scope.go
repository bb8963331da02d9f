package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// scopeForms is what a scope looks like.
const scopeForms = "global, session/ID, workflow/OPERATOR/INSTANCE, operator/WORKFLOW/OPERATOR (operator//OPERATOR for none), or custom/NAME"

// parseScope reads a scope as Scope.String writes it.
func parseScope(s string) (protocol.Scope, error) {
	kind, id, _ := strings.Cut(s, "/")
	if kind == string(protocol.ScopeGlobal) && kind == s {
		return protocol.GlobalScope(), nil
	}
	switch protocol.ScopeKind(kind) {
	case protocol.ScopeSession, protocol.ScopeWorkflow, protocol.ScopeCustom:
		if id == "" {
			return protocol.Scope{}, fmt.Errorf("scope %.120q: %s needs an id: %s", s, kind, scopeForms)
		}
	default:
	}
	switch protocol.ScopeKind(kind) {
	case protocol.ScopeSession:
		return protocol.InSession(protocol.SessionID(id)), nil
	case protocol.ScopeWorkflow:
		return protocol.InWorkflow(protocol.WorkflowID(id)), nil
	case protocol.ScopeCustom:
		return protocol.CustomScope(id), nil
	case protocol.ScopeOperator:
		return operatorScope(s, id)
	case protocol.ScopeGlobal:
	}
	return protocol.Scope{}, fmt.Errorf("scope %.120q must be %s", s, scopeForms)
}

// operatorScope splits at the last slash: a workflow may have some, an operator has none.
func operatorScope(s, id string) (protocol.Scope, error) {
	at := strings.LastIndexByte(id, '/')
	if at < 0 {
		return protocol.Scope{}, fmt.Errorf("scope %.120q: say operator//%s, or operator/WORKFLOW/OPERATOR", s, id)
	}
	if err := wire.CheckOperator(id[at+1:]); err != nil {
		return protocol.Scope{}, fmt.Errorf("scope %.120q: %w", s, err)
	}
	return protocol.OfOperator(protocol.WorkflowID(id[:at]), protocol.OperatorID(id[at+1:])), nil
}

// optionalOperator returns the one argument there may be, an operator.
func optionalOperator(args []string) (string, error) {
	if len(args) == 0 {
		return "", nil
	}
	if err := wire.CheckOperator(args[0]); err != nil {
		return "", usageError(err)
	}
	return args[0], nil
}

var errNoKey = errors.New("the key must not be empty")
