// Package serve makes operators of what package compose composes, and reaches composed work on other nodes.
//
//	OperatorInput  ->  Chain        a chain of skills over an investigation  ->  OperatorOutput
//	                   Coordinator  another operator, chosen by signals
//	                   Delegate     whatever an Executor reaches
//	                   Workflow     a Go workflow, JSON in and out
//	compose.Agent  <-  Agent        the chain that is an operator of any node
//	workflow.Workflow  <-  Operator
//
//	chain, err := compose.NewAgent("triage", skills, tools, compose.AgentConfig{Skills: []string{"known", "lookup"}})
//	node.Register("triage", serve.Chain(chain, serve.ChainConfig{}), actors.Durable())
//	desk, err := serve.Coordinator(dispatcher, serve.CoordinatorConfig{
//		Routes:   []serve.Route{{Signals: []compose.Signal{"fire"}, Operator: "firefighter"}},
//		Fallback: "clerk",
//	})
//	node.Register("desk", desk, actors.Durable())
//
// # Guarantees
//
// In a durable run every call of a tool and every dispatch is a step, which a run that goes on does not repeat; what else
// skills do is done again, so they must decide the same each time. What tools and members declare is declared by the operator,
// in the order of the calls, and what they cost is its cost; a budget of the call bounds all of them together.
//
// Metadata of an input may have signals, {"signals":["fire"]}: by these coordinators route, and chains begin with them.
//
// # Concurrency
//
// The operators are safe for concurrent use, if skills, tools and workflows are.
//
// # What it is not
//
// It knows no bus: who dispatches is a protocol.Dispatcher.
package serve
