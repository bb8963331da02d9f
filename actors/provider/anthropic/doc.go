// Package anthropic asks Anthropic's Messages API and servers that speak it, such as aimock.
//
//	agent loop -> Provider.Infer -> anthropic-sdk-go -> exchange -> POST {BaseURL}/v1/messages
//
// The client library has the forms of requests and sends them; answers and streams are read here, strictly, since the
// library takes what has the wrong type for a guess or for nothing. Its retries, its tracing and its ways to keys,
// addresses and headers in the environment and in files are off. Beneath it, package exchange bounds the size of the answer
// and follows no redirect, which would take the key and the prompt elsewhere.
//
// What a caller can rely on:
//   - One attempt a call. A call ends with ctx and closes its connection then; without a deadline it may wait for ever.
//   - A complete answer or an error. A stream that ends before its message_stop is an error, not a short answer.
//   - A tool call is never dropped: input that is not JSON arrives as a JSON string of it, no input as {}. An id that the
//     server left out or gave twice is replaced.
//   - Thinking goes back as it came, with its signature and in its place. So do blocks of kinds that we do not know, as a
//     CustomBlock with CustomPrefix.
//   - Input tokens include those of the cache. Cost is nil, not 0, where the price or the count of tokens is unknown.
//   - Errors say at most a line of what the server said, without the key and without pieces of the prompt; an answer to a
//     rejected key is not repeated at all.
//
// How a conversation is sent, where the protocol has rules of its own:
//   - The results of tools come first in the message behind their calls, all in one; what else comes with a result is part
//     of it. A call without a result gets an error as its result, a result without a call is sent as a text: either is left
//     by a compaction, and refused otherwise. So is a conversation that begins with the assistant, before which a line of
//     the user's says that its begin is left out.
//   - System messages at the begin are system text. Later ones, such as memory, are sent as the user's, in their place and
//     within <system>: in the system text they would change what comes before the conversation, and with that lose the
//     cache and, on newer models, the thinking.
//   - Empty texts are left out, as is thinking without a signature or at the end of a message.
//   - The input of a call that is no object goes back as {"INVALID_JSON": "..."}.
//   - Files are PDFs, by themselves or by their address, or text.
//
// Which errors: see Provider.Infer. Beyond the specification, 408, 425 and 529 are transient.
//
// Of InferRequest.ProviderOptions these are sent as they are: thinking, top_p, top_k, stop_sequences, service_tier; of
// metadata its user_id, of output_config its effort. Others are ignored, since the metadata of an input may be among them.
// Of ToolSchema.Extra, strict and cache_control are sent. Of the formats of answers only a strict schema is; the others
// have no form in the protocol, so the prompt has to say what is wanted.
//
//	p := anthropic.New(anthropic.Config{APIKey: secret.Env("ANTHROPIC_API_KEY"), CachePrompt: true})
//	defer p.Close()
//	resp, err := p.Infer(ctx, protocol.InferRequest{
//		System:   "You are careful.",
//		Messages: []protocol.Message{protocol.NewMessage(protocol.RoleUser, protocol.TextContent("Hello"))},
//	}, nil)
package anthropic
