// Package executor runs the actors that perform effects, one actor for each family of effects on a node.
//
//	SKG_EFFECTS --pull--> intake --Tell--> actor --Async--> task: ledger, Perform, ledger, ack
//	                                         |
//	                                         +-- heartbeats while tasks run
//
// The ledger decides. Its last record on skg.log.<operator>.<instance>.done.<family> says up to which message the effects
// of the instance are done. What is lower is acknowledged, what is higher than next waits, and what is next is
// performed, record by record under the fence of the last sequence:
//
//	effect_acting    before an effect that must not be repeated
//	effect_released  it certainly was not performed; any executor may
//	effect_done      the whole message, with the outcome of each effect
//
// An effect_acting without an end, found by somebody else, is settled where the executor can find out, and is
// recorded as unknown where it cannot. So an effect is performed once, a second time only if it is idempotent, and in
// the order of the instance. What fails goes to the dead letters before it is recorded, under the effect's own id.
//
// A message is acknowledged only when the ledger has it. It is given back when the node stops.
package executor
