// Package tool is what a model can call: Go functions, operators, and tools whose schema comes from elsewhere.
//
//	agent loop  ->  Registry  ->  Call  ->  Func       a Go function
//	                                        Effect     a Go function that only declares effects
//	                                        Raw        a JSON schema and a function, such as a tool of an MCP server
//	                                        FromOperator  ->  protocol.Dispatcher  ->  any operator
//	                                        Handoff, AsEffect  ->  effects, instead of running
//	bus  ->  AsOperator  ->  Call  ->  any tool
//
// # Guarantees
//
// A function sees only input that fits its schema; what does not fit is an error of kind tool.invalid_input whose text
// tells the model what is wrong. A panic becomes an error of the tool and never leaves Call. A Registry keeps the order of
// registration, so requests made from it are the same each time. Bounded keeps results short, and says what is missing.
//
// Tools do nothing outside by declaring effects: they return them, the run declares them, executors perform them. Recall
// sees what the same run declared before. What Remember and Recall mean by "this conversation" is the session of the input
// that is processed, else the operator; see Run, which whoever calls tools sets. A function learns of its call by CallFrom,
// and gets what belongs to the run and not to the tool by Dep.
//
// In a durable run a tool can have steps of its own, of package step: sleep, await a signal, call an operator. It must return
// the error by which a step unwinds. What it does outside of steps is done again when the run goes on.
//
// # Concurrency
//
// Tools are safe for concurrent use, and so is a Registry, also while tools are added and removed. Nothing here starts a
// goroutine: a timeout ends the context of a call, it cannot stop a function that ignores it.
//
// # What it is not
//
// It does not decide which tools may be used, ask for approvals, count or retry: the agent does. It knows no bus.
package tool
