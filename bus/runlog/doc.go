// Package runlog appends to the log stream under a fence.
//
//	executor  ->  runlog.Append(subject, expected last sequence)  ->  SKG_LOG  ->  skg.event (republished)
//
// Every subject of the log has one writer at a time. The writer says which sequence it believes to be the last of
// the subject, and an append that is wrong about it is refused with ErrConflict: somebody else wrote first.
//
// An append whose answer is lost is not lost ownership. Append sends the identical message again, with the same
// message id and the same fence, and on a conflict looks for its id at the end of the subject; only when nothing
// answers until the context ends does it return ErrUnknown.
//
// A Log is safe for concurrent use. It keeps nothing in memory.
package runlog
