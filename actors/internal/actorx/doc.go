// Package actorx runs actors in this process. It is the only importer of protoactor-go, whose actor package it uses as a
// kernel (mailboxes, scheduling, lifecycle, the tree) and hides, so that what is racy or lossy there cannot be reached.
//
//	bus, timers, HTTP          actors                      actorx
//	  Tell, Ask  ─────────▶  Receive(c, msg)  ◀── one at a time ── mailbox ◀── gate (Ref)
//	                           │  Spawn, Stop  ──▶ children, supervised with backoff
//	                           │  Async        ──▶ own goroutine ──▶ then(c, result, err)
//	                           └  After        ──▶ own timer     ──▶ Receive(c, msg)
//
// # Guarantees
//
// Delivery: Tell returns true only for what will be processed, or handed to the Stop hook by Leftovers. The one message on
// which an actor crashes is dropped; those behind it are kept. Messages of one sender stay in order; timers and
// continuations queue with them.
//
// Stop: the gate of the Ref closes first, so all told before is processed and all told after is refused. Then timers and
// Async work are cancelled, the children stop in the same way (their Terminated is still received), the Stop hook runs,
// and the actor has ended. System.Stop waits for all that, and for the goroutines of Async. A child that wants to tell its
// parent something during a stop is refused: drain by messages of your own first.
//
// Crash: a panic, a runtime.Goexit or a failed Start ends the incarnation at once (Stop hook, timers, Async context), then
// its children, and after a backoff that doubles up to a cap a fresh one is made, for ever. An Ask whose message crashed
// the actor gets the *PanicError. During a stop there is no backoff; if Start fails then, the actor is given up and its
// messages become Leftovers.
//
// Incarnations: timers and continuations of an earlier one are never delivered. The Stop hook runs exactly once in each.
//
// Answers: an Ask gets at most one, the first; it always ends, with its context at the latest.
//
// Names are unique among living siblings and serve people, not addressing: there is no sending by name. A Ref never means
// another actor than it did, and keeps nothing of a dead one in memory.
//
// Logs carry actor names, counts, stacks and types, never messages or the values of panics.
//
// # Concurrency
//
// System, Ref, Reply and Timer are safe everywhere. A Context belongs to its actor's code and to nothing else. Nothing here
// blocks except Ask and System.Stop, which are for goroutines outside of actors, or for Async. A Receive that blocks holds
// up only its actor, and System.Stop.
//
// # What it is not
//
// No remoting, no persistence, no routers, no bounded mailboxes: location is a subject, what must last is in a stream, and
// the intake limits what is in flight. A mailbox keeps the memory of its largest burst until its actor ends.
//
// # Example
//
//	sys := actorx.NewSystem(actorx.Config{Logger: log})
//	ref, err := sys.Spawn("counter", func() actorx.Actor {
//		n := 0
//		return actorx.ReceiveFunc(func(_ *actorx.Context, msg any) {
//			n++
//			msg.(count).reply.Send(n)
//		})
//	})
//	...
//	n, err := actorx.Ask(ctx, ref, func(r actorx.Reply[int]) any { return count{r} })
//	...
//	err = sys.Stop(ctx)
package actorx
