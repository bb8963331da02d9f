// Package agent is a language model in a loop: it asks the model, makes the calls that the model wants, shows it the
// results, and goes on until the model is done or a limit is reached.
//
//	protocol.OperatorInput  ->  Agent.Execute  ->  protocol.OperatorOutput
//	                             |     |    |
//	             provider.Provider  tool.Tool  engine.Context, with its rules
//
// # Guarantees
//
// Every limit ends a run with an output that says which one; see Limits. Before each turn they are checked in the order
// turns, money and tool calls, time. Money and tool calls are also checked before each tool call, and time ends what is
// under way. An input's config overrides the agent's limits, but not Config.Ceiling, and the budget that a call
// carries caps the money. Money that cannot be counted is refused: with a limit, a model without a price is not called, and
// a call whose cost turns out unknown is the last one. Where the provider can say the price (provider.Quoter), no call is made
// that could cost more than is left: its answer is made shorter, or it is not made. Runs that share a budget.Account together
// never spend more than it has.
//
// Every step of a run is an op with rules around it; see package engine. Rules before a call of a tool come before a person is
// asked to approve it. A rule that halts comes before approval, approval before limits.
//
// Tools that are parallel safe run side by side; any other alone, in its place among the calls of the answer. What the
// calls came to is taken in, seen by the rules, and shown to the model in the order of the calls. If any call of an answer needs
// approval, none of that answer is made before, unless Config.RunSafeCalls. A model sees and can call the same tools. Whatever
// a tool does wrong is told to the model.
//
// A panic, of the provider or a rule for instance, ends the run as failed; one of a tool is told to the model.
//
// Failed model calls are tried again here and nowhere else; see Retry. Once a model call was answered, what was paid and
// declared is not thrown away: the run ends with an output whatever happens, unless the caller's context has ended.
//
// # Durable runs
//
// Where the context has a step.Recorder, the run has a log, survives crashes, and can wait for days. What is recorded is each
// model call that was answered, each tool call, and each decision on calls that need approval. A run that goes on, on any
// node, makes none of these again: at most the one model call is paid twice whose answer was not recorded. A tool call that
// is not repeatable is made once at most; if it is not known what it came to, the model is told so. Then also:
//
//   - what was said to the run while it ran is heard before the next model call (the signal steer, inputs that steer);
//   - the earlier turns of the session come before the input's context;
//   - calls that need approval suspend the run; those that a person refused are results that say so;
//   - time is counted from the run's first start on any node, without that in which it was suspended; it ends model and
//     tool calls that are under way;
//   - operators as tools are children of the run; those that run side by side share what is left of the money evenly;
//   - rules run again when the run goes on: they must follow from the Context; see package engine;
//   - observers find model calls and tool results in the log, not among the live events.
//
// # Exit reasons
//
//	complete            the model made no more calls, or gave the output that Config.Output asks for
//	custom: truncated   its answer was cut at MaxTokens; see ExitTruncated
//	max_turns, budget_exhausted, timeout   a limit; the message is the model's last text
//	circuit_breaker     too many failures in a row, of the model or of tools
//	error               the model, or a rule, failed in a way that does not pass, after the first turn
//	safety_stop         a content filter stopped the model
//	awaiting_approval   one tool_approval_required effect per call that waits; not in a durable run
//	handed_off          a tool declared a handoff
//	interceptor_halt    a rule, a guard around the provider or a tool said so; or there was no output as Config.Output asks for
//	custom              a rule's own (engine.Stop), such as stuck_detected
//
// # Concurrency
//
// An Agent is safe for concurrent use. The only goroutines that it starts are those of tool calls; they are over before Execute
// goes on. Functions of the Config that say how the model is told something are called side by side, too.
//
// # What it is not
//
// It remembers nothing between inputs: what came before is in the input's context, or in the log. It performs no effects, and
// publishes none of what belongs to the node (invocation started, completed, failed).
package agent
