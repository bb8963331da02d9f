// Package wire names things on the bus: subjects, the escaping of their tokens, headers, streams and
// buckets. It is the one place where such a name is spelled.
//
//	protocol/wire  <-  bus, state, actors
//
// It imports the standard library only, holds no state, and everything in it is safe for concurrent use.
// The contract it implements is protocol/SPEC.md.
package wire
