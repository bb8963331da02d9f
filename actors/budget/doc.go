// Package budget is money that several runs of one process spend together.
//
//	Account  <-  Reserve (before a model call)  ->  Reservation  ->  Settle (what it cost)
//	   |
//	  Sub: a part of it, for a child
//	  Part: all of it, for who wants to know what somebody spends of it
//
// What is reserved counts as spent until it is settled, so calls that are under way at the same time cannot together take more
// than there is. The sum of what is settled exceeds the limit by no more than what single calls cost beyond what was reserved
// for them; where each reserves the most that it can cost, never.
//
// An Account in a context (With) is what an agent reserves from, beside its own limits. Across processes a budget travels as the
// amount that is left, protocol.Call.Budget, and is divided before.
//
// # Concurrency
//
// All is safe for concurrent use. Nothing blocks.
package budget
