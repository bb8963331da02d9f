package kv

import (
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// linkKind is the first token of links, where entries have the kind of their scope.
const linkKind = "link"

// scopeTokens is the beginning of every key of a scope: its kind and its ids, each an escaped token.
func scopeTokens(scope protocol.Scope) string {
	kind := string(scope.Kind())
	switch scope.Kind() {
	case protocol.ScopeGlobal:
		return kind
	case protocol.ScopeOperator:
		return join(kind, wire.Escape(scope.ID()), wire.Escape(string(scope.Operator())))
	default:
		return join(kind, wire.Escape(scope.ID()))
	}
}

// entryKey is where a value is.
func entryKey(scope protocol.Scope, key string) string {
	return join(scopeTokens(scope), wire.Escape(key))
}

// entryFilter matches the values of a scope and nothing else: a key is one token.
func entryFilter(scope protocol.Scope) string { return join(scopeTokens(scope), "*") }

// linkKey is where a relation is.
func linkKey(scope protocol.Scope, from, relation, to string) string {
	return join(linkKind, scopeTokens(scope), wire.Escape(from), wire.Escape(relation), wire.Escape(to))
}

// linkFilter matches the relations that start at a key: one, or all if relation is empty.
func linkFilter(scope protocol.Scope, from, relation string) string {
	token := "*"
	if relation != "" {
		token = wire.Escape(relation)
	}
	return join(linkKind, scopeTokens(scope), wire.Escape(from), token, "*")
}

// lastToken is the token of the key itself, or of the key that a link leads to.
func lastToken(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

func join(tokens ...string) string { return strings.Join(tokens, ".") }
