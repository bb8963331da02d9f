package compose

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// Skills is a set of skills by id. It is safe for concurrent use; the zero value is empty and ready.
type Skills struct {
	mu     sync.RWMutex
	skills map[string]Skill
}

// NewSkills returns a set of the skills; the error is that of Register.
func NewSkills(all ...Skill) (*Skills, error) {
	r := &Skills{}
	for _, s := range all {
		if err := r.Register(s); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Register adds a skill; one of the same id is replaced. The error is of kind KindInvalidArgument: there is none, or its id
// is no identifier.
func (r *Skills) Register(s Skill) error {
	if s == nil {
		return ErrInvalidArgument("a skill that is nil")
	}
	id := s.ID()
	if !IsIdentifier(id) {
		return ErrInvalidArgument("the id of a skill: " + quoted(id))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.skills == nil {
		r.skills = map[string]Skill{}
	}
	r.skills[id] = s
	return nil
}

// Get returns a skill. The error is of kind KindSkillNotFound.
func (r *Skills) Get(id string) (Skill, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	s, ok := r.skills[id]
	if !ok {
		return nil, ErrSkillNotFound(shown(id))
	}
	return s, nil
}

// Chain returns skills in that order. The error is of kind KindSkillNotFound, for the first that is not there.
func (r *Skills) Chain(ids ...string) ([]Skill, error) {
	chain := make([]Skill, 0, len(ids))
	for _, id := range ids {
		s, err := r.Get(id)
		if err != nil {
			return nil, err
		}
		chain = append(chain, s)
	}
	return chain, nil
}

// Len returns the number of skills.
func (r *Skills) Len() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.skills)
}

// Descriptor is what there is to say of a skill or a delegate.
type Descriptor struct {
	ID          string `json:"id"`
	Description string `json:"description"`
}

// Descriptors returns what there is to say of the skills, sorted by id.
func (r *Skills) Descriptors() []Descriptor {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return describe(r.skills)
}

func describe[T any](all map[string]T) []Descriptor {
	out := make([]Descriptor, 0, len(all))
	for id, v := range all {
		d := Descriptor{ID: id}
		if s, ok := any(v).(Describer); ok {
			d.Description = s.Description()
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b Descriptor) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// SkillOption says something more of a skill of NewSkill.
type SkillOption func(*skill)

// When says that the skill applies where any of the signals is there. Without it the skill applies always. Several
// conditions, also of AppliesIf, must all be met.
func When(signals ...Signal) SkillOption {
	return AppliesIf(func(inv *Investigation) bool { return slices.ContainsFunc(signals, inv.HasSignal) })
}

// AppliesIf says that the skill applies where f is true.
func AppliesIf(f func(inv *Investigation) bool) SkillOption {
	return func(s *skill) { s.conditions = append(s.conditions, f) }
}

// Described says what the skill is for.
func Described(description string) SkillOption {
	return func(s *skill) { s.description = description }
}

// SkillFunc is what a skill of NewSkill does; see Skill.Execute.
type SkillFunc func(ctx context.Context, inv *Investigation, tools *Tools) (Outcome, error)

// NewSkill returns a function as a skill.
func NewSkill(id string, execute SkillFunc, opts ...SkillOption) Skill {
	s := &skill{id: id, execute: execute}
	for _, o := range opts {
		o(s)
	}
	return s
}

type skill struct {
	id          string
	description string
	conditions  []func(*Investigation) bool
	execute     SkillFunc
}

var _ Describer = (*skill)(nil)

// ID implements Skill.
func (s *skill) ID() string { return s.id }

// Description implements Describer.
func (s *skill) Description() string { return s.description }

// Applies implements Skill.
func (s *skill) Applies(inv *Investigation) bool {
	for _, met := range s.conditions {
		if !met(inv) {
			return false
		}
	}
	return true
}

// Execute implements Skill.
func (s *skill) Execute(ctx context.Context, inv *Investigation, tools *Tools) (Outcome, error) {
	return s.execute(ctx, inv, tools)
}
