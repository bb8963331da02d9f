// Package provider is how the agent engine asks a model. Its subpackages talk to real ones (openai) or answer from a
// script (scripted).
//
//	agent loop  ->  Provider.Infer  ->  HTTP  ->  model
//
// A provider makes one attempt. Retries, their delays and their deadline belong to the agent loop, so the retries of
// client libraries are off. Providers know no bus and no actors.
package provider

import (
	"context"

	"github.com/skelegent/skelegent-go/protocol"
)

// Provider asks a model. Implementations are safe for concurrent use.
type Provider interface {
	// Infer sends req and returns the whole answer; it ends early when ctx does and closes its connection then.
	//
	// With a sink, the answer is streamed: the sink gets each piece as it arrives, from one goroutine, and last a
	// protocol.Done with what Infer returns. What is collected and what is streamed are the same answer.
	//
	// The error is a *protocol.Error of the provider family: rate limited (with RetryAfter where the provider said
	// it), transient, auth failed, content blocked, invalid request or invalid response. The response's Cost is nil
	// where the price of the model is unknown.
	Infer(ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent)) (protocol.InferResponse, error)
}

// Pricer is a provider that knows before a call whether it can price it. An agent with a money limit refuses a model
// without a price.
type Pricer interface {
	// Priced reports whether calls of model have a known cost. An empty model is the provider's default.
	Priced(model string) bool
}
