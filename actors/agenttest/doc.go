// Package agenttest is for the tests of those who build operators with this library: a model that says what the test wants, runs
// without a bus, kills, and a clock.
//
//	test  ->  Run, Durable, SurvivesKills  ->  the operator  ->  Model        a script, with assertions
//	                    |                            |      ->  Dispatcher   other operators, in the process
//	      Result: output, error, events, effects     '-------->  Clock        stands still
//
// A test that an agent looks before it leaps:
//
//	func TestLeap(t *testing.T) {
//		model := agenttest.NewModel(t,
//			agenttest.Call("look", nil),
//			agenttest.Say("I leap."),
//		)
//		r := agenttest.Run(t, newAgent(model), protocol.Text("Leap!"))
//		if r.Text() != "I leap." || model.Request(1).ToolResult("call_1").Content != "a ditch" {
//			t.Errorf("got %q, %v", r.Text(), r.Err)
//		}
//	}
//
// # Guarantees
//
// A call of a Model beyond its script fails the test and tells what was asked, and so does a step that nobody took. What an operator
// gets and gives goes through JSON as on the bus. Operators deals with errors and panics as a node does. A durable run is
// that of package steptest: what is recorded becomes events, is written, read and folded, and package run decides.
//
// SurvivesKills ends the process of a durable operator before and after everything that it records, and compares. It sees what
// goes through the kit: the answers of a Model, and what Once and Watch count. What else costs or acts, it cannot.
//
// The messages of tests that fail quote prompts, answers and inputs of tools. Keep secrets out of tests.
//
// # Concurrency
//
// A Model, a Dispatcher and a Clock are safe for concurrent use. Nothing here starts a goroutine or waits by itself: the times of
// durable runs, of Step.After and of WithTimeout are those of package time, so testing/synctest works, and Clock is for the
// rest.
//
// In an example, which has no testing.TB, give nil: then what is wrong is printed, so that the output differs.
//
// # What it is not
//
// It has no bus: that two nodes do not get into each other's way is tested there. For the kills, waits and signals of one durable
// run in detail there is package steptest, and for the answers of real models package cassette.
package agenttest
