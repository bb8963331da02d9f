package pack

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

// Kind says what sort of place an item comes from: one of the constants, or OtherKind. Its JSON is the name, or
// {"Other":"name"}.
type Kind string

// The kinds.
const (
	Memory      Kind = "Memory"
	ToolResult  Kind = "ToolResult"
	Resource    Kind = "Resource"
	File        Kind = "File"
	Reasoning   Kind = "Reasoning"
	Instruction Kind = "Instruction"
	UserInput   Kind = "UserInput"
)

const otherKind = "Other"

// Kinds returns the kinds that have a name of their own.
func Kinds() []Kind {
	return []Kind{Memory, ToolResult, Resource, File, Reasoning, Instruction, UserInput}
}

// OtherKind is a kind of the user's own.
func OtherKind(name string) Kind { return Kind(otherKind + ":" + name) }

// Other returns the name of a kind of the user's own, and whether k is one. A Kind that is none of the constants is one, too.
func (k Kind) Other() (name string, ok bool) {
	if name, ok = strings.CutPrefix(string(k), otherKind+":"); ok {
		return name, true
	}
	if slices.Contains(Kinds(), k) {
		return "", false
	}
	return string(k), true
}

// String is the kind in a word, as a reader of the packed text sees it: Memory, or the name of an other kind.
func (k Kind) String() string {
	if name, ok := k.Other(); ok {
		return name
	}
	return string(k)
}

// MarshalJSON writes "Memory" or {"Other":"name"}.
func (k Kind) MarshalJSON() ([]byte, error) {
	if name, ok := k.Other(); ok {
		return protocol.Marshal(map[string]string{otherKind: name})
	}
	return protocol.Marshal(string(k))
}

// UnmarshalJSON reads either form, and nothing else.
func (k *Kind) UnmarshalJSON(raw []byte) error {
	var name string
	if err := json.Unmarshal(raw, &name); err == nil {
		if known := Kind(name); string(raw) != "null" && slices.Contains(Kinds(), known) {
			*k = known
			return nil
		}
		return fmt.Errorf("unknown source kind %.40q", name)
	}
	var other map[string]*string
	if err := json.Unmarshal(raw, &other); err != nil || len(other) != 1 || other[otherKind] == nil {
		return fmt.Errorf(`a source kind is a name or {"%s":"name"}`, otherKind)
	}
	*k = OtherKind(*other[otherKind])
	return nil
}
