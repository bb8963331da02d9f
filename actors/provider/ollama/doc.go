// Package ollama asks models that run on a machine of your own, by Ollama's native chat.
//
//	agent loop -> Provider.Infer -> exchange -> POST {BaseURL}/api/chat -> lines of JSON
//
// The native interface, not the one that is compatible with OpenAI's, since only it knows the size of the context, how
// long a model stays in memory, and thinking. It is net/http and encoding/json; Ollama's own client is not used, which
// would bring the modules of the whole server.
//
// What a caller can rely on:
//   - One attempt a call. A call ends with ctx and closes its connection then, which ends the work of the model too.
//     Without a deadline it may wait for ever; the first call of a model waits until it is loaded.
//   - A complete answer or an error: an answer that ends before the server says that it is done is an error.
//   - Calls of tools have ids. Older servers give none; then they are made here, new ones for each answer.
//   - The cost is 0, and known: it runs on your machine. What a subscription for models at ollama.com costs is not in it.
//   - Errors say at most a line of what the server said, without the key and without pieces of the prompt.
//
// Which errors: see Provider.Infer. A model that the server does not have is an invalid request that tells how to get it.
//
// Of InferRequest.ProviderOptions these are sent as they are: top_p, top_k, seed, num_ctx and stop among the options of the
// model, keep_alive and think beside them. Others are ignored, since the metadata of an input may be among them.
//
// What the interface cannot do: A model cannot be made to call a tool. ChoiceTool shows it that tool alone, ChoiceAny is
// as auto, ChoiceNone shows it no tools. Images are sent as they are, never by their address, and files not at all. There is
// no mark for a failed tool: its text has to say so. A prompt beyond the context is cut by the server, which does not say
// so; give num_ctx.
//
//	p := ollama.New(ollama.Config{Model: "qwen3:8b", Options: map[string]any{"num_ctx": 16384}})
//	defer p.Close()
//	resp, err := p.Infer(ctx, protocol.InferRequest{
//		System:   "You are careful.",
//		Messages: []protocol.Message{protocol.NewMessage(protocol.RoleUser, protocol.TextContent("Hello"))},
//	}, nil)
package ollama
