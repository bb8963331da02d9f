package compose

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// AgentID names an agent in this process: a random UUID unless something else is said.
type AgentID string

// NewAgentID returns a random one.
func NewAgentID() AgentID { return AgentID(uuid.NewString()) }

// Agent works on an investigation, one step at a time. Implementations are safe for concurrent use with different
// investigations.
type Agent interface {
	// ID returns the same each time.
	ID() AgentID
	// Name returns the same each time.
	Name() string
	// Step works on inv. Where it fails, inv is as far as the step came. It ends early when ctx does.
	Step(ctx context.Context, inv *Investigation) (StepResult, error)
}

// StepResult is what a step came to.
type StepResult struct {
	// SkillsRun are those that ran, SkillsSkipped those that did not: they did not apply, or the step had come to its end.
	SkillsRun     []string `json:"skills_run" wire:"required"`
	SkillsSkipped []string `json:"skills_skipped" wire:"required"`
	// Confidence is that of the investigation behind the step.
	Confidence float64 `json:"confidence" wire:"required"`
	// Concluded says that some skill concluded or discarded the investigation.
	Concluded bool `json:"concluded" wire:"required"`
}

// MarshalJSON writes empty lists as [].
func (r StepResult) MarshalJSON() ([]byte, error) {
	type plain StepResult
	r.SkillsRun, r.SkillsSkipped = list(r.SkillsRun), list(r.SkillsSkipped)
	return protocol.Marshal(plain(r))
}

// AgentConfig says what a ChainAgent does. The zero value is an agent without skills that may use all tools.
type AgentConfig struct {
	// Skills are the ids of the chain, in order.
	Skills []string
	// Tools are the names of the tools that its skills may use; nil is all that the registry sees. Those that are not
	// registered yet may be named: they are looked for when they are called.
	Tools []string
	// KeepGoing lets the skills behind a conclusion run too.
	KeepGoing bool
	// Hooks see what happens, in order.
	Hooks []Lifecycle
	// Logger takes failures of hooks; nil is none.
	Logger *zap.Logger
	// ID is a new one if empty.
	ID AgentID
	// Now is the time of evidence that has none; time.Now if nil. In a durable run it should be the same on replay.
	Now func() time.Time
}

// ChainAgent runs a chain of skills over an investigation: each of them once, in order.
type ChainAgent struct {
	id     AgentID
	name   string
	ids    []string
	skills []Skill
	tools  *Tools
	going  bool
	hooks  hooks
	now    func() time.Time
}

var _ Agent = (*ChainAgent)(nil)

// NewAgent returns an agent. Its skills are those that are registered now; its tools are looked for when they are called.
// The error is of kind KindSkillNotFound for the first skill that is not there, or KindInvalidArgument for a name that is
// blank or longer than MaxName. Without skills or tools they are empty.
func NewAgent(name string, skills *Skills, tools *Tools, cfg AgentConfig) (*ChainAgent, error) {
	if strings.TrimSpace(name) == "" || len(name) > MaxName {
		return nil, ErrInvalidArgument("the name of an agent: " + quoted(name))
	}
	if skills == nil {
		skills = &Skills{}
	}
	if tools == nil {
		tools, _ = NewTools() // no tool cannot be refused
	}
	chain, err := skills.Chain(cfg.Skills...)
	if err != nil {
		return nil, err
	}
	if cfg.Tools != nil {
		tools = tools.Scoped(cfg.Tools...)
	}
	a := &ChainAgent{
		id: cfg.ID, name: name, ids: slices.Clone(cfg.Skills), skills: chain, tools: tools, going: cfg.KeepGoing, now: cfg.Now,
		hooks: hooks{all: slices.Clone(cfg.Hooks), log: cfg.Logger},
	}
	if a.id == "" {
		a.id = NewAgentID()
	}
	if a.now == nil {
		a.now = time.Now
	}
	if a.hooks.log == nil {
		a.hooks.log = zap.NewNop()
	}
	a.hooks.log = a.hooks.log.Named("compose").With(zap.String("agent", name))
	return a, nil
}

// ID implements Agent.
func (a *ChainAgent) ID() AgentID { return a.id }

// Name implements Agent.
func (a *ChainAgent) Name() string { return a.name }

// Skills returns the ids of the chain.
func (a *ChainAgent) Skills() []string { return slices.Clone(a.ids) }

// Tools returns the tools that the skills may use.
func (a *ChainAgent) Tools() *Tools { return a.tools }

