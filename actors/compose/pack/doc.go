// Package pack plans what of a run's context fits into a window that is too small for all of it.
//
//	files, state, tool results, notes  ->  Item  ->  Plan  ->  Pack: what is selected, what was left out and why
//	                                                  |
//	Source, Source, ...  ------------->  Assemble  ---'-->  one message, at the beginning of an agent's run
//
// # Guarantees
//
// Items are taken in the order of their ranks, the lowest first, and those of one rank in the order in which they were given.
// The score orders nothing. An item that does not fit is left out and does not stop later ones that do. What is selected never
// has more characters than Config.MaxChars without Config.ReserveChars, separators included, nor more items than
// Config.MaxItems. The same items and the same Config give the same Pack.
//
// The characters of a text are counted once, when its Item is made. Planning allocates for what it selects and not for what
// there is to choose from: what was left out is worked out when somebody asks for it.
//
// Assemble records what it packed as a step of a durable run. A run that goes on sees the same text, whatever has become of
// the files and the state meanwhile.
//
// # Concurrency
//
// Items are values. A Pack reads the items that it was planned from, so those must not change while it is in use; otherwise it
// is safe for concurrent use. The op of Assemble is, if its sources are.
//
// # What it is not
//
// It asks no model, counts no tokens and ranks nothing: who makes the items says what comes first. It shortens no text.
//
//	memory := pack.NewItem(pack.Memory, "memory/card/alice", "alice lives in Berlin").WithScore(9.5)
//	weather := pack.NewItem(pack.ToolResult, "tool/weather/1", "Berlin is clear and cool").WithRank(1)
//	p := pack.Plan([]pack.Item{weather, memory}, pack.Config{MaxChars: 1000, MaxItems: 8})
//	p.Text() // "alice lives in Berlin\nBerlin is clear and cool"
//	for o := range p.Omitted() { log(o.Item.SourceID, o.Reason) }
package pack
