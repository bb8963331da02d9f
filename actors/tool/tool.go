package tool

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/skelegent/skelegent-go/protocol"
)

// Tool is something that a model can call. Implementations are safe for concurrent use. What else a tool can say of
// itself are the roles Approver, Repeater and Spender; the tools of this package have them, others may.
type Tool interface {
	// Metadata returns the same each time.
	Metadata() protocol.ToolMetadata
	// Call does what the tool does and ends early when ctx does. The input is JSON and belongs to the tool.
	//
	// The model is told the text of the error, so it must be safe to show; protocol.ErrToolInput makes the model try
	// again with the schema before it, protocol.ErrEngineHalted ends its run. Where ctx has ended, the error may be
	// anything.
	Call(ctx context.Context, input json.RawMessage) (Result, error)
}

// Result is what a call gave. Beside an error only Cost and UnpricedCalls count.
type Result struct {
	// Output is JSON for the model, null if empty.
	Output json.RawMessage
	// Effects are declared by the tool and performed by executors after the run declared them. A protocol.Handoff ends
	// the run.
	Effects protocol.Effects
	// Cost is what was spent below the tool, in USD; nil for nothing.
	Cost *protocol.Decimal
	// UnpricedCalls counts the model calls below the tool whose price is not known.
	UnpricedCalls uint32
}

// Wrapper is a tool that stands for another and changes some of it. Roles that the wrapper itself does not have are
// looked for in what it wraps.
type Wrapper interface {
	Tool
	// Unwrap returns the tool below; the same each time.
	Unwrap() Tool
}

// as returns the outermost of t and what it wraps that has the role R.
func as[R any](t Tool) (R, bool) {
	for {
		if r, ok := t.(R); ok {
			return r, true
		}
		w, ok := t.(Wrapper)
		if !ok {
			var none R
			return none, false
		}
		t = w.Unwrap()
	}
}

// Repeater is the role of a tool that says whether a call may be made again when it is not known whether it happened. In a
// durable run, one that may not is made once at most: if the process ends meanwhile the model is told that the outcome is
// not known.
type Repeater interface {
	// Repeatable reports whether a second call with the same input does no harm.
	Repeatable() bool
}

// CanRepeat reports whether a call of t may be made again when it is not known whether it happened: no, unless t says so.
func CanRepeat(t Tool) bool {
	r, ok := as[Repeater](t)
	return ok && r.Repeatable()
}

// Alias is t under another name. Everything else is t's own.
func Alias(t Tool, name string) Tool { return alias{Tool: t, name: name} }

type alias struct {
	Tool
	name string
}

// Metadata implements Tool.
func (a alias) Metadata() protocol.ToolMetadata {
	m := a.Tool.Metadata()
	m.Name = a.name
	return m
}

// Unwrap implements Wrapper.
func (a alias) Unwrap() Tool { return a.Tool }

// maxName is the longest name that all providers take.
const maxName = 64

// CheckName returns an *protocol.Error with code invalid_input unless name is 1 to 64 of A-Z, a-z, 0-9, _ and -, which
// all providers take.
func CheckName(name string) error {
	ok := name != "" && len(name) <= maxName
	for i := 0; ok && i < len(name); i++ {
		ok = nameByte(name[i])
	}
	if !ok {
		return protocol.NewError(protocol.CodeInvalidInput,
			fmt.Sprintf("tool name %.100q: must be 1 to %d characters of A-Z, a-z, 0-9, _ and -", name, maxName))
	}
	return nil
}

func nameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}
