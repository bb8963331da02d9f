// Package tokens counts what a request costs in a model's context, before it is sent.
//
//	c := tokens.For("gpt-4o")
//	n := c.Count(req)
//	if window, ok := tokens.Window("gpt-4o"); ok && n > window { ... }
//
// For models of OpenAI text is counted with their own vocabularies, which are part of the program (o200k_base, cl100k_base).
// They make its file 9 MB larger, are read at the first count, which takes some 30 ms, and then hold 7 MB and 3.5 MB of
// memory; a program that never calls For does without. For all other models, and for what goes beyond a mebibyte of text
// in one call, there is the estimate of protocol: four bytes a token.
//
// Even an exact counter does not know the marks that a provider puts around messages and tools, how it counts images and
// files (here 1,000 each, as in protocol), and whitespace with line breaks in the middle may come out a few tokens too
// high. So a count is good for limits and budgets, and what is paid is what the provider says.
//
// All of it is safe for concurrent use. The time of a count grows with the length of the text and no faster, whatever is in
// it: at most 0.7 s for the longest text that is counted exactly, on one slow core.
package tokens
