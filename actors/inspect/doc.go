// Package inspect reads the instances of operators without being a node: what they do, what became of their runs, what they
// wait for. And it removes one for good.
//
//	SKG_LOG, SKG_BLOBS  -> Load, List, Inbox -> run.Fold: what an instance does
//	                    -> Result, Wait      -> what became of a run
//	                    -> Tree, Signals     -> all that belongs to a run, for people
//	SKG_TASKS, SKG_TIMERS (looked at) ------^   a run that nobody has begun
//
// Everything but Forget works with the rights of a guest and changes nothing. Reads of one instance are the leader's; what
// looks at many, List and Inbox, has a consumer for as long as that takes, and may be behind by moments where the stream has
// copies. What has been read is already the past when it is returned: only a fenced append knows better.
//
// A Reader keeps nothing, starts no goroutine that outlives a call, and is safe for concurrent use. Errors are
// *protocol.Error: not_found where there is no such instance or run, unavailable where the streams do not answer, internal
// where a log cannot be read by this program.
//
//	r := inspect.New(conn)
//	result, err := r.Wait(ctx, "assistant/tea", "", nil)
package inspect
