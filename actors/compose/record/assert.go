package record

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/protocol"
)

// Assertion is something that must be true of a run. True returns what is wrong, nil if nothing is; it changes nothing.
type Assertion struct {
	Name string
	True func(r *Run) error
}

// AssertionError says that something is not true of a run.
type AssertionError struct {
	Name string
	err  error
}

// Error names the assertion and says what is wrong.
func (e *AssertionError) Error() string { return e.Name + ": " + e.err.Error() }

// Unwrap returns what is wrong.
func (e *AssertionError) Unwrap() error { return e.err }

// Check looks whether all of them are true, and keeps the names of those that are in the run, in their order, in place of those
// that are there. The error joins an *AssertionError for each that is not.
func Check(r *Run, assertions ...Assertion) error {
	passed, failed := []string{}, []error(nil)
	for _, a := range assertions {
		if err := a.True(r); err != nil {
			failed = append(failed, &AssertionError{a.Name, err})
			continue
		}
		passed = append(passed, a.Name)
	}
	r.PassedAssertions = passed
	return errors.Join(failed...)
}

// The names of the assertions of this package.
const (
	NameModelOutputNormalized = "model-output-normalized"
	NameToolDispatched        = "tool-dispatched"
	NameFinalAnswerGrounded   = "final-answer-grounded"
	NameExit                  = "exit"
	NameMaxTurns              = "max-turns"
	NameNoErrors              = "no-errors"
)

// markers are how models write calls that nobody has read.
var markers = []string{"<|tool_call_start|>", "<|tool_call_end|>", "<tool_call>", "</tool_call>", "[TOOL_CALLS]", "<function_calls>"}

// ModelOutputNormalized is true if the model asked for a call at least, every call has a name that tools may have and an input
// that is an object, and nothing that the model said still has the marker of a call that was not read.
func ModelOutputNormalized() Assertion {
	return Assertion{NameModelOutputNormalized, func(r *Run) error {
		calls := 0
		for i, t := range r.Turns {
			for _, c := range t.Invocations {
				calls++
				v, ok := valueOf(c.Input)
				if _, object := v.(map[string]any); !compose.IsIdentifier(c.Name) || !ok || !object {
					return fmt.Errorf("turn %d has a call that no tool understands", i+1)
				}
			}
			text := t.Output.Text()
			if slices.ContainsFunc(markers, func(m string) bool { return strings.Contains(text, m) }) {
				return fmt.Errorf("turn %d has a call in its text that was not read", i+1)
			}
		}
		if calls == 0 {
			return errors.New("the model asked for no call")
		}
		return nil
	}}
}

// ToolDispatched is true if a tool of that name was called, whatever it came to; any tool if name is empty.
func ToolDispatched(name string) Assertion {
	return Assertion{NameToolDispatched, func(r *Run) error {
		for _, x := range r.Results() {
			missing := x.Error != nil && errors.Is(x.Error, &protocol.Error{Kind: protocol.KindToolNotFound})
			if x.Made() && !missing && (name == "" || x.Name == name) {
				return nil
			}
		}
		if name == "" {
			return errors.New("no tool was called")
		}
		return fmt.Errorf("the tool %.80q was not called", name)
	}}
}

// ExitIs is true if the run ended so. The details of a halt or a stop are compared where reason has some.
func ExitIs(reason protocol.ExitReason) Assertion {
	return Assertion{NameExit, func(r *Run) error {
		same := r.ExitReason.Kind() == reason.Kind() && (reason.Detail() == "" || r.ExitReason.Detail() == reason.Detail())
		switch {
		case r.Error != nil:
			return fmt.Errorf("the run has no output, but the error %s", r.Error.Code)
		case !same:
			return fmt.Errorf("the run ended as %.80s, not as %.80s", r.ExitReason, reason)
		}
		return nil
	}}
}

// MaxTurns is true if the run took no more turns.
func MaxTurns(n int) Assertion {
	return Assertion{NameMaxTurns, func(r *Run) error {
		if len(r.Turns) > n {
			return fmt.Errorf("the run took %d turns, more than %d", len(r.Turns), n)
		}
		return nil
	}}
}

// NoErrors is true if no call failed, was refused or has an outcome that is not known, and the run has an output.
func NoErrors() Assertion {
	return Assertion{NameNoErrors, func(r *Run) error {
		if r.Error != nil {
			return fmt.Errorf("the run ended with the error %s", r.Error.Code)
		}
		for i, t := range r.Turns {
			for _, x := range t.Results {
				if x.IsError || x.Unknown {
					return fmt.Errorf("turn %d: a call of %.80q failed", i+1, x.Name)
				}
			}
		}
		return nil
	}}
}
