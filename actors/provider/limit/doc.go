// Package limit keeps the agents of one node within what a provider allows, and away from a provider that is down.
//
//	agents -> Breaker -> New: queue of the model -> Provider.Infer
//
// # Limits
//
// New counts requests and tokens a minute and calls at a time, for each model of a provider. Tokens are reserved before a call
// (an estimate of the input and the longest answer) and corrected by what the provider counted after it. When the provider
// refuses a call (HTTP 429), no call of that model goes out before the time that it asked for, so that not every agent runs
// into the same wall.
//
//	p = limit.New(p, limit.Config{
//		Default: limit.Limits{Requests: 50, Tokens: 40_000, Concurrent: 8},
//		Models:  map[string]limit.Limits{"claude-opus-4-1": {Requests: 10, Tokens: 20_000}},
//	})
//
// What a caller can rely on:
//   - First come, first served, for each model. A large call at the head is not overtaken by small ones.
//   - A wait ends with the context of the call. A call whose turn cannot come before its deadline fails at once with a rate
//     limited error whose RetryAfter says when its turn would have come, and so does one for which the queue has no room.
//   - A call that gives up while it waits takes nothing with it; one that panics gives its place back.
//   - Nothing from outside stops a model for long: a pause is at most Config.MaxPause, a debt of tokens ten minutes.
//
// A minute's allowance may be used at once and fills evenly, as the providers themselves count. Limits are for all agents that
// share the provider that New returned, or the Limiter in Config. They are of this process: on several nodes each gets a
// share of the account's limits, until there is a Limiter that the nodes share.
//
// # Breaker
//
// Breaker stops asking a provider that failed several times in a row, and lets single calls try it again after a while.
// Put it outside the limits, so that calls of a provider that is down do not queue:
//
//	p = limit.Breaker(limit.New(p, limits), limit.BreakerConfig{Name: "openai"})
//
// Neither retries: that belongs to the agent loop, which waits for RetryAfter. Everything here is safe for concurrent use
// and starts no goroutine.
package limit
