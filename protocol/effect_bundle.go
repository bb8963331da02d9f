package protocol

import (
	"encoding/json"
	"fmt"

	"github.com/skelegent/skelegent-go/protocol/wire"
)

// EffectRequest is the message that asks executors for the effects of one family that one commit declared, in
// order.
type EffectRequest struct {
	Operator OperatorID `json:"operator" wire:"required"`
	Instance string     `json:"instance" wire:"required"`
	Run      RunID      `json:"run" wire:"required"`
	// Kind is the family: see FamilyOf.
	Kind string `json:"kind" wire:"required"`
	// M counts the messages of this family and instance from 1, without gaps.
	M uint64 `json:"m" wire:"required"`
	// Effects are performed one after the other.
	Effects []RequestedEffect `json:"effects" wire:"required"`
	// Ephemeral says that the instance keeps no log: it is one run, and its ledger may expire some days after.
	Ephemeral bool `json:"ephemeral,omitempty"`
	// Trace is the traceparent of the run; Depth its depth; Parent the run that dispatched it.
	Trace string `json:"trace,omitempty"`
	// Budget is the USD that the run left of its own, for each run that its effects dispatch; nil is no limit.
	Budget *Decimal `json:"budget,omitempty"`
	Depth  int      `json:"depth,omitempty"`
	Parent RunID    `json:"parent,omitempty"`
	// Inboxes are who waits for the answer of the operator that is handed to.
	Inboxes []string `json:"inboxes,omitempty"`
}

// RequestedEffect is one effect of a request.
type RequestedEffect struct {
	// EffectID is derived from operator, instance, family, m and position: the idempotency key.
	EffectID string    `json:"effect_id" wire:"required"`
	Effect   AnyEffect `json:"effect" wire:"required"`
}

// EffectID returns the id of the effect at position i, from 1, of message m.
func EffectID(operator OperatorID, instance, family string, m uint64, i int) string {
	return fmt.Sprintf("%s/%d", EffectRequestID(operator, instance, family, m), i)
}

// EffectRequestID returns the id of message m: no two messages share one, whatever their ids contain.
func EffectRequestID(operator OperatorID, instance, family string, m uint64) string {
	return fmt.Sprintf("%s/%s/%s/%d", operator, wire.Escape(instance), wire.Escape(family), m)
}

// FamilyMemory is the family of the four memory kinds. They travel together because their order matters: to write
// a key and to delete it are not the same as to delete it and to write it.
const FamilyMemory = "memory"

// FamilyOf returns the subject token, before escaping, under which an effect travels: memory for the memory kinds,
// the effect type of a custom effect, else the kind itself.
func FamilyOf(e Effect) string {
	switch e := e.(type) {
	case WriteMemory, DeleteMemory, LinkMemory, UnlinkMemory:
		return FamilyMemory
	case CustomEffect:
		return e.EffectType
	}
	return string(e.Kind())
}

// ReservedFamily reports whether name cannot be the type of a custom effect, since it names a built-in kind.
func ReservedFamily(name string) bool {
	switch EffectKind(name) {
	case KindWriteMemory, KindDeleteMemory, KindLinkMemory, KindUnlinkMemory, KindSignal, KindDelegate, KindHandoff,
		KindLog, KindToolApprovalRequired, KindCustom, FamilyMemory:
		return true
	}
	return name == ""
}

// OutcomeStatus says how an effect ended.
type OutcomeStatus string

// The ways an effect ends.
const (
	OutcomeOK      OutcomeStatus = "ok"
	OutcomeFailed  OutcomeStatus = "failed"  // it was not performed, or not fully; the error says why
	OutcomeUnknown OutcomeStatus = "unknown" // it may or may not have been performed, and must not be repeated blindly
)

// EffectOutcome is what became of one effect.
type EffectOutcome struct {
	EffectID string        `json:"effect_id" wire:"required"`
	Kind     EffectKind    `json:"kind" wire:"required"`
	Status   OutcomeStatus `json:"status" wire:"required"`
	Attempts int           `json:"attempts,omitempty"`
	Error    *Error        `json:"error,omitempty"`
}

// DeadLetter is what could not be processed, whole, with the reason.
type DeadLetter struct {
	ID       string     `json:"id" wire:"required"`
	Operator OperatorID `json:"operator" wire:"required"`
	Instance string     `json:"instance,omitempty"`
	Run      RunID      `json:"run,omitempty"`
	// Subject is where the message was published.
	Subject  string `json:"subject" wire:"required"`
	Reason   *Error `json:"reason" wire:"required"`
	Attempts int    `json:"attempts,omitempty"`
	// Effect is the effect that failed; nil where the message could not be read.
	Effect *RequestedEffect `json:"effect,omitempty"`
	// Input is that of a run that failed.
	Input json.RawMessage `json:"input,omitempty"`
	// Raw is the message as it was, where it could not be read.
	Raw []byte `json:"raw,omitempty"`
}
