// Package dispatch makes the calls of tools that a model asks for, one after the other, with hooks around each.
//
//	[]protocol.ToolCall  ->  Before of each hook  ->  compose.Tools.Invoke  ->  After of each hook  ->  []Result
//	 (from a normaliser)        |        |                   |
//	                          Skip   Terminate             error         ->  OnError of each hook  ->  error, and the
//	                       (a result)                                                                  results before it
//
// The same hooks go around the calls of an agent: by Rules, or by Wrap around single tools. Ready ones are BudgetHook and
// StuckLoopHook. RetryClass, Fingerprint and RepairHistory are for who makes calls again.
//
// # Guarantees
//
// Calls are made in their order, one at a time, and none behind an error. What was done is never lost: the results before an
// error are returned beside it.
//
// A hook that has answered is told exactly once how the call ended, whatever goes wrong: another hook fails or crashes, the tool
// crashes or ends its goroutine, ctx ends. So what a hook takes it can give back. The first error is the one that counts; what
// fails because of it is added to its causes.
//
// Rules is weaker where a run ends between the hooks and the call; see there.
//
// # Concurrency
//
// All is safe for concurrent use. Dispatch starts no goroutines and keeps nothing. Hooks are called in order, and for many
// dispatches at a time.
//
// # What it is not
//
// It does not retry, ask a person, or shorten outputs unless it is asked to. It logs nothing.
//
//	places := budget.NewCounter(8)
//	results, err := dispatch.Dispatch(ctx, tools, calls, dispatch.WithHooks(
//		dispatch.BudgetHook(places, 1), dispatch.StuckLoopHook(3),
//	))
//	for _, r := range results { // also beside an error
//		show(r.Call.ID, r.Output)
//	}
//	if errors.Is(err, &protocol.Error{Kind: compose.KindDispatchTerminated}) {
//		return stop(err)
//	}
package dispatch
