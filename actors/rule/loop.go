package rule

import (
	"context"
	"fmt"
	"slices"

	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// ExitStuck is how a run ends that makes the same call again and again.
var ExitStuck = protocol.CustomExit("stuck_detected")

// minRepeats is the least number of calls that can be a loop.
const minRepeats = 2

// sourceWarning is the source of what LoopDetector tells a model.
const sourceWarning = "rule:loop"

// LoopOption says something more of a LoopDetector.
type LoopOption func(*loopRule)

// WarnFirst has the model told, behind the results, when it makes the call before the last that it may. It does nothing for two.
func WarnFirst() LoopOption { return func(r *loopRule) { r.warn = true } }

// Ignoring leaves out tools that are meant to be called again and again, such as those that ask whether something is ready. Their
// calls neither count nor interrupt.
func Ignoring(tools ...string) LoopOption {
	return func(r *loopRule) { r.ignored = append(r.ignored, tools...) }
}

// LoopDetector ends runs with ExitStuck in which a model asks for the same call n times in a row, two at least: the same tool and the
// same input, however it is written. The nth is not made, nor is what else its answer asks for. Observers are told.
func LoopDetector(n int, opts ...LoopOption) []engine.Rule {
	r := &loopRule{max: max(n, minRepeats)}
	for _, opt := range opts {
		opt(r)
	}
	return []engine.Rule{BeforeTool("", "loop detector", PriorityLoop, r.look)}
}

type loopRule struct {
	max     int
	warn    bool
	ignored []string
}

// repeats is what is known of the last call.
type repeats struct {
	call  string
	count int
}

func (r *loopRule) look(_ context.Context, c *engine.Context, op *engine.ToolCall) error {
	if slices.Contains(r.ignored, op.Call.Name) {
		return nil
	}
	last, call := engine.Local[repeats](c, r), tool.Fingerprint(op.Call)
	if last.call != call {
		last.call, last.count = call, 0
	}
	last.count++
	switch {
	case last.count >= r.max:
		c.EmitBudget(protocol.LoopDetected{
			Operator: c.Operator(), OperatorName: op.Call.Name, ConsecutiveCount: uint32(last.count), Max: uint32(r.max),
		})
		return engine.Stop(ExitStuck)
	case r.warn && last.count == r.max-1 && last.count >= minRepeats:
		return c.Inject(warning(op.Call.Name, last.count))
	}
	return nil
}

func warning(name string, count int) protocol.Message {
	m := protocol.NewMessage(protocol.RoleUser, protocol.TextContent(fmt.Sprintf(
		"You have called %q with the same input %d times in a row. Do not call it so again: use what it returned, try something else, "+
			"or say what keeps you from going on.", name, count)))
	m.Meta.Policy, m.Meta.Source = protocol.PolicyDiscardWhenDone, new(sourceWarning)
	return m
}
