package protocol

import "encoding/json"

// EffectKind is the name of an effect.
type EffectKind string

// The kinds of effect.
const (
	KindWriteMemory          EffectKind = "write_memory"
	KindDeleteMemory         EffectKind = "delete_memory"
	KindLinkMemory           EffectKind = "link_memory"
	KindUnlinkMemory         EffectKind = "unlink_memory"
	KindSignal               EffectKind = "signal"
	KindDelegate             EffectKind = "delegate"
	KindHandoff              EffectKind = "handoff"
	KindLog                  EffectKind = "log"
	KindToolApprovalRequired EffectKind = "tool_approval_required"
	KindCustom               EffectKind = "custom"
)

// Effect is something that an operator wants done outside itself. The variants are the types of this
// package that implement it.
type Effect interface {
	// Kind returns the tag of the effect.
	Kind() EffectKind
}

// Effects is a list of effects; nil is written as [].
type Effects []Effect

// MarshalJSON writes a list, never null.
func (e Effects) MarshalJSON() ([]byte, error) { return Marshal(orEmpty([]Effect(e))) }

// UnmarshalJSON reads a list; null is an empty one.
func (e *Effects) UnmarshalJSON(raw []byte) error {
	all, err := effectUnion.decodeAll(raw)
	*e = all
	return err
}

// DecodeEffect reads one effect. What does not fit is an *Error with code invalid_input.
func DecodeEffect(data []byte) (Effect, error) {
	var e AnyEffect
	err := Unmarshal(data, &e)
	return e.Effect, err
}

// AnyEffect carries an effect of any kind in a struct that is read from JSON.
type AnyEffect struct{ Effect }

// MarshalJSON writes the effect itself.
func (e AnyEffect) MarshalJSON() ([]byte, error) { return Marshal(e.Effect) }

// UnmarshalJSON reads an effect by its type.
func (e *AnyEffect) UnmarshalJSON(raw []byte) (err error) {
	e.Effect, err = effectUnion.decode(raw)
	return err
}

// WriteMemory stores a value. The hints are omitted when nil.
type WriteMemory struct {
	Scope       Scope           `json:"scope" wire:"required"`
	Key         string          `json:"key" wire:"required"`
	Value       json.RawMessage `json:"value" wire:"required"`
	Tier        *MemoryTier     `json:"tier,omitempty"`
	Lifetime    *Lifetime       `json:"lifetime,omitempty"`
	ContentKind *ContentKind    `json:"content_kind,omitempty"`
	Salience    *float64        `json:"salience,omitempty"`
	TTL         *Millis         `json:"ttl,omitempty"`
}

// Options returns the hints as store options.
func (e WriteMemory) Options() StoreOptions {
	return StoreOptions{Tier: e.Tier, Lifetime: e.Lifetime, ContentKind: e.ContentKind, Salience: e.Salience, TTL: e.TTL}
}

// DeleteMemory removes a value; a missing one is no error.
type DeleteMemory struct {
	Scope Scope  `json:"scope" wire:"required"`
	Key   string `json:"key" wire:"required"`
}

// LinkMemory relates two keys.
type LinkMemory struct {
	Scope Scope      `json:"scope" wire:"required"`
	Link  MemoryLink `json:"link" wire:"required"`
}

// UnlinkMemory removes a relation.
type UnlinkMemory struct {
	Scope    Scope  `json:"scope" wire:"required"`
	FromKey  string `json:"from_key" wire:"required"`
	ToKey    string `json:"to_key" wire:"required"`
	Relation string `json:"relation" wire:"required"`
}

// Signal tells a workflow something.
type Signal struct {
	Target  WorkflowID    `json:"target" wire:"required"`
	Payload SignalPayload `json:"payload" wire:"required"`
}

// Delegate has another operator do something; this one goes on.
type Delegate struct {
	Operator OperatorID    `json:"operator" wire:"required"`
	Input    OperatorInput `json:"input" wire:"required"`
}

// Handoff gives the work to another operator; this one ends.
type Handoff struct {
	Operator OperatorID      `json:"operator" wire:"required"`
	State    json.RawMessage `json:"state" wire:"required"`
}

// Log writes a line to the log of the node that performs it.
type Log struct {
	Level   LogLevel        `json:"level" wire:"required"`
	Message string          `json:"message" wire:"required"`
	Data    json.RawMessage `json:"data"` // null if none
}

// ToolApprovalRequired says that a call waits for a person.
type ToolApprovalRequired struct {
	ToolName string          `json:"tool_name" wire:"required"`
	CallID   string          `json:"call_id" wire:"required"`
	Input    json.RawMessage `json:"input" wire:"required"`
}

// CustomEffect is an effect of the user's own kind.
type CustomEffect struct {
	EffectType string          `json:"effect_type" wire:"required"`
	Data       json.RawMessage `json:"data" wire:"required"`
}

// LogLevel is the level of a Log effect.
type LogLevel string

// The levels.
const (
	LogTrace LogLevel = "trace"
	LogDebug LogLevel = "debug"
	LogInfo  LogLevel = "info"
	LogWarn  LogLevel = "warn"
	LogError LogLevel = "error"
)

// UnmarshalJSON reads a level.
func (l *LogLevel) UnmarshalJSON(raw []byte) error {
	return oneOf(raw, l, LogTrace, LogDebug, LogInfo, LogWarn, LogError)
}

// SignalPayload is what a signal says.
type SignalPayload struct {
	SignalType string          `json:"signal_type" wire:"required"`
	Data       json.RawMessage `json:"data" wire:"required"`
}

// QueryPayload is a question about a workflow.
type QueryPayload struct {
	QueryType string          `json:"query_type" wire:"required"`
	Params    json.RawMessage `json:"params" wire:"required"`
}

// Kind implements Effect.
func (WriteMemory) Kind() EffectKind { return KindWriteMemory }

// Kind implements Effect.
func (DeleteMemory) Kind() EffectKind { return KindDeleteMemory }

// Kind implements Effect.
func (LinkMemory) Kind() EffectKind { return KindLinkMemory }

// Kind implements Effect.
func (UnlinkMemory) Kind() EffectKind { return KindUnlinkMemory }

// Kind implements Effect.
func (Signal) Kind() EffectKind { return KindSignal }

// Kind implements Effect.
func (Delegate) Kind() EffectKind { return KindDelegate }

// Kind implements Effect.
func (Handoff) Kind() EffectKind { return KindHandoff }

// Kind implements Effect.
func (Log) Kind() EffectKind { return KindLog }

// Kind implements Effect.
func (ToolApprovalRequired) Kind() EffectKind { return KindToolApprovalRequired }

// Kind implements Effect.
func (CustomEffect) Kind() EffectKind { return KindCustom }

var effectUnion = newUnion(
	variant[Effect]{string(KindWriteMemory), WriteMemory{}},
	variant[Effect]{string(KindDeleteMemory), DeleteMemory{}},
	variant[Effect]{string(KindLinkMemory), LinkMemory{}},
	variant[Effect]{string(KindUnlinkMemory), UnlinkMemory{}},
	variant[Effect]{string(KindSignal), Signal{}},
	variant[Effect]{string(KindDelegate), Delegate{}},
	variant[Effect]{string(KindHandoff), Handoff{}},
	variant[Effect]{string(KindLog), Log{}},
	variant[Effect]{string(KindToolApprovalRequired), ToolApprovalRequired{}},
	variant[Effect]{string(KindCustom), CustomEffect{}},
)
