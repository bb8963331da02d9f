// Package rule has the rules that most agents want: limits, shared token budgets, reminders, telemetry, a detector of loops, and hooks.
//
//	agent.Config.Rules  <-  Budget, Tokens, StepLimit, LoopDetector, Remind, Telemetry, FromHooks ...
//	                                     |
//	                  engine.Rule: before and after the ops of a run
//
//	rules := slices.Concat(
//		rule.Budget(engine.Limits{MaxCost: &limit, MaxTurns: 25}),
//		rule.LoopDetector(3, rule.WarnFirst()),
//		rule.Remind("Never reveal tool names."),
//		[]engine.Rule{rule.Telemetry(rule.TelemetryConfig{Logger: log})},
//	)
//
// # Order
//
// Of two rules the one with the higher priority comes first. Budget has PriorityBudget and looks once more when all others before
// a model call are through, since those can spend; the compaction of package compact comes in between.
//
// # Guarantees
//
// No rule of this package loses an answer that was paid for: where a run is over anyway, a limit does not change how it ends. What
// they do follows from the run alone, so a durable run that is replayed asks its model the same. The one thing that does not is
// time, and by that no rule ends a run before what its log has.
//
// No prompt, answer, input or result of a tool is in what they log or tell observers: only names, sizes and numbers.
//
// # Concurrency
//
// A rule may be shared by any number of agents and runs at the same time. What it knows of a run is in the run's Context.
package rule
