// Package agent is a language model in a loop: it asks the model, makes the calls that the model wants, shows it the
// results, and goes on until the model is done or a limit is reached.
//
//	protocol.OperatorInput  ->  Agent.Execute  ->  protocol.OperatorOutput
//	                             |        |
//	                  provider.Provider  tool.Tool
//
// # Guarantees
//
// Every limit ends a run with an output that says which one; see Limits. Before each turn they are checked in the order
// turns, money and tool calls, time. Money and tool calls are also checked before each tool call, and time ends what is
// under way. An input's config overrides the agent's limits, but not Config.Ceiling, and the budget that a call
// carries caps the money. Money that cannot be counted is refused: with a limit, a model without a price is not called, and
// a call whose cost turns out unknown is the last one.
//
// Tools run one after the other, in the order of the calls. If any call of an answer needs approval, none of that answer
// is made. A model sees and can call the same tools. Whatever a tool does wrong is told to the model.
//
// Failed model calls are tried again here and nowhere else; see Retry. Once a model call was answered, what was paid and
// declared is not thrown away: the run ends with an output whatever happens, unless the caller's context has ended.
//
// # Exit reasons
//
//	complete            the model made no more calls
//	custom: truncated   its answer was cut at MaxTokens; see ExitTruncated
//	max_turns, budget_exhausted, timeout   a limit; the message is the model's last text
//	circuit_breaker     too many failures in a row, of the model or of tools
//	error               the model failed in a way that does not pass, after the first turn
//	safety_stop         a content filter stopped the model
//	awaiting_approval   one tool_approval_required effect per call that waits
//	handed_off          a tool declared a handoff
//	interceptor_halt    a guard around the provider or a tool returned protocol.ErrEngineHalted
//
// # Concurrency
//
// An Agent is safe for concurrent use and starts no goroutine.
//
// # What it is not
//
// It remembers nothing between inputs: what came before is in the input's context. It survives no crash by itself. It
// performs no effects, and publishes none of what belongs to the node (invocation started, completed, failed).
package agent
