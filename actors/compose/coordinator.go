package compose

import (
	"context"
	"slices"
)

// Rule sends an investigation with any of the signals to an agent. Without signals it sends none.
type Rule struct {
	Agent   string   `json:"agent_name"`
	Signals []Signal `json:"signals"`
}

// Matches reports whether any of the rule's signals is there.
func (r Rule) Matches(signals []Signal) bool {
	return slices.ContainsFunc(r.Signals, func(s Signal) bool { return slices.Contains(signals, s) })
}

// Route decides who gets an investigation with these signals: the agent of the first rule that matches and whose agent
// exists, else the fallback if that exists, else nobody. An empty fallback is none.
func Route(rules []Rule, signals []Signal, exists func(name string) bool, fallback string) (name string, ok bool) {
	for _, r := range rules {
		if r.Matches(signals) && exists(r.Agent) {
			return r.Agent, true
		}
	}
	if fallback != "" && exists(fallback) {
		return fallback, true
	}
	return "", false
}

// CoordinatorConfig says what a Coordinator does. The zero value does nothing.
type CoordinatorConfig struct {
	Name string
	// Specialists are known by their names; of two with one name the later counts.
	Specialists []Agent
	// Rules are tried in order.
	Rules []Rule
	// Fallback is the specialist for what no rule matches; empty is none.
	Fallback string
	// ID is a new one if empty.
	ID AgentID
}

// Coordinator is an agent that has others do the work: which one is decided by the signals, without a model. A step is one
// step of one specialist.
type Coordinator struct {
	id          AgentID
	name        string
	specialists map[string]Agent
	rules       []Rule
	fallback    string
}

var _ Agent = (*Coordinator)(nil)

// NewCoordinator returns a coordinator. Rules and a fallback whose specialists are not there are no error: they are passed
// over.
func NewCoordinator(cfg CoordinatorConfig) *Coordinator {
	c := &Coordinator{
		id: cfg.ID, name: cfg.Name, specialists: map[string]Agent{}, rules: slices.Clone(cfg.Rules), fallback: cfg.Fallback,
	}
	if c.id == "" {
		c.id = NewAgentID()
	}
	for i := range c.rules {
		c.rules[i].Signals = slices.Clone(c.rules[i].Signals)
	}
	for _, a := range cfg.Specialists {
		if a != nil {
			c.specialists[a.Name()] = a
		}
	}
	return c
}

// ID implements Agent.
func (c *Coordinator) ID() AgentID { return c.id }

// Name implements Agent.
func (c *Coordinator) Name() string { return c.name }

// Route returns the specialist that a step on inv would be, and whether there is one.
func (c *Coordinator) Route(inv *Investigation) (Agent, bool) {
	if inv == nil {
		return nil, false
	}
	name, ok := Route(c.rules, inv.Signals, func(name string) bool { return c.specialists[name] != nil }, c.fallback)
	return c.specialists[name], ok
}

// Step has the specialist make a step, and returns what that gives. Without one it does nothing, which is no error.
func (c *Coordinator) Step(ctx context.Context, inv *Investigation) (StepResult, error) {
	if inv == nil {
		return StepResult{}, ErrInvalidArgument("an investigation that is nil")
	}
	if a, ok := c.Route(inv); ok {
		return a.Step(ctx, inv)
	}
	return StepResult{SkillsRun: []string{}, SkillsSkipped: []string{}, Confidence: inv.Confidence}, nil
}
