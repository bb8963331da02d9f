// Package compact makes room in conversations that grow too long: strategies that choose what goes, and the rule that says when.
//
//	agent.Config.Rules  <-  Rule(Config{Strategy: ...})  ->  engine.Compaction  ->  Strategy.Cut
//	                             before each model call          flush first
//
//	Rules: compact.Rule(compact.Config{Strategy: compact.SummarizeAndReplace(compact.SummaryConfig{})}),
//
// # Strategies
//
//	SlidingWindow        the last n messages
//	Halve                the first and the last, up to half of the tokens
//	Tiered               what is not marked to go first, and the last n of the rest
//	PolicyTrim           what is marked to go first goes, then the oldest, down to n messages
//	TokenBudget          the same, down to a number of tokens
//	Salience             what matters most and says something new, up to a number of tokens
//	SummarizeAndReplace  a model's summary takes the place of what goes
//	Extract              a model's notes of a fixed form do; see CognitiveState
//
// # Guarantees
//
// Calls and their results stay or go together, in their order, and pinned messages stay; the engine sees to that whatever a strategy
// wants. Beyond that, those of this package keep the last message, unless they are told to keep none, and where a conversation would
// begin with the model they keep the user's last words before. Nothing is compacted while results of calls are to come.
//
// A compaction changes what the model is shown, not what is recorded: the log of a durable run keeps every answer. A replay
// compacts again, with the same outcome: what a model was asked for a summary is recorded, and so is that a compaction failed.
//
// # Concurrency
//
// Strategies and rules may be shared by any number of agents and runs at the same time. What they know of a run is in its Context.
package compact
