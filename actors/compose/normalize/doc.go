// Package normalize reads the calls of tools from what models answer, whether they write them as text or as the JSON of a
// provider.
//
//	text with markers       ->  LFM.Parse, Stream  -.
//	Responses               ->  OpenAIResponses      >  []protocol.ToolCall  ->  tools  ->  the model's next turn
//	Chat Completions        ->  ChatCompletions     /
//	content blocks          ->  Anthropic         -'
//	any of them             ->  Any, Normalize
//
//	calls, text, err := normalize.LFM{}.Parse(answer)
//	if err != nil {
//		var at *normalize.SyntaxError
//		if errors.As(err, &at) {
//			fmt.Println("line", at.Line, "column", at.Column, at.Reason)
//		}
//		return err
//	}
//	for _, c := range calls {
//		result, err := tools.Invoke(ctx, c.Name, c.Input)
//		...
//	}
//
// # Guarantees
//
// What is read is never guessed: what could be meant in two ways is an error, which says where it is. A message is read as a whole
// or not at all, but for Stream, whose calls come as their blocks are complete. Calls keep their order and the ids that the
// provider gave; those that had none, as all that are written as text, have an empty one. Names are those of
// compose.IsIdentifier, and inputs are JSON in which no object has a key twice.
//
// Every error is of the kind compose.KindNormalizerFailed. Its cause is a *SyntaxError, with an offset, a line and a column, for
// text and for what is no JSON at all, and a *PathError for JSON that is no call, such as
// choices[0].message.tool_calls[1].function.arguments. Neither has more of what the model wrote than a short name.
//
// The time is linear in the length of the input, whatever is in it, and nothing panics. See the constants for the limits.
//
// # Concurrency
//
// The functions and LFM are safe for concurrent use. A Stream belongs to one goroutine.
//
// # What it is not
//
// It calls no tool and knows no model. It does not look for markers in the texts within JSON of a provider: give LFM the text, or
// put middleware.TextCalls around the provider.
package normalize
