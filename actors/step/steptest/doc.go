// Package steptest runs durable operators in a test: with a log in memory, and with the crashes, signals, timers and children
// that the test wants.
//
//	test  ->  Run.Execute  ->  the operator's code  ->  package step  ->  the step.Recorder of the Run
//	      ->  Run.Signal, Fire, EndChild, KillBefore ...                          |
//	                          run.Driver  ->  events  ->  run.Fold  <-------------'
//
// It is honest where it matters: what is recorded becomes events, is written as JSON, read again and folded by package
// run, and package run decides, as on a node, when the code runs, what a signal concerns and when a wait is over. After each
// kill the state is folded anew from the events.
//
//	r := steptest.New(steptest.Config{})
//	r.Input(protocol.Text("go"), run.Enqueue)
//	_, err := r.Execute(ctx, op)      // begins, and comes to a wait: step.Unwinding(err)
//	r.Signal("approve", nil)          // what it waits for
//	out, err := r.Execute(ctx, op)    // goes on from the top, with what is recorded
//
// To see that an operator survives a crash anywhere, Finish it once and count the Records; then, for each of Kills, Finish it
// anew, and compare.
//
// # Concurrency
//
// A Run is safe for concurrent use, but Execute must not be called while it runs. Nothing here starts a goroutine or waits:
// timers fire when the test says so. Times are those of package time, so testing/synctest works.
//
// # What it is not
//
// It has no bus: effects, answers and timers go nowhere. What the node does with conflicts and lost acknowledgements is
// tested there.
package steptest
