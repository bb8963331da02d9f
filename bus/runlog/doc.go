// Package runlog appends to the log stream under a fence, reads it back, and keeps what is too large for it.
//
//	owner, executor  ->  Append(subject, expected last sequence)  ->  SKG_LOG  ->  skg.event (republished)
//	any node         <-  Load, Tail, Last, Get                    <-
//	owner            <-> Blobs (SKG_BLOBS), named by the records
//
// Every subject of the log has one writer at a time. The writer says which sequence it believes to be the last of
// the subject, and an append that is wrong about it is refused with ErrConflict: somebody else wrote first.
//
// An append whose answer is lost is not lost ownership. Append sends the identical message again, with the same
// message id and the same fence, and on a conflict looks for its id behind what it expected, where it is if it was ever
// stored, also if others have written since; only when nothing answers until the context ends does it return ErrUnknown.
//
// All reads are the leader's. A record says in a header where those before it are (EncodePrevious), back to the last
// snapshot, so that an instance is loaded by a few reads at a time instead of by a search through the stream; what it says
// is checked against the records themselves.
//
// A Log and Blobs are safe for concurrent use and keep nothing in memory. They do not know what a record means, beyond
// that a snapshot or the closing of an instance is where a load may begin.
package runlog
