package dispatch

import (
	"slices"
	"sync"
)

// MaxEvents is how many events a Trace keeps.
const MaxEvents = 16_384

// EventKind says what happened.
type EventKind string

// The events. Of each call they come in this order: what the hooks decided, what they were told, how it ended.
const (
	HookBefore      EventKind = "hook_before"       // a hook decided
	HookBeforeError EventKind = "hook_before_error" // a hook could not decide
	HookAfter       EventKind = "hook_after"        // a hook was told of the result
	HookCleanup     EventKind = "hook_cleanup"      // a hook was told that there is none
	CallOutcome     EventKind = "call_outcome"
)

// Event is one thing that happened. It has no arguments and no outputs; the texts are those of hooks and errors.
type Event struct {
	Kind EventKind `json:"kind"`
	Call int       `json:"call"` // its index among the calls
	Hook int       `json:"hook"` // its index among the hooks; -1 for an outcome
	// Decision is that of a HookBefore, Outcome that of a CallOutcome.
	Decision DecisionKind `json:"decision,omitempty"`
	Outcome  OutcomeKind  `json:"outcome,omitempty"`
	// Reason is why a call was skipped or the dispatch terminated.
	Reason string `json:"reason,omitempty"`
	// Message is the text of the error: of a hook, also of one that was told and failed, or of the call.
	Message string `json:"message,omitempty"`
}

// Trace collects what happens in dispatches, in order. The zero value is empty, nil collects nothing. It is safe for
// concurrent use; beyond MaxEvents it only counts.
type Trace struct {
	mu      sync.Mutex
	events  []Event
	dropped int
}

func (t *Trace) add(e Event) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.events) == MaxEvents {
		t.dropped++
		return
	}
	t.events = append(t.events, e)
}

// Events returns what happened so far.
func (t *Trace) Events() []Event {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.events)
}

// Dropped is how many events are not among Events.
func (t *Trace) Dropped() int {
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dropped
}
