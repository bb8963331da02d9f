package compose

import (
	"context"
	"math"
	"slices"

	"github.com/skelegent/skelegent-go/protocol"
)

// Skill is pure decision logic: it looks at an investigation, may ask tools, and says what follows. It has no state of its
// own between calls, so one may serve many agents and investigations at once. Only tools act outside.
type Skill interface {
	// ID returns the same each time; see IsIdentifier.
	ID() string
	// Applies reports whether the skill has something to say of inv, which it does not change.
	Applies(inv *Investigation) bool
	// Execute may add signals and evidence to inv; what it did stays, also where it fails. It ends early when ctx does. The
	// text of its error is told to whoever runs the chain, so it must be safe to show. The outcome counts only without an
	// error.
	//
	// In a durable run it is executed again whenever the run goes on, so it must decide the same way each time, ask its
	// tools one after the other, and return the errors by which a run unwinds; see step.Unwinding.
	Execute(ctx context.Context, inv *Investigation, tools *Tools) (Outcome, error)
}

// Describer is the role of a skill or an executor that can say what it is for.
type Describer interface {
	// Description returns the same each time.
	Description() string
}

// Outcome is what a skill came to. The zero value changes nothing.
type Outcome struct {
	// ConfidenceDelta is added to the confidence of the investigation, which stays from 0 to 1. It must be a number.
	ConfidenceDelta float64 `json:"confidence_delta"`
	// NextActions replace those that are pending, also where there are none.
	NextActions []NextAction `json:"next_actions"`
}

// Noop is an outcome that changes nothing but that nothing is pending.
func Noop() Outcome { return Outcome{} }

// Delta is an outcome that changes the confidence.
func Delta(d float64) Outcome { return Outcome{ConfidenceDelta: d} }

// WithDelta returns o with d instead of its delta.
func (o Outcome) WithDelta(d float64) Outcome {
	o.ConfidenceDelta = d
	return o
}

// WithNext returns o with one more action.
func (o Outcome) WithNext(a NextAction) Outcome {
	o.NextActions = append(slices.Clip(o.NextActions), a)
	return o
}

// MarshalJSON writes no actions as [].
func (o Outcome) MarshalJSON() ([]byte, error) {
	type plain Outcome
	o.NextActions = list(o.NextActions)
	return protocol.Marshal(plain(o))
}

// UnmarshalJSON reads what MarshalJSON writes. The error is of kind KindSerialization.
func (o *Outcome) UnmarshalJSON(raw []byte) error {
	var read struct {
		ConfidenceDelta float64  `json:"confidence_delta" wire:"required"`
		NextActions     []tagged `json:"next_actions" wire:"required"`
	}
	if err := protocol.Unmarshal(raw, &read); err != nil {
		return ErrSerialization(err)
	}
	*o = Outcome{ConfidenceDelta: read.ConfidenceDelta, NextActions: actions(read.NextActions)}
	return nil
}

// usable returns why an agent cannot go by o, or nil.
func (o Outcome) usable() error {
	if math.IsNaN(o.ConfidenceDelta) || math.IsInf(o.ConfidenceDelta, 0) {
		return ErrSkillFailed("the change of confidence is no number")
	}
	if len(o.NextActions) > MaxPending {
		return ErrSkillFailed("too many next actions")
	}
	for _, a := range o.NextActions {
		if err := validateAction(a); err != nil {
			return ErrSkillFailed("a next action that cannot be taken").Because(err)
		}
	}
	return nil
}

func concludes(all []NextAction) bool {
	return slices.ContainsFunc(all, NextAction.ends)
}
