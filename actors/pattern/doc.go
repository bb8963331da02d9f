// Package pattern composes operators: patterns are operators whose members are operators, wherever those run.
//
//	input  ->  Sequential, Parallel, FanOut, Loop, Select, Supervisor, Swarm  ->  protocol.Dispatcher  ->  members
//	                                                                          ->  step.Call in a durable run
//
//	report := pattern.Sequential(bus, "researcher", "writer", "editor")
//	node.Register("report", report, actors.Durable())
//
// # Guarantees
//
// What a pattern gives is one output: the effects of all its members, in the order of the members and not of time, and metadata
// in which tokens, costs, unpriced calls, turns and sub-dispatches are those of all of them together. An exit that is not
// complete, such as handed_off or awaiting_approval, passes out with its effects, unless the pattern is there to deal with
// it. Members are dispatched with protocol.Call.TakeEffects: what they declare, handoffs too, is performed by nobody but for
// the pattern, which declares it. A member that fails is named in the error; what members before it declared is then not
// declared, nothing was performed. Only Parallel and FanOut go on beside a failure.
//
// Of the budget of the call, and of max_cost in the input's config, a member gets all that the members before it left; of
// those that run beside each other each gets an even share. Session, config and metadata of the input go on to every member.
//
// In a durable run every dispatch is a step: a run that goes on, on another node too, repeats none, also of those that run
// beside each other, and holds nothing while it waits. The functions that a pattern is given must then decide the same way
// each time; a Selector need not, since what it chose is recorded.
//
// # Concurrency
//
// Patterns are safe for concurrent use; the functions they are given must be. Execute returns when every goroutine that it
// started has ended.
//
// # What it is not
//
// It knows no bus and no model: who decides by a model makes a member of it, or a Selector that asks one.
package pattern
