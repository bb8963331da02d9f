package exchange

import (
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"github.com/skelegent/skelegent-go/protocol"
)

// Input is the arguments of a tool call as JSON: none are {}, and what is no JSON becomes a JSON string, which the tool
// layer refuses with an error that the model sees.
func Input(arguments string) json.RawMessage {
	switch {
	case strings.TrimSpace(arguments) == "":
		return json.RawMessage(`{}`)
	case json.Valid([]byte(arguments)):
		return json.RawMessage(arguments)
	}
	raw, err := protocol.Marshal(arguments)
	if err != nil { // a string is always JSON
		return json.RawMessage(`""`)
	}
	return raw
}

// IDs keeps the ids of the tool calls of one answer apart: results find their calls by them. The zero value is ready.
type IDs struct{ taken map[string]bool }

// Take returns id, or a new one where it is missing or taken.
func (s *IDs) Take(id string) string {
	if id == "" || s.taken[id] {
		id = "call_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	}
	if s.taken == nil {
		s.taken = map[string]bool{}
	}
	s.taken[id] = true
	return id
}