// Step runs the skills over inv in order, once each:
//
//   - One behind a conclusion is skipped without being asked, unless the agent keeps going; one that does not apply is
//     skipped.
//   - The change of confidence is added behind each skill, and what comes out is brought into 0 to 1 at once.
//   - The next actions of a skill replace those that are pending, also where it has none. A skipped skill leaves them.
//   - Conclude and Discard conclude the step, for good. RunSkill and InvokeTool are left to whoever runs the agent.
//   - Where a skill fails the step ends with its error. What was done to inv stays.
//
// An error of a skill becomes one of kind KindSkillFailed, with the code, the hints and the details that it had and with
// itself as the cause; so does a panic, of which the text says nothing, a change of confidence that is no number, and an
// investigation that has grown beyond its limits. An error of the kernel stays as it is, and so do those by which a durable
// run unwinds. When ctx ends no further skill begins, and the error is that of ctx. An inv that is nil or not valid is an
// error of kind KindInvalidArgument.
func (a *ChainAgent) Step(ctx context.Context, inv *Investigation) (StepResult, error) {
	result, err := a.step(ctx, inv)
	switch {
	case err == nil:
		err = a.hooks.each("after_step", func(h Lifecycle) error { return h.AfterStep(ctx, result) })
	case !step.Unwinding(err):
		if unwind := a.hooks.each("on_step_error", func(h Lifecycle) error { return h.OnStepError(ctx, err) }); unwind != nil {
			err = unwind
		}
	}
	if err != nil {
		return StepResult{}, err
	}
	return result, nil
}

func (a *ChainAgent) step(ctx context.Context, inv *Investigation) (StepResult, error) {
	if inv == nil {
		return StepResult{}, ErrInvalidArgument("an investigation that is nil")
	}
	if err := inv.Validate(); err != nil {
		return StepResult{}, err
	}
	if err := a.hooks.each("before_step", func(h Lifecycle) error { return h.BeforeStep(ctx, inv) }); err != nil {
		return StepResult{}, err
	}
	result := StepResult{SkillsRun: []string{}, SkillsSkipped: []string{}}
	for i, s := range a.skills {
		if err := ctx.Err(); err != nil {
			return StepResult{}, protocol.AsError(err)
		}
		ran, err := a.run(ctx, a.ids[i], s, inv, &result)
		if err != nil {
			return StepResult{}, err
		}
		if ran {
			result.SkillsRun = append(result.SkillsRun, a.ids[i])
		} else {
			result.SkillsSkipped = append(result.SkillsSkipped, a.ids[i])
		}
	}
	result.Confidence = inv.Confidence
	return result, nil
}

// run runs one skill if it is to run.
func (a *ChainAgent) run(ctx context.Context, id string, s Skill, inv *Investigation, result *StepResult) (bool, error) {
	applies, err := a.applies(ctx, id, s, inv, result.Concluded)
	if err != nil || !applies {
		return false, err
	}
	var out Outcome
	before := inv.Confidence
	err = contained(func() (err error) {
		out, err = s.Execute(ctx, inv, a.tools)
		return err
	}, ErrSkillFailed, "skill "+id)
	a.stamp(ctx, inv)
	if math.IsNaN(inv.Confidence) || math.IsInf(inv.Confidence, 0) { // it wrote it itself
		inv.Confidence = before
		if err == nil {
			err = ErrSkillFailed("the confidence is no number")
		}
	}
	if err == nil {
		err = out.usable()
	}
	if err != nil {
		inv.Confidence = clamp(inv.Confidence)
		return false, skillError(ctx, id, err)
	}
	inv.Confidence = clamp(inv.Confidence + out.ConfidenceDelta)
	inv.Pending = slices.Clone(out.NextActions)
	result.Concluded = result.Concluded || concludes(out.NextActions)
	if err := inv.Validate(); err != nil {
		return false, ErrSkillFailed("the investigation has grown beyond its limits").Because(err).With("skill", id)
	}
	return true, a.hooks.each("after_skill", func(h Lifecycle) error { return h.AfterSkill(ctx, id, out, inv.Confidence) })
}

// applies asks the skill, unless the step has come to its end.
func (a *ChainAgent) applies(
	ctx context.Context, id string, s Skill, inv *Investigation, concluded bool,
) (applies bool, err error) {
	if !concluded || a.going {
		err = contained(func() error {
			applies = s.Applies(inv)
			return nil
		}, ErrSkillFailed, "skill "+id)
	}
	if err != nil {
		return false, skillError(ctx, id, err)
	}
	return applies, a.hooks.each("before_skill", func(h Lifecycle) error { return h.BeforeSkill(ctx, id, applies, inv.Confidence) })
}

// stamp gives evidence without a time one.
func (a *ChainAgent) stamp(ctx context.Context, inv *Investigation) {
	now := a.now
	if of, ok := ctx.Value(nowKey{}).(func() time.Time); ok {
		now = of
	}
	for i := range inv.Evidence {
		if inv.Evidence[i].RecordedAt.IsZero() {
			inv.Evidence[i].RecordedAt = now().UTC().Round(0)
		}
	}
}

type nowKey struct{}

// WithNow returns a context in which agents take the time of evidence from now: one that a durable run has recorded, such that it
// is the same on replay. It comes before AgentConfig.Now.
func WithNow(ctx context.Context, now func() time.Time) context.Context {
	return context.WithValue(ctx, nowKey{}, now)
}
