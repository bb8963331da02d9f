// Package workflow composes functions that make one thing of another into larger ones.
//
//	Func  ->  Then, Sequence, Parallel, Branch  ->  Workflow[I, O]  ->  Run
//
//	triage := workflow.Then("triage", fetch, workflow.Parallel("look", 0, reputation, history))
//	findings, err := triage.Run(ctx, host)
//
// # Guarantees
//
// Results are in the order of the workflows, never of time. An error has the name of the workflow that failed, and keeps its
// code, kind, hints and details; one without a code has the code tool_error and its own text. A panic is an error with the
// code internal whose text says nothing of its value. When the context ends nothing further begins.
//
// In a durable run the branches of a Parallel are steps, each with a scope of its own, so that a run which goes on, on
// another node too, finds again what each of them came to. The others are plain code: their steps are those of the functions
// in them.
//
// # Concurrency
//
// Workflows are safe for concurrent use; the functions they are made of must be. Only Parallel starts goroutines, and
// returns when they have ended.
//
// # What it is not
//
// It knows no agents and no bus. To compose operators use package pattern.
package workflow
