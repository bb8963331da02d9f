package compose

import (
	"context"
	"fmt"

	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// Lifecycle sees what happens in the steps of an agent. Embed NopLifecycle to write only what matters. Its methods are
// called one at a time for a step, but for many steps at once.
//
// Errors and panics are logged, and neither end a step nor take the place of its error; only an error by which a durable run
// unwinds is passed on. What a durable run replays passes here again.
type Lifecycle interface {
	// BeforeStep is called before the first skill.
	BeforeStep(ctx context.Context, inv *Investigation) error
	// BeforeSkill is called for every skill, also for one that is skipped: then applies is false.
	BeforeSkill(ctx context.Context, id string, applies bool, confidence float64) error
	// AfterSkill is called behind each skill that ran without an error, with the confidence that there is then.
	AfterSkill(ctx context.Context, id string, outcome Outcome, confidence float64) error
	// AfterStep is called behind a step without an error.
	AfterStep(ctx context.Context, result StepResult) error
	// OnStepError is called behind a step that failed, and not where a durable run unwinds: it goes on later.
	OnStepError(ctx context.Context, err error) error
}

// NopLifecycle does nothing.
type NopLifecycle struct{}

var _ Lifecycle = NopLifecycle{}

// BeforeStep implements Lifecycle.
func (NopLifecycle) BeforeStep(context.Context, *Investigation) error { return nil }

// BeforeSkill implements Lifecycle.
func (NopLifecycle) BeforeSkill(context.Context, string, bool, float64) error { return nil }

// AfterSkill implements Lifecycle.
func (NopLifecycle) AfterSkill(context.Context, string, Outcome, float64) error { return nil }

// AfterStep implements Lifecycle.
func (NopLifecycle) AfterStep(context.Context, StepResult) error { return nil }

// OnStepError implements Lifecycle.
func (NopLifecycle) OnStepError(context.Context, error) error { return nil }

// hooks are those of an agent.
type hooks struct {
	all []Lifecycle
	log *zap.Logger
}

// each calls f for every hook. The error is one by which the run unwinds.
func (h hooks) each(moment string, f func(Lifecycle) error) error {
	for _, one := range h.all {
		err := contained(func() error { return f(one) }, ErrSkillFailed, "a lifecycle hook")
		switch {
		case err == nil:
		case step.Unwinding(err):
			return err
		default:
			e := protocol.AsError(err)
			h.log.Warn("lifecycle hook failed", zap.String("moment", moment), zap.String("code", string(e.Code)),
				zap.String("hook", fmt.Sprintf("%T", one)))
		}
	}
	return nil
}
