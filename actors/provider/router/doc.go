// Package router makes one provider of several: the name of the model says which is asked, and others may stand in where it
// fails.
//
//	agent loop -> Router.Infer -> route by prefix -> its provider, else the alternatives in their order
//
//	r, err := router.New(
//		router.Anthropic(claude, router.Target{Provider: gpt, Model: "gpt-4o"}),
//		router.OpenAI(gpt),
//		router.Ollama(llama),
//	)
//
// # Which route
//
// The longest prefix that fits wins. A prefix that ends in a colon names the kind of provider and is taken off before the
// call, any other is part of the model's name and stays:
//
//	anthropic:claude-sonnet-4-5  asks the route of "anthropic:" for claude-sonnet-4-5
//	claude-sonnet-4-5            asks the route of "claude-"    for claude-sonnet-4-5
//	o3                           asks the route of "o3-", since a prefix with a hyphen also fits the name without it
//
// The route with the empty prefix is for all other models, and for requests that name none. Without it these fail with an
// invalid request that names the prefixes.
//
// # Alternatives
//
// They are tried in their order after a failure that passes (a transient error, a rate limit, an open breaker), and after
// others only if the route says so in Route.Also. Not after a piece of the answer was streamed, since the caller has
// seen it, and not once the context has ended. If all fail, the error is the one that promises the earliest success. The
// answer's Model says who answered.
//
// A request is sent to alternatives as it is but for the model: Messages may have what another provider does not
// understand, such as its kind of thinking, and ProviderOptions are by the names of one provider.
//
// Money: a model is priced only if the route's provider and all alternatives know its price, and its quote is, rate
// by rate, that of the dearest.
//
// A Router is safe for concurrent use if the providers are. It does not retry and starts no goroutine.
package router
