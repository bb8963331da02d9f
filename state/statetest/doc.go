// Package statetest checks that a state store keeps the promises of protocol.StateStore, and of protocol.Graph
// where it is one. Run it in the tests of every store:
//
//	func TestConformance(t *testing.T) {
//		statetest.Run(t, func(t testing.TB) protocol.StateStore { return mystore.New(t.TempDir()) })
//	}
//
// Each promise is a Clause with a name, and a subtest with a fresh store. A store that breaks one promise fails one
// clause: the suite's own tests break stores in every way they know and demand that exactly the right clause
// notices. Clauses that a store cannot be asked about (relations, options) are skipped, and say so.
//
// The package needs nothing but testing and protocol. It is no benchmark, and it looks at a store from one
// process: what two processes see of each other is for the store's own tests.
package statetest
