package compose

import (
	"encoding/json"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

// NewCall returns a call of a tool, as normalisers make them. The arguments may be any JSON, and are {} if there are none.
// The error is of kind KindNormalizerFailed: the name is blank or has a character that IsIdentifier does not allow, or the
// arguments are no JSON.
func NewCall(id, name string, args json.RawMessage) (protocol.ToolCall, error) {
	if strings.TrimSpace(name) == "" {
		return protocol.ToolCall{}, ErrNormalizerFailed("empty tool name")
	}
	if !IsIdentifier(name) {
		return protocol.ToolCall{}, ErrNormalizerFailed("invalid tool name " + quoted(name))
	}
	if len(args) == 0 {
		args = json.RawMessage(`{}`)
	}
	if !json.Valid(args) {
		return protocol.ToolCall{}, ErrNormalizerFailed("the arguments of " + name + " are not JSON")
	}
	return protocol.ToolCall{ID: id, Name: name, Input: args}, nil
}

// MaxIdentifier is how many bytes the name of a tool, a skill or an argument may have.
const MaxIdentifier = 256

// IsIdentifier reports whether name is 1 to MaxIdentifier of A-Z, a-z, 0-9, _, . and -.
func IsIdentifier(name string) bool {
	if name == "" || len(name) > MaxIdentifier {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '.', c == '-':
		default:
			return false
		}
	}
	return true
}

// quoted is a name for an error's text: short, and without what could mislead who reads it.
func quoted(name string) string {
	const most = 80
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "..."
	}
	raw, _ := json.Marshal(name) // a string always marshals
	return string(raw)
}
