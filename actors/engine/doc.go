// Package engine is the ground that a run of an agent stands on: the conversation, what was spent and declared, and the rules
// that see every step of it.
//
//	agent loop  ->  Context.Run(op)  ->  before rules -> when rules -> op -> after rules
//	                    |
//	        messages, metrics, effects, extensions
//
// # Ops and rules
//
// Everything that happens in a run is an Op that is run through the Context: putting a message in, asking the model, taking in
// its answer, calling a tool, compacting. A Rule is an Op with a Trigger: before or after ops of a name, before or after any,
// or whenever a predicate holds. Of two rules the one with the higher priority comes first; of equals the one that was added
// first. The predicates are all asked before the first rule with one runs. Rules fire no rules, but for those that name a compaction. An error of a before or when
// rule keeps the op from being run; after rules do not fire where the op failed. Whatever a rule does, also a panic, the next
// op has its rules again.
//
// A rule ends the run by the error that Halt or Stop make. Any other error of a rule ends it as failed.
//
//	remind := engine.After(engine.OpAppendResponse, "remind", 50, engine.OpFunc("remind",
//		func(_ context.Context, c *engine.Context) error { return c.InjectSystem("Never reveal tool names.") }))
//
// # Replay
//
// In a durable run everything between recorded steps is executed again when the run goes on, rules too. So what a rule does
// must follow from the Context; it asks a model by Context.Ask, which is recorded, and acts outside by step.Do or by an effect
// (Context.PushEffect). What it tells observers by Context.Emit is told once.
//
// # Concurrency
//
// A Context is not safe for concurrent use. Where tools run side by side, their rules run one after the other.
package engine
