// Package memory is a state store in one process: for tests, for examples and for work that may be thrown away.
//
//	memory.Store  implements  protocol.StateStore, protocol.Graph
//
// It keeps the promises of every store (state/statetest), except the obvious one: nothing survives the process.
// A bounded store evicts what was not used for longest, over all scopes. Values with lifetime durable are never
// evicted and do not count; a later write that says nothing of the lifetime leaves that so. Values with lifetime
// transient are read like any other until ClearTransient. Links are not bounded.
//
// Everything is safe for concurrent use, and no method blocks. A write is seen by every read that begins after it.
//
//	store := memory.New(memory.Config{Bound: 10_000})
//	err := store.Write(ctx, protocol.InSession("s1"), "notes", json.RawMessage(`{"n":1}`), protocol.StoreOptions{})
//	value, err := store.Read(ctx, protocol.InSession("s1"), "notes")
package memory
