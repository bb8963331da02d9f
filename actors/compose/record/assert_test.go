package record_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skelegent/skelegent-go/actors/compose/record"
	"github.com/skelegent/skelegent-go/protocol"
)

func answer(text string, calls ...protocol.ToolCall) record.Answer {
	return record.Answer{
		Output: protocol.NewMessage(protocol.RoleAssistant, protocol.TextContent(text)), Invocations: calls, StopReason: protocol.StopEndTurn,
	}
}

// oneCall is a run whose only tool said output.
func oneCall(task, output, final string) *record.Run {
	return &record.Run{
		Version: 1, Task: protocol.Text(task), FinalAnswer: protocol.TextContent(final),
		Turns: []record.Turn{
			{
				Answer:  answer("", protocol.ToolCall{ID: "1", Name: "look", Input: json.RawMessage(`{"q":"sea level"}`)}),
				Results: []record.Result{{CallID: "1", Name: "look", Output: output}},
			},
			{Answer: answer(final)},
		},
	}
}

func TestAGroundedAnswerHasWhatAToolReturned(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		task, output, final string
		grounded            bool
	}{
		"a word":                 {"weather in Berlin?", `{"sky":"Drizzle"}`, "There is drizzle.", true},
		"a number":               {"how warm?", `{"celsius":11.5}`, "It is 11.5 degrees.", true},
		"part of a number":       {"how warm?", `{"celsius":11.5}`, "It is 111.57 degrees.", false},
		"one digit":              {"how many?", `{"n":7}`, "There are 7.", false},
		"a text":                 {"who?", "The owner is Tom Bombadil.", "Bombadil owns it.", true},
		"only what was asked":    {"Is Berlin nice?", `{"city":"Berlin"}`, "Berlin is nice.", false},
		"only what a call asked": {"look!", `{"about":"sea level"}`, "The sea level rises.", false},
		"only a key":             {"?", `{"temperature":null}`, "The temperature is fine.", false},
		"only common words":      {"?", "the result was found", "The result was found.", false},
		"made up":                {"?", `{"sky":"drizzle"}`, "There is sunshine.", false},
		"without spaces":         {"天气?", `{"sky":"毛毛雨天"}`, "今天是毛毛雨天了", true},
		"asked without spaces":   {"北京天气?", `{"city":"北京"}`, "北京很好", false},
		"nothing":                {"?", "", "Something.", false},
		"a date":                 {"?", `{"day":"2026-05-17"}`, "On 2026-05-17.", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := record.Check(oneCall(test.task, test.output, test.final), record.FinalAnswerGrounded())
			if (err == nil) != test.grounded {
				t.Errorf("got %v", err)
			}
		})
	}
	failed := oneCall("?", "drizzle", "drizzle")
	failed.Turns[0].Results[0].IsError = true
	if record.Check(failed, record.FinalAnswerGrounded()) == nil {
		t.Error("a failure grounds an answer")
	}
}

func TestAssertions(t *testing.T) {
	t.Parallel()
	good := func() *record.Run { return oneCall("?", "drizzle", "It is drizzle.") }
	change := func(f func(r *record.Run)) *record.Run {
		r := good()
		f(r)
		return r
	}
	complete, custom := record.ExitIs(protocol.Exit(protocol.ExitComplete)), record.ExitIs(protocol.CustomExit("stuck"))
	for name, test := range map[string]struct {
		run  *record.Run
		is   record.Assertion
		want string
	}{
		"normalized":      {good(), record.ModelOutputNormalized(), ""},
		"no call":         {change(func(r *record.Run) { r.Turns = r.Turns[1:] }), record.ModelOutputNormalized(), "the model asked for no call"},
		"unread call":     {change(func(r *record.Run) { r.Turns[1].Answer = answer("<|tool_call_start|>[f()]<|tool_call_end|>") }), record.ModelOutputNormalized(), "turn 2 has a call in its text that was not read"},
		"input of a text": {change(func(r *record.Run) { r.Turns[0].Invocations[0].Input = json.RawMessage(`"x"`) }), record.ModelOutputNormalized(), "turn 1 has a call that no tool understands"},
		"dispatched":      {good(), record.ToolDispatched("look"), ""},
		"any":             {good(), record.ToolDispatched(""), ""},
		"another":         {good(), record.ToolDispatched("see"), `the tool "see" was not called`},
		"skipped":         {change(func(r *record.Run) { r.Turns[0].Results[0].Skipped = true }), record.ToolDispatched(""), "no tool was called"},
		"unknown tool":    {change(func(r *record.Run) { r.Turns[0].Results[0].Error = protocol.ErrToolNotFound("look") }), record.ToolDispatched("look"), `the tool "look" was not called`},
		"complete":        {good(), complete, ""},
		"not complete":    {change(func(r *record.Run) { r.ExitReason = protocol.CustomExit("stuck") }), complete, "the run ended as custom: stuck, not as complete"},
		"custom":          {change(func(r *record.Run) { r.ExitReason = protocol.CustomExit("stuck") }), custom, ""},
		"no output":       {change(func(r *record.Run) { r.Error = protocol.ErrToolFailed("x") }), complete, "the run has no output, but the error tool_error"},
		"few turns":       {good(), record.MaxTurns(2), ""},
		"many turns":      {good(), record.MaxTurns(1), "the run took 2 turns, more than 1"},
		"no errors":       {good(), record.NoErrors(), ""},
		"an error":        {change(func(r *record.Run) { r.Turns[0].Results[0].IsError = true }), record.NoErrors(), `turn 1: a call of "look" failed`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := record.Check(test.run, test.is)
			var failed *record.AssertionError
			switch {
			case test.want == "" && err != nil, test.want != "" && (!errors.As(err, &failed) || failed.Error() != test.is.Name+": "+test.want):
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestFailuresAreJoinedAndWhatPassedIsKeptInOrder(t *testing.T) {
	t.Parallel()
	r := oneCall("?", "drizzle", "Sun.")
	r.PassedAssertions = []string{"old"}
	mine := record.Assertion{Name: "mine", True: func(r *record.Run) error { return nil }}
	err := record.Check(r, mine, record.FinalAnswerGrounded(), record.ToolDispatched("look"), record.MaxTurns(0), record.ModelOutputNormalized())
	if d := cmp.Diff([]string{"mine", "tool-dispatched", "model-output-normalized"}, r.PassedAssertions); d != "" {
		t.Error(d)
	}
	want := "final-answer-grounded: the answer has nothing that a tool returned\nmax-turns: the run took 2 turns, more than 0"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
