// Package state is what the implementations of protocol.StateStore share: which values they take, and the search
// over them.
//
//	operators (read), executors (write)  ->  protocol.StateStore
//	                                           |- state/kv       a JetStream bucket: durable, shared by all nodes
//	                                           |- state/memory   one process, for tests and throw-away work
//	                                           the same promises, checked by state/statetest
//
// A value is one JSON text in UTF-8. Canonical checks it and takes the white space out; everything else stays as
// it was written, numbers to the last digit and members in their order. A Search counts, without regard to case,
// how often its query is in the text of a value, and ranks by that count over the length of the text. It is no
// full-text index: it looks at every value of a scope, so it has Limits, and what exceeds them is an error and
// not a shorter answer.
//
// The functions are safe for concurrent use, and so is a Search. Errors are *protocol.Error.
//
//	search, err := state.NewSearch("lighthouse", 10, state.Limits{})
//	for key, value := range values {
//		err = search.Add(key, value)
//	}
//	best := search.Results()
package state
