package agenttest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/skelegent/skelegent-go/actors/provider/scripted"
	"github.com/skelegent/skelegent-go/protocol"
)

// Step is what a Model does in one call, or in one call each. Its methods return a changed copy, so that a step reads as one
// line:
//
//	agenttest.Say("Let me look.").And("clock", nil).Costs("0.01")
type Step struct{ steps []scripted.Step }

// What an answer takes unless Step.Usage says otherwise, in tokens.
const (
	DefaultInputTokens  = 10
	DefaultOutputTokens = 5
)

// Say answers with a text.
func Say(text string) Step {
	return Step{steps: []scripted.Step{{
		Text: text, Usage: protocol.TokenUsage{InputTokens: DefaultInputTokens, OutputTokens: DefaultOutputTokens}, Repeat: 1,
	}}}
}

// Call answers with the call of a tool. See And for its input.
func Call(tool string, input any) Step { return Say("").And(tool, input) }

// Fail fails with err, which should be of the provider family, such as protocol.ErrRateLimited, as with a real provider.
func Fail(err error) Step { return Step{steps: []scripted.Step{{Err: err, Repeat: 1}}} }

// Scripted is a step as package scripted has it. Its Repeat of 0 is one call here.
func Scripted(s scripted.Step) Step {
	s.Repeat = max(1, s.Repeat)
	return Step{steps: []scripted.Step{s}}
}

// When has calls take the steps, each of them, only where match fits. Steps that have a match of their own already keep that.
func When(match Match, steps ...Step) Step {
	var all Step
	for _, s := range steps {
		all.steps = append(all.steps, s.steps...)
	}
	return all.with(func(s *scripted.Step) {
		if s.Match == nil {
			s.Match = &match
		}
	})
}

// And adds the call of a tool to an answer. The input is marshalled, nil is {}, and a json.RawMessage is sent as it is, also where
// it is no JSON. And panics if there is no JSON of the input.
//
// The calls of a script have the ids call_1, call_2 and so on, unless ID says otherwise; those of a step that many calls take
// have others.
func (s Step) And(tool string, input any) Step {
	raw, ok := input.(json.RawMessage)
	if !ok && input != nil {
		var err error
		if raw, err = protocol.Marshal(input); err != nil {
			panic(fmt.Sprintf("agenttest: input of %s: %v", tool, err))
		}
	}
	return s.with(func(s *scripted.Step) {
		s.ToolCalls = append(slices.Clip(s.ToolCalls), protocol.ToolCall{Name: tool, Input: raw})
	})
}

// ID names the last call of the answer.
func (s Step) ID(id string) Step {
	return s.with(func(s *scripted.Step) {
		if n := len(s.ToolCalls); n > 0 {
			s.ToolCalls = slices.Clone(s.ToolCalls)
			s.ToolCalls[n-1].ID = id
		}
	})
}

// Usage says how many tokens the call took.
func (s Step) Usage(input, output uint64) Step {
	return s.with(func(s *scripted.Step) { s.Usage = protocol.TokenUsage{InputTokens: input, OutputTokens: output} })
}

// Costs says what the call cost in USD, a decimal, whatever Model.WithPrice says. It panics if usd is none.
func (s Step) Costs(usd string) Step {
	cost := protocol.MustDecimal(usd)
	return s.with(func(s *scripted.Step) { s.Cost = &cost })
}

// Stopped says why the model stopped, such as protocol.StopMaxTokens.
func (s Step) Stopped(reason protocol.StopReason) Step {
	return s.with(func(s *scripted.Step) { s.StopReason = reason })
}

// After has the call take d, of the time of package time; it ends early with the context of the call.
func (s Step) After(d time.Duration) Step { return s.with(func(s *scripted.Step) { s.Delay = d }) }

// Times has n calls take the step, one after the other; less than 1 is 1.
func (s Step) Times(n int) Step { return s.with(func(s *scripted.Step) { s.Repeat = max(1, n) }) }

// Always has every call take the step that comes so far. It need not be used at all.
func (s Step) Always() Step { return s.with(func(s *scripted.Step) { s.Repeat = 0 }) }

func (s Step) with(change func(*scripted.Step)) Step {
	s.steps = slices.Clone(s.steps)
	for i := range s.steps {
		change(&s.steps[i])
	}
	return s
}

// Match says which calls a step is for; all that it says must hold.
type Match = scripted.Match

// LastUser fits where the last message of the user has text in it, case included.
func LastUser(text string) Match { return Match{LastUserContains: text} }

// Asked fits where fits returns true. It is called one at a time.
func Asked(fits func(Request) bool) Match {
	return Match{Func: func(req protocol.InferRequest) bool { return fits(Request{InferRequest: req}) }}
}
