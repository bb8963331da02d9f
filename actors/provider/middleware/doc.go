// Package middleware is what stands between an agent and its model: it watches calls, changes them or refuses them.
//
//	agent loop -> observers -> transformers -> guards -> Provider.Infer
//
// The order is that of every stack of this project (see protocol.StackBuilder): whatever the order in which they were added,
// observers are outermost and see refused calls too, guards are innermost and judge what would really be sent.
//
//	stack := middleware.NewStack().
//		Observe(middleware.Log(logger)).
//		Guard(middleware.MaxInput(1 << 20)).
//		Build()
//	p = stack.Wrap(p)
//
// What a caller can rely on:
//   - A wrapped provider has the roles Pricer and Quoter if what it wraps has them, and no others. They ask what is wrapped
//     about the model that they are asked about, so a transformer that changes the model has to bring a price of its own.
//   - Other roles are found by As, through any number of wrappers that have Unwrap() provider.Provider.
//   - A nil sink stays nil: whether an answer is streamed is the caller's choice.
//
// TextCalls makes calls of what a model writes as text. Middleware and what it wraps are safe for concurrent use. Nothing here starts a goroutine, retries, or writes text of
// prompts and answers anywhere.
//
// Where several wrappers meet, outermost first: the router, the breaker, the limiter (package limit), then Timeout, since the
// time that a call waits for its turn is not the provider's.
package middleware
