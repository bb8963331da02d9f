// Package model plays the protocol of durable runs: every interleaving, within bounds, of everything that may go wrong.
//
// The folds and the decisions are those of production: run.Fold and run.Driver. What they stand on is played, each as harsh as
// the real one: the log, the task queue, the timers, the workers and their memory, crashes.
//
//	Scenario ---> machine ---> world ---> world ---> ... every world that there can be
//	                           |  log: a trie; equal logs are one node, folded once
//	                           |  queue: messages, ready, out or gone
//	                           |  workers: sessions (what they remember) and deliveries, each with its run.Driver
//	                           |  outside: payments, effects, answers, timers
//
// A world is a value. An action makes another of it: a step of a delivery (an append, a payment, one piece of what follows from
// a commit, an acknowledgement), a delivery, a signal that is stored, a timer that is due; or something that goes wrong, of
// which a scenario allows so many: see Faults. Between two actions any other may happen.
//
//   - The log takes an append whose expected last record is the last one; else there is a conflict. One that is not answered is
//     in the log or is not, and the worker repeats it with the same id until it knows.
//   - The queue delivers a message until it is acknowledged, by anyone: an old delivery's acknowledgement removes it too. When
//     the time to acknowledge passes, or a worker crashes, it is delivered once more.
//   - A worker forgets everything when it crashes. Otherwise it may decide on what it remembers of the log.
//   - Signals have sequences of their own between those of the log, and come as tasks, as do due timers and the ends of
//     children: at least once, in any order.
//   - The operator's code is a list of steps, see program.go. What it pays for is counted.
//
// Explore visits the worlds breadth first, so what it finds is found on a shortest way, and reads as a story:
//
//	1 A goes to worker 1
//	2 worker 1, A: appends 1 invocation_started r1
//	3 worker 1, A: pays for r1/1 a
//
// In every world it checks what must never be (check.go, seen.go): a log that cannot be folded, a run that ends twice or out
// of turn, a step paid more often than crashes and expiries excuse, an effect published before it is committed or before
// those of the commit before, a task acknowledged that is not safe in the log, a cancel that is not honoured, a question
// that an older answer decides. In every world in which nothing is left to do it checks what must be by then: each input
// ended and each caller heard what the log says, every effect is out, every wait whose end has come is over. And from
// every world there is a way to such an end on which nothing more goes wrong.
//
// That the rules are needed is tested as well: Rule names those that can be left out, each by a change to the played world,
// and rule_test.go has a scenario that comes to grief without it. To see the stories:
//
//	go test ./actors/run/model -run Rules -v
//	go test ./actors/run/model -run Scenarios -v -model.long     # larger bounds, some minutes
//
// A new scenario is a few lines in scenarios.go. When one breaks, its story is the bug report.
//
// Not played: blobs, budgets and deadlines of runs, the purging of records (a load begins at the last snapshot), waits for
// memory effects, what a run is told apart from signals. Executors have a model of their own in actors/internal/executor.
package model
