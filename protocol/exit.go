package protocol

import "slices"

// ExitKind is the name of an exit reason.
type ExitKind string

// The exit reasons.
const (
	ExitComplete         ExitKind = "complete"
	ExitMaxTurns         ExitKind = "max_turns"
	ExitBudgetExhausted  ExitKind = "budget_exhausted" // the cost or the number of tool calls
	ExitCircuitBreaker   ExitKind = "circuit_breaker"  // too many failures in a row
	ExitTimeout          ExitKind = "timeout"
	ExitInterceptorHalt  ExitKind = "interceptor_halt" // with a reason
	ExitError            ExitKind = "error"
	ExitSafetyStop       ExitKind = "safety_stop" // with a reason
	ExitAwaitingApproval ExitKind = "awaiting_approval"
	ExitHandedOff        ExitKind = "handed_off"
	ExitCustom           ExitKind = "custom" // with a name
)

// ExitReason says why an invocation ended. It is comparable. The zero value is ExitComplete.
type ExitReason struct {
	kind   ExitKind
	detail string
}

// Exit is a reason without more to say. For interceptor_halt, safety_stop and custom use their functions.
func Exit(kind ExitKind) ExitReason { return ExitReason{kind: kind} }

// InterceptorHalt says that middleware or a rule stopped the invocation, and why.
func InterceptorHalt(reason string) ExitReason {
	return ExitReason{kind: ExitInterceptorHalt, detail: reason}
}

// SafetyStop says that the model or a safety filter refused, and why.
func SafetyStop(reason string) ExitReason { return ExitReason{kind: ExitSafetyStop, detail: reason} }

// CustomExit is a reason of the user's own naming.
func CustomExit(name string) ExitReason { return ExitReason{kind: ExitCustom, detail: name} }

// Kind returns which reason it is.
func (r ExitReason) Kind() ExitKind {
	if r.kind == "" {
		return ExitComplete
	}
	return r.kind
}

// Detail returns the reason of a halt or stop, or the name of a custom exit.
func (r ExitReason) Detail() string { return r.detail }

// String returns the kind, with the detail where there is one: "interceptor_halt: too long".
func (r ExitReason) String() string {
	switch r.Kind() {
	case ExitInterceptorHalt, ExitSafetyStop, ExitCustom:
		return string(r.kind) + ": " + r.detail
	default:
		return string(r.Kind())
	}
}

type reasonJSON struct {
	Reason string `json:"reason" wire:"required"`
}

// MarshalJSON writes "complete", {"safety_stop":{"reason":"..."}} or {"custom":"..."}.
func (r ExitReason) MarshalJSON() ([]byte, error) { return r.append(nil), nil }

// plainExits are the reasons without more to say.
var plainExits = []ExitKind{
	ExitComplete, ExitMaxTurns, ExitBudgetExhausted, ExitCircuitBreaker, ExitTimeout, ExitError, ExitAwaitingApproval, ExitHandedOff,
}

// middlewareHalt is what part of the specification calls interceptor_halt; it is read, never written.
const middlewareHalt = "middleware_halt"

// UnmarshalJSON reads every form, and middleware_halt as interceptor_halt.
func (r *ExitReason) UnmarshalJSON(raw []byte) error {
	if kind, ok := bare(raw, plainExits); ok {
		*r = Exit(kind)
		return nil
	}
	tag, data, err := externalTag(raw)
	if err != nil {
		return err
	}
	kind := ExitKind(tag)
	if tag == middlewareHalt {
		kind = ExitInterceptorHalt
	}
	switch kind {
	case ExitInterceptorHalt, ExitSafetyStop:
		var j reasonJSON
		if data == nil {
			return at(tag, at("reason", errRequired))
		}
		err := decodeStruct(data, &j)
		*r = ExitReason{kind: kind, detail: j.Reason}
		return at(tag, err)
	case ExitCustom:
		name, err := unquote(data)
		*r = CustomExit(name)
		return at(tag, err)
	default:
	}
	if data == nil && slices.Contains(plainExits, kind) { // written with escapes
		*r = Exit(kind)
		return nil
	}
	return unknownVariant(tag, "complete", "max_turns", "budget_exhausted", "circuit_breaker", "timeout",
		"interceptor_halt", "error", "safety_stop", "awaiting_approval", "handed_off", customTag)
}
