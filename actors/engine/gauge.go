package engine

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/skelegent/skelegent-go/protocol"
)

// Limits bound a run. What is zero or nil bounds nothing.
type Limits struct {
	MaxTurns     uint32
	MaxCost      *protocol.Decimal // USD
	MaxDuration  time.Duration
	MaxToolCalls uint32
}

// Reached returns how a run ends that has reached a limit, and whether it has: more money or time than the limit, as many turns
// or calls. They are looked at in the order money, turns, time, calls.
func (l Limits) Reached(m Metrics, elapsed time.Duration) (protocol.ExitReason, bool) {
	switch {
	case l.MaxCost != nil && (m.UnpricedCalls > 0 || m.Cost.GreaterThan(l.MaxCost.Decimal)):
		return protocol.Exit(protocol.ExitBudgetExhausted), true
	case l.MaxTurns > 0 && m.Turns >= l.MaxTurns:
		return protocol.Exit(protocol.ExitMaxTurns), true
	case l.MaxDuration > 0 && elapsed > l.MaxDuration:
		return protocol.Exit(protocol.ExitTimeout), true
	case l.MaxToolCalls > 0 && m.ToolCalls >= l.MaxToolCalls:
		return protocol.Exit(protocol.ExitBudgetExhausted), true
	}
	return protocol.ExitReason{}, false
}

// Gauge tells observers once each when a run comes near its limits, at more than 80 % of one, and when it reaches it.
type Gauge struct {
	Limits   Limits
	Workflow protocol.WorkflowID
	// LimitsOnly leaves out what each call costs, for a gauge beside another one of the same run.
	LimitsOnly bool

	told [gaugeEvents]bool
	cost decimal.Decimal // told so far
}

const (
	warnedCost = iota
	warnedTurns
	warnedCalls
	warnedTime
	reachedCost
	reachedSteps
	reachedTime
	gaugeEvents
)

// near is the part of a limit from which on observers are warned.
var near = decimal.RequireFromString("0.8")

// Read tells of what has changed, if anybody observes the run.
func (g *Gauge) Read(c *Context) {
	if c.cfg.Events == nil {
		return
	}
	m, l, op := c.metrics, g.Limits, c.Operator()
	if m.Cost.GreaterThan(g.cost) && !g.LimitsOnly {
		incurred := m.Cost.Sub(g.cost)
		g.cost = m.Cost.Decimal
		c.EmitBudget(protocol.CostIncurred{Operator: op, Cost: protocol.Decimal{Decimal: incurred}, Cumulative: m.Cost})
	}
	if l.MaxCost != nil {
		if m.Cost.GreaterThan(l.MaxCost.Mul(near)) && g.first(warnedCost) {
			c.EmitBudget(protocol.BudgetWarning{Workflow: g.Workflow, Spent: m.Cost, Limit: *l.MaxCost})
		}
		if m.Cost.GreaterThan(l.MaxCost.Decimal) && g.first(reachedCost) {
			c.EmitBudget(protocol.BudgetAction{Workflow: g.Workflow, Action: protocol.HaltWorkflow()})
		}
	}
	g.steps(c, warnedTurns, m.Turns, l.MaxTurns)
	g.steps(c, warnedCalls, m.ToolCalls, l.MaxToolCalls)
	if l.MaxDuration > 0 {
		elapsed := c.Elapsed()
		if float64(elapsed) > near.InexactFloat64()*float64(l.MaxDuration) && g.first(warnedTime) {
			c.EmitBudget(protocol.TimeoutApproaching{Operator: op, Elapsed: protocol.MillisOf(elapsed), MaxDuration: protocol.MillisOf(l.MaxDuration)})
		}
		if elapsed > l.MaxDuration && g.first(reachedTime) {
			c.EmitBudget(protocol.TimeoutReached{Operator: op, Elapsed: protocol.MillisOf(elapsed)})
		}
	}
}

// steps tells of turns or calls.
func (g *Gauge) steps(c *Context, warned int, have, limit uint32) {
	if limit == 0 {
		return
	}
	if uint64(have)*10 > uint64(limit)*8 && g.first(warned) {
		c.EmitBudget(protocol.StepLimitApproaching{Operator: c.Operator(), Current: have, Max: limit})
	}
	if have >= limit && g.first(reachedSteps) {
		c.EmitBudget(protocol.StepLimitReached{Operator: c.Operator(), TotalSubDispatches: c.metrics.ToolCalls})
	}
}

func (g *Gauge) first(event int) bool {
	told := g.told[event]
	g.told[event] = true
	return !told
}
