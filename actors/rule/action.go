package rule

import "encoding/json"

// Action is what a hook wants. The zero value is Continue.
type Action struct {
	kind   actionKind
	reason string
	input  json.RawMessage
}

type actionKind uint8

const (
	proceed actionKind = iota
	halt
	modify
	skip
)

// Continue goes on.
func Continue() Action { return Action{} }

// Halt ends the run as interceptor_halt.
func Halt(reason string) Action { return Action{kind: halt, reason: reason} }

// ModifyInput has a tool called with another input. It is for BeforeToolCall alone.
func ModifyInput(input json.RawMessage) Action { return Action{kind: modify, input: input} }

// Skip has a call not made and the model told result instead, or what was said to the run not taken in. It is for BeforeToolCall and
// BeforeSteeringInject alone.
func Skip(result string) Action { return Action{kind: skip, reason: result} }

func (k actionKind) String() string {
	return [...]string{"continue", "halt", "modify_input", "skip"}[k]
}
