package record

import (
	"encoding/json"

	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/protocol"
)

// Version is that of the files that Encode writes, and the only one that Decode reads.
const Version = 1

// Run is one run of an agent.
type Run struct {
	Version  int                 `json:"version"`
	Operator protocol.OperatorID `json:"operator,omitempty"`
	// Task is what the agent was asked to do, Model what it asks by default.
	Task  protocol.OperatorInput `json:"task"`
	Model string                 `json:"model"`
	Turns []Turn                 `json:"turns"`
	// Asides are the model calls that rules made behind the last turn.
	Asides []Answer `json:"asides,omitempty"`
	// FinalAnswer is the message of the output, and ExitReason why the run ended. Error is that of a run without an output.
	FinalAnswer protocol.Content    `json:"final_answer"`
	ExitReason  protocol.ExitReason `json:"exit_reason"`
	Error       *protocol.Error     `json:"error,omitempty"`
	// Failure is that of the last model call, where no answer came any more.
	Failure *protocol.Error `json:"failure,omitempty"`
	// PassedAssertions are the names of those that Check found true, in their order.
	PassedAssertions []string `json:"passed_assertions"`
}

// Answer is what a model said in one call.
type Answer struct {
	// Output is the message without the calls, which are Invocations.
	Output      protocol.Message    `json:"output"`
	Invocations []protocol.ToolCall `json:"invocations"`
	StopReason  protocol.StopReason `json:"stop_reason"`
	Model       string              `json:"model"`
	Usage       protocol.TokenUsage `json:"usage"`
	// Cost is in USD, null if the price is not known.
	Cost *protocol.Decimal `json:"cost"`
}

// Turn is an answer and what its calls came to.
type Turn struct {
	Answer

	// Asides are the model calls that rules made before it.
	Asides []Answer `json:"asides,omitempty"`
	// Results are in the order in which the model was shown them. A call without a result was not made, or the record does not
	// know.
	Results []Result `json:"results"`
}

// Result is what one call came to.
type Result struct {
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	// Input is what the tool got, where that is not the input of the invocation.
	Input json.RawMessage `json:"input,omitempty"`
	// Output is what the model was told, and IsError that it is a failure. Error is the tool's.
	Output  string          `json:"output"`
	IsError bool            `json:"is_error"`
	Error   *protocol.Error `json:"error,omitempty"`
	// Skipped says that a rule kept the call from being made; Decision what a person said of it.
	Skipped  bool           `json:"skipped,omitempty"`
	Decision *step.Decision `json:"decision,omitempty"`
	// Unknown says that the process ended while the call was made.
	Unknown bool `json:"outcome_unknown,omitempty"`

	Effects       protocol.Effects  `json:"effects,omitempty"`
	Cost          *protocol.Decimal `json:"cost,omitempty"`
	UnpricedCalls uint32            `json:"unpriced_calls,omitempty"`
}

// Made reports whether the tool was called.
func (r Result) Made() bool { return !r.Skipped && (r.Decision == nil || r.Decision.Approved) }

// Answer returns the text of the final answer, empty if it has none.
func (r *Run) Answer() string {
	text, _ := r.FinalAnswer.AsText()
	return text
}

// Results returns those of all turns, in their order.
func (r *Run) Results() []Result {
	var all []Result
	for _, t := range r.Turns {
		all = append(all, t.Results...)
	}
	return all
}

// answerOf is an answer as it is kept.
func answerOf(resp protocol.InferResponse) Answer {
	a := Answer{
		Invocations: resp.ToolCalls, StopReason: resp.StopReason, Model: resp.Model, Usage: resp.Usage, Cost: resp.Cost,
		Output: protocol.NewMessage(protocol.RoleAssistant, resp.Content),
	}
	if a.StopReason == "" {
		a.StopReason = protocol.StopEndTurn
	}
	if a.Invocations == nil {
		a.Invocations = []protocol.ToolCall{}
	}
	return a
}

// response is the answer as a provider gives it.
func (a Answer) response() protocol.InferResponse {
	return protocol.InferResponse{
		Content: a.Output.Content, ToolCalls: a.Invocations, StopReason: a.StopReason, Model: a.Model, Usage: a.Usage, Cost: a.Cost,
	}
}

// invocation returns a call of the answer.
func (a Answer) invocation(id string) (protocol.ToolCall, bool) {
	for _, c := range a.Invocations {
		if c.ID == id {
			return c, true
		}
	}
	return protocol.ToolCall{}, false
}

// result returns what a call came to, nil if that is not known.
func (t *Turn) result(id string) *Result {
	for i := range t.Results {
		if t.Results[i].CallID == id {
			return &t.Results[i]
		}
	}
	return nil
}
