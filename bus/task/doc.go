// Package task is the stream of everything that nodes are to do, and the timers that add to it later.
//
//	Enqueue ----------------------------> SKG_TASKS --> in_<operator>    inputs, skg.task.<operator>
//	signals in SKG_LOG ---- server -----> (a queue)     wake_<operator>  wakes, skg.wake.<operator>.<instance>...
//	WakeAt, TaskAt, TaskEvery -> SKG_TIMERS -- server, when due --^
//
// Guarantees. What is accepted stays until it is acknowledged, and is delivered until then: at least once, in the order
// of the stream unless given back. The arrival of a timer's wake is what due means; no node's clock is asked, and none comes
// early. Two consumers an operator, so that a wake never waits behind a backlog of inputs.
//
// What the server took over, signals and what became due, it may take over again after it was killed, also when it was
// acknowledged long before: see Source. A schedule is set again and cancelled at will, but what was due is on its way.
//
// Errors are *protocol.Error. Those of the consumers themselves are the client library's. A Tasks keeps nothing and is safe
// for concurrent use. It does not decide what a task means or when it may be acknowledged.
//
//	tasks := task.New(conn)
//	inputs, err := tasks.Inputs(ctx, "assistant", task.ConsumerConfig{MaxAckPending: 64})
//	err = tasks.WakeAt(ctx, "assistant", wire.Escape("room 7"), "sleep-3", time.Now().Add(72*time.Hour), nil, nil)
package task
