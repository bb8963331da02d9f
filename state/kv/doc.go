// Package kv is the state store of the bus: a JetStream key-value bucket that all nodes share.
//
//	kv.Store  implements  protocol.StateStore, protocol.Graph
//	   |- SKG_STATE   bucket, one message a key:  session.<id>.<key>  {"value":...,"expires":...}
//	   |- SKG_BLOBS   object store, for values that no message can hold
//
// Keys are <scope>.<key> with every token escaped, so `nats kv ls SKG_STATE` reads well; links are under link.
// A value that another program puts there in the same form is read like any other.
//
// Guarantees. A write that returned is stored, as durably as the server syncs its files. Reads ask the leader of the
// bucket, never a follower, so a read sees every write that returned before it began; only during a partition may
// a leader that is none any more answer from the past. Writes with a revision (WriteIf, DeleteIf) are the truth
// even then. The time to live is judged by the clock of the reader; the server removes what is over a while later.
// A blob is written before the entry that refers to it, and both are read as one or not at all. There is no transaction over two
// keys.
//
// A write whose answer is lost is sent again, and recognised if it had landed: neither is it applied twice nor does
// WriteIf report a conflict with itself. When nothing answers until the deadline, the error has code timeout
// and the outcome is unknown.
//
// A Store is safe for concurrent use, starts no goroutine that outlives a call, needs no closing, and keeps nothing
// in memory. It does not own the connection. No error of NATS leaves the package. List, Search and Traverse look at
// every entry of a scope: it is no database.
//
//	store, err := kv.Open(ctx, js, kv.Config{Create: true})
//	err = store.Write(ctx, scope, "visits", json.RawMessage(`1`), protocol.StoreOptions{})
//
//	entry, found, err := store.Entry(ctx, scope, "visits")
//	revision, err := store.WriteIf(ctx, scope, "visits", json.RawMessage(`2`), protocol.StoreOptions{}, entry.Revision)
//	if protocol.CodeOf(err) == protocol.CodeConflict { /* read again */ }
package kv
