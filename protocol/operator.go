package protocol

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/skelegent/skelegent-go/protocol/wire"
)

// TriggerType says what caused an invocation: one of the constants or a CustomTrigger. It is comparable.
type TriggerType string

// The triggers of the specification.
const (
	TriggerUser        TriggerType = "user"
	TriggerTask        TriggerType = "task"
	TriggerSignal      TriggerType = "signal"
	TriggerSchedule    TriggerType = "schedule"
	TriggerSystemEvent TriggerType = "system_event"
)

// CustomTrigger is a trigger of the user's own naming.
func CustomTrigger(name string) TriggerType { return customOf[TriggerType](name) }

// Custom returns the name of a custom trigger, and whether it is one.
func (t TriggerType) Custom() (string, bool) { return customName(t) }

// MarshalJSON writes "user" or {"custom":"name"}.
func (t TriggerType) MarshalJSON() ([]byte, error) { return t.append(nil), nil }

// UnmarshalJSON reads either form.
func (t *TriggerType) UnmarshalJSON(raw []byte) error {
	return openEnum(raw, t, TriggerUser, TriggerTask, TriggerSignal, TriggerSchedule, TriggerSystemEvent)
}

// OperatorInput is what an operator is asked to do: only what is new, no history.
type OperatorInput struct {
	// Message is required.
	Message Content `json:"message" wire:"required"`
	// Trigger is TriggerUser if empty.
	Trigger TriggerType `json:"trigger"`
	// Session names the conversation this belongs to; nil if none.
	Session *SessionID `json:"session"`
	// Config overrides the operator's own settings for this invocation; nil for none.
	Config *OperatorConfig `json:"config"`
	// Metadata is passed through as it is; nil is written as null.
	Metadata json.RawMessage `json:"metadata"`
	// Context is conversation that precedes the message; omitted if nil.
	Context []Message `json:"context,omitempty"`
}

// Text is an input that says s, from a user, without a session.
func Text(s string) OperatorInput {
	return OperatorInput{Message: TextContent(s), Trigger: TriggerUser}
}

// WithSession returns in as part of the session id.
func (in OperatorInput) WithSession(id SessionID) OperatorInput {
	in.Session = &id
	return in
}

// MarshalJSON writes every member but an empty context.
func (in OperatorInput) MarshalJSON() ([]byte, error) { return Marshal(in) }

// UnmarshalJSON reads an input; trigger is user if absent.
func (in *OperatorInput) UnmarshalJSON(raw []byte) error {
	type plain OperatorInput
	*in = OperatorInput{Trigger: TriggerUser}
	return decodeStruct(raw, (*plain)(in))
}

// Validate returns an *Error with code invalid_input that names the first field that cannot be used, or nil.
func (in OperatorInput) Validate() error {
	if in.Message.IsZero() {
		return invalid("message", errRequired)
	}
	if in.Session != nil {
		if n := len(*in.Session); n == 0 || n > wire.MaxID {
			return invalid("session", fmt.Errorf("must be 1 to %d bytes, is %d", wire.MaxID, n))
		}
	}
	if name, ok := in.Trigger.Custom(); ok && (name == "" || len(name) > wire.MaxSignalType) {
		return invalid("trigger.custom", fmt.Errorf("must be 1 to %d bytes", wire.MaxSignalType))
	}
	if in.Config != nil && in.Config.MaxCost != nil && in.Config.MaxCost.IsNegative() {
		return invalid("config.max_cost", errors.New("must not be negative"))
	}
	return nil
}

// OperatorConfig overrides an operator's settings for one invocation; nil means the operator's own.
type OperatorConfig struct {
	MaxTurns         *uint32  `json:"max_turns"`
	MaxCost          *Decimal `json:"max_cost"` // USD
	MaxDuration      *Millis  `json:"max_duration"`
	Model            *string  `json:"model"`
	AllowedOperators []string `json:"allowed_operators" wire:"alias=allowed_tools"` // nil allows all, empty none
	SystemAddendum   *string  `json:"system_addendum"`
}

// OperatorOutput is what an invocation gave.
type OperatorOutput struct {
	Message    Content          `json:"message" wire:"required"`
	ExitReason ExitReason       `json:"exit_reason" wire:"required"`
	Metadata   OperatorMetadata `json:"metadata" wire:"required"`
	// Effects are declared here and performed by executors.
	Effects Effects `json:"effects"`
}

// MarshalJSON writes an empty list of effects as [].
func (o OperatorOutput) MarshalJSON() ([]byte, error) { return Marshal(o) }

// UnmarshalJSON reads an output; effects are empty if absent.
func (o *OperatorOutput) UnmarshalJSON(raw []byte) error {
	type plain OperatorOutput
	*o = OperatorOutput{}
	return decodeStruct(raw, (*plain)(o))
}

// Reply is an output that says s and is complete.
func Reply(s string) OperatorOutput {
	return OperatorOutput{Message: TextContent(s), ExitReason: Exit(ExitComplete)}
}

// OperatorMetadata says what an invocation took.
type OperatorMetadata struct {
	TokensIn  uint64 `json:"tokens_in" wire:"required"`
	TokensOut uint64 `json:"tokens_out" wire:"required"`
	// Cost is in USD and includes what sub-dispatches cost.
	Cost          Decimal             `json:"cost" wire:"required"`
	TurnsUsed     uint32              `json:"turns_used" wire:"required"`
	SubDispatches []SubDispatchRecord `json:"sub_dispatches" wire:"required,alias=tools_called"`
	Duration      Millis              `json:"duration" wire:"required"`
	// UnpricedCalls counts model calls whose price is unknown, so that Cost is only the known part; omitted if 0.
	UnpricedCalls uint32 `json:"unpriced_calls,omitempty"`
}

// MarshalJSON writes an empty list of sub-dispatches as [].
func (m OperatorMetadata) MarshalJSON() ([]byte, error) { return Marshal(m) }

// SubDispatchRecord is one call of a tool or operator during an invocation.
type SubDispatchRecord struct {
	Name     string `json:"name" wire:"required"`
	Duration Millis `json:"duration" wire:"required"`
	Success  bool   `json:"success" wire:"required"`
}

// ToolMetadata describes a tool or an operator that can be used as one.
type ToolMetadata struct {
	Name        string          `json:"name" wire:"required"`
	Description string          `json:"description" wire:"required"`
	InputSchema json.RawMessage `json:"input_schema" wire:"required"`
	// ParallelSafe is the concurrency hint: calls may run beside others of the same answer.
	ParallelSafe bool `json:"parallel_safe" wire:"required"`
}
