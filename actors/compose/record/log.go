package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/skelegent/skelegent-go/actors/run"
	"github.com/skelegent/skelegent-go/actors/step"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Step is a step of a durable run, as its log has it.
type Step struct {
	Path string
	Kind run.StepKind
	Name string
	// CallID is that of a tool's call, empty if it is not known: then it is found by the order of the steps. Input is what the tool
	// got, where the log has that.
	CallID string
	Input  json.RawMessage
	Result json.RawMessage
	Error  *protocol.Error
	// Elsewhere says that the result is not in the log, and was not fetched.
	Elsewhere bool
}

// Log is what there is to know of a durable run.
type Log struct {
	Operator protocol.OperatorID
	Input    json.RawMessage // an OperatorInput
	Model    string
	// Steps are those of the run, in any order. Steps within steps are not looked at.
	Steps []Step
	// Output is that of a run that completed, Error that of one that did not.
	Output *protocol.OperatorOutput
	Error  *protocol.Error
}

// The names of the steps of an agent.
const (
	modelStep    = "model"
	approvalStep = "approval"
)

// undecided is how a model is told that nobody decided on a call in time.
const undecided = "The call was not made: nobody decided on it in time. It was not denied."

// FromLog makes the record of a durable run of an agent. The error has the code invalid_input: the log is of no agent, or not all
// of it is there; not_found if the run has not ended.
func FromLog(log Log) (*Run, error) {
	r := &Run{Version: Version, Operator: log.Operator, Model: log.Model}
	switch {
	case log.Output == nil && log.Error == nil:
		return nil, protocol.NewError(protocol.CodeNotFound, "run record: the run has not ended")
	case len(log.Input) == 0:
		return nil, refuse("the log no longer has the input")
	}
	if err := protocol.Unmarshal(log.Input, &r.Task); err != nil {
		return nil, refuse("the input cannot be read: %v", err)
	}
	if log.Output != nil {
		r.FinalAnswer, r.ExitReason = log.Output.Message, log.Output.ExitReason
	} else {
		r.Error, r.FinalAnswer, r.ExitReason = log.Error, protocol.TextContent(""), protocol.Exit(protocol.ExitError)
	}
	b := &builder{run: r}
	steps := slices.DeleteFunc(slices.Clone(log.Steps), func(s Step) bool {
		_, err := strconv.Atoi(s.Path) // those within others have dots, those beside them more
		return err != nil
	})
	slices.SortStableFunc(steps, func(a, b Step) int { // they are numbers
		return cmp.Or(cmp.Compare(len(a.Path), len(b.Path)), cmp.Compare(a.Path, b.Path))
	})
	for _, s := range steps {
		if err := b.add(s); err != nil {
			return nil, refuse("step %.40s: %v", s.Path, err)
		}
	}
	if len(r.Turns) == 0 && log.Output != nil && log.Output.Metadata.TurnsUsed > 0 {
		return nil, refuse("the log has no model calls: it is of no agent, or no longer whole")
	}
	b.close()
	r.Asides = b.asides
	r.fill()
	return r, r.Validate()
}

// builder makes the turns of the steps, in their order.
type builder struct {
	run       *Run
	asides    []Answer
	tools     []Step // of the last turn
	decisions map[string]step.Decision
	expired   bool
}

func (b *builder) add(s Step) error {
	if s.Elsewhere && (s.Kind == run.StepModel || s.Kind == run.StepTool) {
		return fmt.Errorf("what the %s gave is kept elsewhere and was not fetched", s.Kind)
	}
	switch {
	case s.Kind == run.StepModel:
		var resp protocol.InferResponse
		if err := protocol.Unmarshal(s.Result, &resp); err != nil {
			return fmt.Errorf("it is no answer of a model: %w", err)
		}
		if s.Name != modelStep {
			b.asides = append(b.asides, answerOf(withIDs(resp)))
			return nil
		}
		b.close()
		b.run.Turns = append(b.run.Turns, Turn{Answer: answerOf(resp), Asides: b.asides})
		b.asides = nil
	case s.Kind == run.StepTool:
		b.tools = append(b.tools, s)
	case s.Kind == run.StepAwait && s.Name == approvalStep:
		if b.expired = s.Error != nil; b.expired {
			break
		}
		if err := json.Unmarshal(s.Result, &b.decisions); err != nil {
			return fmt.Errorf("it is no decision: %w", err)
		}
	}
	return nil
}

// close gives the last turn its results, in the order of its calls.
func (b *builder) close() {
	tools, decisions, expired := b.tools, b.decisions, b.expired
	b.tools, b.decisions, b.expired = nil, nil, false
	if len(b.run.Turns) == 0 {
		return
	}
	turn := &b.run.Turns[len(b.run.Turns)-1]
	for _, c := range turn.Invocations {
		decision, decided := decisions[c.ID]
		if decided && !decision.Approved {
			turn.Results = append(turn.Results, Result{
				CallID: c.ID, Name: c.Name, Output: tool.DeniedText(decision.Reason), IsError: true, Decision: &decision,
			})
			continue
		}
		i := slices.IndexFunc(tools, func(s Step) bool {
			return s.CallID == c.ID || s.CallID == "" && s.Name == c.Name
		})
		switch {
		case i >= 0:
			result := resultOf(c, tools[i])
			if decided {
				result.Decision = &decision
			}
			turn.Results = append(turn.Results, result)
			tools = slices.Delete(slices.Clone(tools), i, i+1)
		case expired && !decided:
			turn.Results = append(turn.Results, Result{
				CallID: c.ID, Name: c.Name, Output: undecided, IsError: true, Decision: &step.Decision{Reason: "nobody decided in time"},
			})
		}
	}
}

// resultOf reads what a tool's step came to. One that has only begun is left without a text.
func resultOf(c protocol.ToolCall, s Step) Result {
	var o struct {
		Text          string            `json:"output"`
		Error         *protocol.Error   `json:"error"`
		Effects       protocol.Effects  `json:"effects"`
		Cost          *protocol.Decimal `json:"cost"`
		UnpricedCalls uint32            `json:"unpriced_calls"`
		Unknown       bool              `json:"outcome_unknown"`
	}
	r := Result{CallID: c.ID, Name: c.Name}
	if json.Unmarshal(s.Result, &o) != nil {
		r.IsError, r.Unknown = true, true
		return r
	}
	r.Output, r.Error, r.IsError, r.Unknown = o.Text, o.Error, o.Error != nil, o.Unknown
	r.Effects, r.Cost, r.UnpricedCalls = o.Effects, o.Cost, o.UnpricedCalls
	if len(s.Input) > 0 && !sameJSON(s.Input, c.Input) {
		r.Input = s.Input
	}
	return r
}
