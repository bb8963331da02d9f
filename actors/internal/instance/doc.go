// Package instance runs the durable instances of one operator on one node.
//
//	SKG_TASKS  ->  Host (actor: what is in flight, heartbeats)  ->  a goroutine for each task: see
//	                 |                                               run.Driver.Next -> do it -> again
//	                 '-- session: the hot fold of an instance  <------'   |
//	                        append under the fence -> SKG_LOG             '-> operator code, with a step.Recorder
//
// What to do is decided in package run, which is pure; here it is done. A task stays unacknowledged, with heartbeats, while
// the run that it carries goes on; whoever is delivered it next takes over. A session belongs to the process and not to a
// run: it is what the process knows of a log, loaded at the first task and forgotten when nothing has come for a while. It
// may be stale without harm, since every append carries the fence.
//
// Concurrency: tasks of one instance are seen at the same time, their appends one after the other.
package instance
