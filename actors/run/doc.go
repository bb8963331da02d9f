// Package run is what a durable run is, without a bus: the events of its log, their fold, and every decision.
//
//	records of skg.log.<operator>.<instance>.run  ->  Fold
//	Fold + a task, or the owner's own result      ->  Driver.Next  ->  Command (append, run, settle, acknowledge, ...)
//
// An instance is one conversation or workflow of an operator: one log, at most one open run, a queue of inputs. Whoever
// holds a task of the instance asks a Driver what to do, does it, and asks again. A Driver keeps next to nothing; what
// counts is in the fold, so it makes no difference which node asks, or whether one died in between.
//
// The words: a claim is the event invocation_started; it names its carrier, the task that the claimant holds. A commit is
// the event that ends a run or suspends it; what follows from it (effects, answers, timers) is settled after it, and may
// be settled again, by anyone, for it has the same ids each time.
//
// The same code is what the model explores (package model): there, bus, clock and crashes are played, and nothing else.
//
// Nothing here blocks, reads a clock or starts a goroutine. A Fold is not safe for concurrent use.
package run
