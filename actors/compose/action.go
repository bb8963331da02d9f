package compose

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/skelegent/skelegent-go/protocol"
)

// NextAction is what a skill says should happen next. The variants are RunSkill, InvokeTool, Conclude and Discard. An agent
// acts on the last two only: they end its step. The others are advice for whoever runs it.
type NextAction interface {
	json.Marshaler
	action()
	// ends reports whether the chain has come to its end.
	ends() bool
}

// RunSkill advises to run a skill.
type RunSkill struct{ ID string }

// InvokeTool advises to call a tool.
type InvokeTool struct {
	Tool string          `json:"tool" wire:"required"`
	Args json.RawMessage `json:"args" wire:"required"`
}

// Conclude says that the investigation has come to its result.
type Conclude struct{}

// Discard says that there is nothing to investigate.
type Discard struct{}

var (
	_ NextAction = RunSkill{}
	_ NextAction = InvokeTool{}
	_ NextAction = Conclude{}
	_ NextAction = Discard{}
)

func (RunSkill) action()   {}
func (InvokeTool) action() {}
func (Conclude) action()   {}
func (Discard) action()    {}

func (RunSkill) ends() bool   { return false }
func (InvokeTool) ends() bool { return false }
func (Conclude) ends() bool   { return true }
func (Discard) ends() bool    { return true }

// The tags of the variants.
const (
	tagRunSkill   = "RunSkill"
	tagInvokeTool = "InvokeTool"
	tagConclude   = "Conclude"
	tagDiscard    = "Discard"
)

// MarshalJSON writes {"RunSkill":"id"}.
func (a RunSkill) MarshalJSON() ([]byte, error) {
	return protocol.Marshal(map[string]string{tagRunSkill: a.ID})
}

// MarshalJSON writes {"InvokeTool":{"tool":"name","args":{}}}.
func (a InvokeTool) MarshalJSON() ([]byte, error) {
	type plain InvokeTool
	return protocol.Marshal(map[string]plain{tagInvokeTool: plain(a)})
}

// MarshalJSON writes "Conclude".
func (Conclude) MarshalJSON() ([]byte, error) { return []byte(`"` + tagConclude + `"`), nil }

// MarshalJSON writes "Discard".
func (Discard) MarshalJSON() ([]byte, error) { return []byte(`"` + tagDiscard + `"`), nil }

// DecodeNextAction reads an action. The error is of kind KindSerialization.
func DecodeNextAction(data []byte) (NextAction, error) {
	var a tagged
	if err := protocol.Unmarshal(data, &a); err != nil {
		return nil, ErrSerialization(err)
	}
	return a.NextAction, nil
}

// tagged reads an action by its tag.
type tagged struct{ NextAction }

// UnmarshalJSON implements json.Unmarshaler.
func (t *tagged) UnmarshalJSON(raw []byte) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '"' {
		var tag string
		if err := json.Unmarshal(raw, &tag); err != nil {
			return errors.New("expected an action")
		}
		return t.read(tag, nil)
	}
	var one map[string]json.RawMessage
	if err := protocol.Unmarshal(raw, &one); err != nil || len(one) != 1 {
		return errors.New("expected an action: a string or an object with one key")
	}
	for tag, data := range one {
		if data == nil {
			data = json.RawMessage("null")
		}
		return t.read(tag, data)
	}
	return nil
}

func (t *tagged) read(tag string, data json.RawMessage) error {
	empty := data == nil || string(data) == "null"
	switch {
	case tag == tagRunSkill && !empty:
		var a RunSkill
		t.NextAction = nil
		if err := protocol.Unmarshal(data, &a.ID); err != nil {
			return fmt.Errorf("%s: %w", tag, err)
		}
		t.NextAction = a
	case tag == tagInvokeTool && !empty:
		var a InvokeTool
		if err := protocol.Unmarshal(data, &a); err != nil {
			return fmt.Errorf("%s: %w", tag, err)
		}
		t.NextAction = a
	case tag == tagConclude && empty:
		t.NextAction = Conclude{}
	case tag == tagDiscard && empty:
		t.NextAction = Discard{}
	default:
		return fmt.Errorf("unknown action %s, expected %s, %s, %s or %s", quoted(tag),
			tagRunSkill, tagInvokeTool, tagConclude, tagDiscard)
	}
	return nil
}

// actions are read by their tags.
func actions(all []tagged) []NextAction {
	if len(all) == 0 {
		return nil
	}
	out := make([]NextAction, len(all))
	for i, a := range all {
		out[i] = a.NextAction
	}
	return out
}

// list is s, and not null in JSON.
func list[S ~[]E, E any](s S) S {
	if s == nil {
		return S{}
	}
	return s
}
