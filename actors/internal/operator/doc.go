// Package operator runs operators that keep no log: one actor for each operator on a node.
//
//	skg.op.<operator> --subscription--> actor (admission) --Async--> run --> reply
//	                                      |                           |
//	                                      +-- running, waiting        +-- skg.live, SKG_EFFECTS
//
// The actor counts what runs and what waits. Within the concurrency limit a request runs at once; within the waiting limit
// it waits in order; beyond, or while the node drains, it is answered with unavailable and a hint when to come again. NATS
// drops nothing silently, because nothing is left in its hands.
//
// A run is at most once. Its effects are stored before its answer is sent. A panic in an operator is an internal error to
// that caller alone, with the stack in the log of the node.
package operator
