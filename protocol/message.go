package protocol

import "strings"

// Role says who speaks: RoleSystem, RoleUser, RoleAssistant or a ToolRole. It is comparable. The zero value is
// RoleUser.
type Role struct {
	kind   string // empty for user
	name   string
	callID string
}

// The roles without more to say.
var (
	RoleUser      = Role{}
	RoleSystem    = Role{kind: "system"}
	RoleAssistant = Role{kind: "assistant"}
)

// The tags of the roles on the wire.
const (
	roleUser = "user"
	roleTool = "tool"
)

// ToolRole is the answer of the tool name to the call callID.
func ToolRole(name, callID string) Role { return Role{kind: roleTool, name: name, callID: callID} }

// Tool returns the name and the call of a tool role, and whether it is one.
func (r Role) Tool() (name, callID string, ok bool) { return r.name, r.callID, r.kind == roleTool }

// String returns system, user, assistant or tool.
func (r Role) String() string {
	if r.kind == "" {
		return roleUser
	}
	return r.kind
}

type toolRoleJSON struct {
	Name   string `json:"name" wire:"required"`
	CallID string `json:"call_id" wire:"required"`
}

// MarshalJSON writes "user" or {"tool":{"name":"...","call_id":"..."}}.
func (r Role) MarshalJSON() ([]byte, error) {
	if r.kind == roleTool {
		return Marshal(map[string]toolRoleJSON{roleTool: {r.name, r.callID}})
	}
	return Marshal(r.String())
}

// UnmarshalJSON reads either form.
func (r *Role) UnmarshalJSON(raw []byte) error {
	tag, data, err := externalTag(raw)
	if err != nil {
		return err
	}
	for _, known := range []Role{RoleSystem, RoleUser, RoleAssistant} {
		if data == nil && tag == known.String() {
			*r = known
			return nil
		}
	}
	if tag != roleTool || data == nil {
		return unknownVariant(tag, "system", roleUser, "assistant", roleTool)
	}
	var j toolRoleJSON
	err = decodeStruct(data, &j)
	*r = ToolRole(j.Name, j.CallID)
	return at(tag, err)
}

// CompactionPolicy says what a compaction may do with a message. Empty is PolicyNormal.
type CompactionPolicy string

// The policies.
const (
	PolicyPinned          CompactionPolicy = "pinned" // never removed
	PolicyNormal          CompactionPolicy = "normal"
	PolicyCompressFirst   CompactionPolicy = "compress_first"
	PolicyDiscardWhenDone CompactionPolicy = "discard_when_done" // the first to go
)

// MarshalJSON writes the policy, normal if empty.
func (p CompactionPolicy) MarshalJSON() ([]byte, error) {
	if p == "" {
		p = PolicyNormal
	}
	return Marshal(string(p))
}

// UnmarshalJSON reads a policy.
func (p *CompactionPolicy) UnmarshalJSON(raw []byte) error {
	return oneOf(raw, p, PolicyPinned, PolicyNormal, PolicyCompressFirst, PolicyDiscardWhenDone)
}

// MessageMeta is what the context knows of a message beside what it says.
type MessageMeta struct {
	Policy   CompactionPolicy `json:"policy" wire:"required"`
	Source   *string          `json:"source,omitempty"`   // where it came from, such as memory:notes
	Salience *float64         `json:"salience,omitempty"` // 0 to 1, how much it matters
	// Version counts the changes since the message was made.
	Version uint64 `json:"version" wire:"required"`
}

// Message is one entry of a conversation.
type Message struct {
	Role    Role        `json:"role" wire:"required"`
	Content Content     `json:"content" wire:"required"`
	Meta    MessageMeta `json:"meta" wire:"required"`
}

// NewMessage returns a message with the normal policy.
func NewMessage(role Role, content Content) Message {
	return Message{Role: role, Content: content, Meta: MessageMeta{Policy: PolicyNormal}}
}

// PinnedMessage returns a message that no compaction removes.
func PinnedMessage(role Role, content Content) Message {
	return Message{Role: role, Content: content, Meta: MessageMeta{Policy: PolicyPinned}}
}

// Pinned reports whether no compaction may remove the message.
func (m Message) Pinned() bool { return m.Meta.Policy == PolicyPinned }

// Text returns the text of the content; of blocks, the texts and tool results joined by spaces.
func (m Message) Text() string {
	if m.Content.form != contentBlocks {
		return m.Content.text
	}
	var parts []string
	for _, b := range m.Content.blocks {
		switch b := b.(type) {
		case TextBlock:
			parts = append(parts, b.Text)
		case ToolResultBlock:
			parts = append(parts, b.Content)
		}
	}
	return strings.Join(parts, " ")
}

// What EstimatedTokens counts with.
const (
	bytesPerToken    = 4
	tokensPerMessage = 4
	tokensPerFile    = 1000 // of an image or file, whatever its size
)

// EstimatedTokens guesses what the message costs in a model's context, from its bytes: four a token,
// rounded down per block, and four tokens a message.
func (m Message) EstimatedTokens() int {
	n := tokensPerMessage + len(m.Content.text)/bytesPerToken
	for _, b := range m.Content.blocks {
		switch b := b.(type) {
		case TextBlock:
			n += len(b.Text) / bytesPerToken
		case ToolUseBlock:
			n += len(b.Input) / bytesPerToken
		case ToolResultBlock:
			n += len(b.Content) / bytesPerToken
		case ThinkingBlock:
			n += len(b.Thinking) / bytesPerToken
		case DataBlock:
			n += len(b.Data) / bytesPerToken
		case CustomBlock:
			n += len(b.Data) / bytesPerToken
		case ImageBlock, FileBlock:
			n += tokensPerFile
		}
	}
	return n
}
