// Package responses asks OpenAI by its Responses API, and servers that speak it too. It is the way to models that reason:
// their reasoning is kept from one turn to the next.
//
//	agent loop -> Provider.Infer -> exchange -> POST {BaseURL}/responses -> an object, or events (SSE)
//
// The names and types of the interface are those of go-openai, which package openai uses anyway and which knows all of the
// events; the official client library has no more of what is needed here and brings six modules. Neither sends the request
// or reads the stream: their types of answers refuse an answer for a detail that nobody asked for, and one of go-openai
// lacks the encrypted reasoning. So the few fields that count are decoded here, by one code for whole and for streamed
// answers.
//
// What a caller can rely on:
//   - Nothing is stored by the server (store is false): each call sends the whole conversation.
//   - Reasoning comes as a ThinkingBlock with its summary, which is empty unless the option reasoning asks for one, and
//     with the encrypted reasoning as its signature. Sent back, it stands again before what followed it. Thinking of other
//     providers, and what came without encrypted content, is not sent.
//   - One attempt a call. A call ends with ctx and closes its connection then; without a deadline it may wait for ever.
//   - A complete answer or an error. A stream that ends without an event that says how is an error, not a short answer.
//   - A tool call is never dropped: input that is not JSON arrives as a JSON string of it, no input as {}. An id that the
//     server left out or gave twice is replaced.
//   - Cost is nil, not 0, where the price, the tier or the count of tokens is unknown.
//   - Errors say at most a line of what the server said, without the key and without pieces of the prompt; an answer to a
//     rejected key is not repeated at all.
//
// Which errors: see Provider.Infer. Events and items of kinds that are not known are skipped.
//
// Of InferRequest.ProviderOptions these are sent as they are: reasoning ({"effort": "low", "summary": "auto"}),
// service_tier, top_p, verbosity, parallel_tool_calls (where there are tools). Others are ignored, since the metadata of an
// input may be among them. Encrypted reasoning is asked for where the name of the model is one of OpenAI's that reason, or
// the option reasoning is given: others refuse it. Tools are not strict unless their Extra is {"strict": true}.
//
// Several messages in one answer are several text blocks. Their phase (commentary or final answer), which the newest models
// like to have back, is lost. The interface has no mark for a failed tool: its text has to say so.
//
//	p := responses.New(responses.Config{APIKey: secret.Env("OPENAI_API_KEY"), Model: "gpt-5-mini"})
//	defer p.Close()
//	resp, err := p.Infer(ctx, protocol.InferRequest{
//		System:   "You are careful.",
//		Messages: []protocol.Message{protocol.NewMessage(protocol.RoleUser, protocol.TextContent("Hello"))},
//	}, nil)
package responses
