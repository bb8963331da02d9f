package protocol

import (
	"encoding/json"
	"time"
)

// EventKind is the name of an event.
type EventKind string

// The kinds of event.
const (
	EventInvocationStarted  EventKind = "invocation_started"
	EventInferenceStarted   EventKind = "inference_started"
	EventInferenceCompleted EventKind = "inference_completed"
	EventToolCallAssembled  EventKind = "tool_call_assembled"
	EventToolResultReceived EventKind = "tool_result_received"
	EventIntentDeclared     EventKind = "intent_declared"
	EventProgress           EventKind = "progress"
	EventArtifactProduced   EventKind = "artifact_produced"
	EventLog                EventKind = "log"
	EventObservation        EventKind = "observation"
	EventMetric             EventKind = "metric"
	EventSuspended          EventKind = "suspended"
	EventCompleted          EventKind = "completed"
	EventFailed             EventKind = "failed"

	// The log of a durable run has these too; see package run of actors.
	EventCancelled     EventKind = "cancelled"      // the run was stopped on request
	EventQueued        EventKind = "queued"         // an input waits for the run before it
	EventRefused       EventKind = "refused"        // an input was turned away, and will not run
	EventNoted         EventKind = "noted"          // a signal, a timer or a child's end reached the instance
	EventAttached      EventKind = "attached"       // one more caller waits for the answer of a run
	EventStepStarted   EventKind = "step_started"   // a step began that must not be begun twice unseen
	EventStepCompleted EventKind = "step_completed" // what a step returned
	EventSnapshot      EventKind = "snapshot"       // all that came before, folded
	EventClosed        EventKind = "closed"         // a snapshot of an instance that is over

	EventEffectActing   EventKind = "effect_acting"   // an executor is about to perform an effect that must not be repeated
	EventEffectReleased EventKind = "effect_released" // it certainly did not; another may
	EventEffectDone     EventKind = "effect_done"     // the effects of a message ended, with their outcomes
)

// EventKinds lists every kind in the order of the constants.
func EventKinds() []EventKind {
	return []EventKind{
		EventInvocationStarted, EventInferenceStarted, EventInferenceCompleted, EventToolCallAssembled, EventToolResultReceived,
		EventIntentDeclared, EventProgress, EventArtifactProduced, EventLog, EventObservation, EventMetric, EventSuspended,
		EventCompleted, EventFailed, EventCancelled, EventQueued, EventRefused, EventNoted, EventAttached, EventStepStarted,
		EventStepCompleted, EventSnapshot, EventClosed, EventEffectActing, EventEffectReleased, EventEffectDone,
	}
}

// Event is something that happened, as observers see it.
type Event struct {
	ID       string     `json:"id" wire:"required"`
	Kind     EventKind  `json:"kind" wire:"required"`
	Operator OperatorID `json:"operator" wire:"required"`
	Instance string     `json:"instance" wire:"required"`
	Run      RunID      `json:"run" wire:"required"`
	Parent   RunID      `json:"parent,omitempty"`
	// Seq counts the events of a run from 1; omitted where nothing counts.
	Seq  uint64    `json:"seq,omitempty"`
	Time time.Time `json:"time" wire:"required"`
	// Trace is the traceparent of the invocation.
	Trace string `json:"trace,omitempty"`
	// Data holds the fields of the kind, an object.
	Data json.RawMessage `json:"data" wire:"required"`
	// Also are further events of the same run that were committed in the same message, behind this one.
	Also []EventPart `json:"also,omitempty"`
}

// EventPart is an event that shares its message, and all but kind and data, with another.
type EventPart struct {
	Kind EventKind       `json:"kind" wire:"required"`
	Data json.RawMessage `json:"data" wire:"required"`
}

// DecodeEvent reads an event. What does not fit is an *Error with code invalid_input.
func DecodeEvent(data []byte) (Event, error) {
	var e Event
	err := Unmarshal(data, &e)
	return e, err
}
