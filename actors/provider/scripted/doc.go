// Package scripted is a model whose answers are written down: for tests, demonstrations and working without a key.
//
//	p := scripted.New(
//		scripted.Step{ToolCalls: []protocol.ToolCall{{Name: "clock", Input: json.RawMessage(`{}`)}}},
//		scripted.Step{Text: "It is noon."},
//	)
//
// or from YAML, by Parse or Load. Everything but steps is optional; an unknown key is an error that names its line:
//
//	mode: match            # order or match; match if any step has a match, else order
//	model: gpt-4o-mini     # the name in answers to requests that name no model; "scripted" if absent
//	prices:                # USD per million tokens, for the cost of steps that do not say theirs
//	  gpt-4o-mini: {input: "0.15", output: "0.60", cached: "0.075"}
//	steps:
//	  - match:             # all that is given must hold
//	      last_user_contains: time   # the last message of the user has this text, case included
//	      has_tool_result: false     # whether a tool answered since then
//	      turn: 1                    # the model's turns since then, this one included
//	    text: Let me look. # may stand beside tool_calls
//	    tool_calls:
//	      - {name: clock, input: {zone: UTC}}   # input {} if absent, a string is sent as one; id made up if absent
//	    usage: {input: 100, output: 20, cached: 50, reasoning: 5}
//	    cost: "0.0001"     # USD
//	    stop_reason: tool_use   # tool_use where there are calls, else end_turn
//	    delay: 200ms       # before the answer; ends with the context of the call
//	    repeat: 3          # see below
//	  - error:             # in place of an answer
//	      status: 429      # an HTTP status as a server would send it, or
//	      code: rate_limited    # transient, rate_limited, auth_failed, content_blocked, invalid_request,
//	                            # invalid_response, or one of protocol's codes
//	      message: slow down
//	      retry_after: 2s
//
// In order, each call takes the next step; a step with repeat takes that many calls, all that come if it is negative. When
// the steps are used up, calls fail with an invalid request that says how many there were. Matching, a call takes the
// first step whose match fits, a step without one fits always; a step with a positive repeat takes only so many calls; a
// call that nothing fits fails.
//
// Made up ids are the same in each run of a program. With a sink the answer is streamed in pieces of a few
// characters. A Provider counts its calls and keeps the last 1,000 requests for assertions; it is safe for
// concurrent use, and which of two simultaneous calls gets which step is open.
package scripted
