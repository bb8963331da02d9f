// Package actors runs operators and executors of effects on a node.
//
//	        bus (NATS)
//	            |
//	          Node
//	   +--------+---------+
//	operators          executors            actors: one for the requests of an operator, one for its tasks, one a family
//	   |                  |
//	 runs               tasks               one goroutine each, owned by its actor
//
// A Node takes a connection, registered operators and executors, and runs until it is told to stop; then it drains. Nodes
// share work by hosting the same operators: there is nothing else to configure for a second one.
//
// Guarantees. A request is answered by the operator's output or by a coded error. The effects of an output are stored
// before it is sent, and are performed once, in the order of their instance, by whichever node has an executor
// for them. A panic in an operator reaches its caller only. Draining answers or gives back all that was accepted.
//
// A durable operator (see Durable) keeps a log of each of its instances, a conversation or a single run. A crash anywhere
// repeats no step that was recorded (Step, model and tool calls of an agent) and performs no effect twice; a run that waits
// (Sleep, Await, Call) holds nothing; an instance has one run open at a time, over any number of nodes, and its inputs run
// in the order of its log. What was in flight is done again; see Once. The rules are in package run.
//
// The packages below: agent (the loop around a model), tool, provider (models), effect (executors), manifest (all of this
// from a YAML file). The packages under internal know both NATS and the actor library; nothing else does.
package actors
