// Package openai asks OpenAI and every server that speaks its chat completions: Azure's and Ollama's compatible
// endpoints, vLLM, OpenRouter, aimock.
//
//	agent loop -> Provider.Infer -> go-openai -> exchange -> POST {BaseURL}/chat/completions
//
// The client library reads streams. Beneath it, package exchange sends the request as we encode it (the
// library leaves out a temperature of 0 and an empty tool result), remembers what the library does not pass on (status,
// Retry-After, the body of an error), bounds the answer and follows no redirect, which would take the key
// and the prompt elsewhere.
//
// What a caller can rely on:
//   - One attempt a call. A call ends with ctx and closes its connection then; without a deadline it may wait for ever.
//   - A complete answer or an error. A stream that ends without a finish reason is an error, not a short answer.
//   - A tool call is never dropped: input that is not JSON arrives as a JSON string of it, no input as {}. An id that the
//     server left out or gave twice is replaced.
//   - Cost is nil, not 0, where the price or the count of tokens is unknown. No price is guessed: someone/gpt-4o is not
//     gpt-4o, and if another model answers, or another tier, than the built-in list has, the cost is not known.
//   - Errors say at most a line of what the server said, without the key and without pieces of the prompt; an answer to a
//     rejected key is not repeated at all.
//
// Which errors: see Provider.Infer. Beyond the specification: 429 with insufficient_quota is not retryable, since
// waiting does not help; 408 and 425 are transient.
//
// Of InferRequest.ProviderOptions these are sent as they are: service_tier, reasoning_effort, parallel_tool_calls (where
// there are tools), verbosity, top_p, seed. Others are ignored, since the metadata of an input may be among them.
// reasoning_content, which some servers send, comes as thinking; it is not sent back. The protocol of chat completions
// has no mark for a failed tool: its text has to say so.
//
//	p := openai.New(openai.Config{APIKey: secret.Env("OPENAI_API_KEY")})
//	defer p.Close()
//	resp, err := p.Infer(ctx, protocol.InferRequest{
//		System:   "You are careful.",
//		Messages: []protocol.Message{protocol.NewMessage(protocol.RoleUser, protocol.TextContent("Hello"))},
//	}, nil)
package openai
