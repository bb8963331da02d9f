// Package chaos has tests alone: processes that die for real, and what may be left of it afterwards.
//
//	this test -- submits, signals, kills -->  3 servers (processes)  <-- TCP -->  5 nodes (processes)
//	    |                                        SKG_LOG, SKG_TASKS, ...             | one write each
//	    '------------ compares -------------------------'                            v
//	                     '------------------------------------------------------  outside.jsonl
//
// The test binary starts itself again as server or node (see TestMain). A node appends a line to a file before it pays for a
// model call and when it performs an effect: the record of the outside world, which no log tells of and no kill can lose.
// Every second a node is killed, now and then told to leave or stopped for longer than its tasks wait, and in the long form a
// server killed too: one of three, and then in another world the only one. Then everything is healed, and the log, the
// outside record and the answers must agree:
//
//   - Each task is one completed run, and asked for again it has the same answer. The runs of a session are completed in the
//     order in which they came into its log, and each saw those before it.
//
//   - No result that is recorded is paid for again. What was paid in vain is excused by what befell the very process that
//     paid, or a server; a process that was stopped, or had no server, may pay once on what it knew before.
//
//   - Each effect is performed once, in order; or its outcome is unknown, and then it is among the dead letters, which have
//     nothing else.
//
//   - Nothing is left: no task, no wake, no timer, no effect, no open run. Whoever is told to leave does.
//
//     make chaos                  the long form, a few minutes
//     go test ./actors/chaos      the short form, half a minute: one server, which lives
//     go test ./actors/chaos -v -chaos.long -chaos.seed 7 -chaos.keep
//
// The seed decides what is submitted and whom the faults hit; not how the processes interleave, so it repeats a plan and not
// a run. On failure the directory is kept: the logs of all processes, the outside record (outside.jsonl), the log (log.txt).
//
// What it is not: a test of disks. The servers run with the default sync_interval of two minutes; SIGKILL loses what a process
// has, not what the kernel has of its files.
package chaos
