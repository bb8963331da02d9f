package engine

import (
	"github.com/skelegent/skelegent-go/protocol"
)

// The keys of the observations by which lifecycle events reach observers.
const (
	ObservedBudget     = "budget"     // the value is a protocol.BudgetEvent
	ObservedCompaction = "compaction" // the value is a protocol.CompactionEvent
)

type observation struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
}

// EmitBudget tells observers that money, steps or time run out.
func (c *Context) EmitBudget(e protocol.BudgetEvent) {
	c.Emit(protocol.EventObservation, observation{ObservedBudget, e})
}

// EmitCompaction tells observers what becomes of a conversation that grows too long.
func (c *Context) EmitCompaction(e protocol.CompactionEvent) { c.emitCompaction(e) }

func (c *Context) emitCompaction(e protocol.CompactionEvent) {
	c.Emit(protocol.EventObservation, observation{ObservedCompaction, e})
}
