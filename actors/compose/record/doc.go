// Package record keeps a run of an agent as a file: what was asked, what the model answered, what the tools said, how it ended.
// Such a file can be checked, compared, and played again without a model and without tools.
//
//	an agent in this process  ->  Recorder  ->  Run  ->  Check(assertions)     what must be true of it
//	the log of a durable run  ->  FromLog   ->   |   ->  Replay(agent.Config)  does this agent still do the same?
//	                                             '-->  JSON, with a version
//
// # Guarantees
//
// Replay asks no model and calls no tool: the agent gets the recorded answers and results, in their order, and is stopped where
// it does something else. What differs is said exactly, by the turn, the call, and what was wanted and came. Decode reads
// what Encode writes and nothing else: an unknown member, another version, a result without its call, or more than the
// limits is an error.
//
// A recorder sees the answers as the model gave them and the results as the tools gave them, before the agent's rules change
// either, since rules run again at a replay.
//
// # What a log does not have
//
// The log of a durable run has no results of calls that a rule skipped, and no input of repeatable calls whose input a rule
// changed: such a result is missing in the record, and a replay takes what the rules do. It has no failures of the model, so
// they follow from how the run ended. What was said to the run meanwhile is in none of the records.
//
// # Concurrency
//
// A Run is plain data. A Recorder is safe for concurrent use and records one run at a time.
//
// # What it is not
//
// It does not compare what the model was shown: a changed prompt is no difference while the agent does the same. What an agent's
// rules and Assemble do outside by themselves, a replay does, too. It is no cassette of HTTP; see package cassette for that.
// Files hold prompts, answers and results as they were: keep secrets out of them.
//
//	rec := record.New("assistant")
//	out, err := rec.Execute(ctx, cfg, protocol.Text("What is the weather in Berlin?"))
//	run := rec.Run()
//	err = record.Check(run, record.ModelOutputNormalized(), record.ToolDispatched("get_weather"), record.FinalAnswerGrounded())
//	difference, err := record.Replay(ctx, run, cfg)
package record
