package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Rule is an op that fires around others.
type Rule struct {
	Name     string
	Trigger  Trigger
	Priority int // the higher comes first
	Action   Op
}

// Trigger says when a rule fires; see Before, After, BeforeAny, AfterAny and When. The zero value never does.
type Trigger struct {
	phase phase
	op    string // empty for any
	when  func(*Context) bool
}

type phase uint8

const (
	never phase = iota
	before
	holding
	after
)

// Before is a rule that fires before each op of that name.
func Before(op, name string, priority int, action Op) Rule {
	return Rule{Name: name, Priority: priority, Action: action, Trigger: Trigger{phase: before, op: op}}
}

// After is a rule that fires behind each op of that name that succeeded.
func After(op, name string, priority int, action Op) Rule {
	return Rule{Name: name, Priority: priority, Action: action, Trigger: Trigger{phase: after, op: op}}
}

// BeforeAny is a rule that fires before every op.
func BeforeAny(name string, priority int, action Op) Rule { return Before("", name, priority, action) }

// AfterAny is a rule that fires behind every op that succeeded.
func AfterAny(name string, priority int, action Op) Rule { return After("", name, priority, action) }

// When is a rule that fires before every op for which holds is true, behind the rules that fire before it.
func When(name string, priority int, holds func(*Context) bool, action Op) Rule {
	return Rule{Name: name, Priority: priority, Action: action, Trigger: Trigger{phase: holding, when: holds}}
}

// If returns r with a further condition: it does nothing where holds is false.
func (r Rule) If(holds func(*Context) bool) Rule {
	action := r.Action
	r.Action = OpFunc(action.Name(), func(ctx context.Context, c *Context) error {
		if !holds(c) {
			return nil
		}
		return action.Run(ctx, c)
	})
	return r
}

// rules are kept by phase, in the order in which they fire.
type rules struct {
	before, when, after []Rule
	firing              int // rules that are under way, one within the other
}

// silent reports whether no rules fire around op: it is run by a rule. A compaction is nearly always, and so has those rules that
// name it; within them nothing fires.
func (rs *rules) silent(op Op) bool {
	return rs.firing > 1 || rs.firing == 1 && op.Name() != OpCompact
}

func (rs *rules) add(r Rule) {
	list := map[phase]*[]Rule{before: &rs.before, holding: &rs.when, after: &rs.after}[r.Trigger.phase]
	if list == nil || r.Action == nil {
		return
	}
	*list = append(slices.Clip(*list), r) // a rule may be added while others fire
	slices.SortStableFunc(*list, func(a, b Rule) int { return cmp.Compare(b.Priority, a.Priority) })
}

// AddRule adds a rule. It does not fire any more around the op that is under way.
func (c *Context) AddRule(r Rule) { c.rules.add(r) }

// Run runs op with its rules, or alone where a rule runs it.
func (c *Context) Run(ctx context.Context, op Op) error {
	if err := c.Enter(ctx, op); err != nil {
		return err
	}
	if err := c.perform(ctx, op); err != nil {
		return err
	}
	return c.Leave(ctx, op)
}

// perform runs op itself. What it is must be known to rules that ask, and forgotten however it ends.
func (c *Context) perform(ctx context.Context, op Op) error {
	outer := c.current
	c.current = op
	defer func() { c.current = outer }()
	return op.Run(ctx, c)
}

// Enter fires the rules before op. It is for who does what an op stands for between Enter and Leave; else use Run.
func (c *Context) Enter(ctx context.Context, op Op) error {
	if len(c.rules.before)+len(c.rules.when) == 0 || c.rules.silent(op) {
		return nil
	}
	if err := c.fire(ctx, op, c.rules.before); err != nil || c.rules.firing > 0 {
		return err
	}
	var holding []Rule
	for _, r := range c.rules.when {
		if r.Trigger.when(c) {
			holding = append(holding, r)
		}
	}
	return c.fire(ctx, op, holding)
}

// Leave fires the rules behind op.
func (c *Context) Leave(ctx context.Context, op Op) error {
	if len(c.rules.after) == 0 || c.rules.silent(op) {
		return nil
	}
	return c.fire(ctx, op, c.rules.after)
}

func (c *Context) fire(ctx context.Context, op Op, list []Rule) error {
	outer, nested := c.current, c.rules.firing > 0
	c.current = op
	c.rules.firing++
	defer func() {
		c.current = outer
		c.rules.firing--
	}()
	for _, r := range list {
		if r.Trigger.op != op.Name() && (r.Trigger.op != "" || nested) {
			continue
		}
		if err := r.Action.Run(ctx, c); err != nil {
			return fmt.Errorf("rule %s at %s: %w", r.Name, op.Name(), err)
		}
	}
	return nil
}

// Current returns the op that a rule fires around, or that is under way; nil if none is.
func (c *Context) Current() Op { return c.current }
