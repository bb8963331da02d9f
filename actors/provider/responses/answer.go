package responses

import (
	"context"
	"io"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
	"github.com/skelegent/skelegent-go/protocol"
)

// answer is what has come so far, at once or in pieces; both by the same way.
type answer struct {
	sink    func(protocol.StreamEvent) // nil for an answer at once
	outputs []*output                  // in the order in which they began
	byIndex map[int]*output
	calls   int // that have begun
	ids     exchange.IDs
	final   response
}

// output is an item of the output as far as it has come.
type output struct {
	kind string
	text strings.Builder // a message, the arguments of a call, or thinking
	last partID          // of thinking, that text ended with

	refused  bool
	id, name string // of a call
	number   int    // of a call, -1 until it has begun
	secret   reasoning
}

// partID tells parts of thinking apart.
type partID struct {
	shown bool // no summary, but the reasoning itself
	index int
}

func newAnswer(sink func(protocol.StreamEvent)) *answer {
	return &answer{sink: sink, byIndex: map[int]*output{}}
}

func (a *answer) emit(ev protocol.StreamEvent) {
	if a.sink != nil {
		a.sink(ev)
	}
}

// read takes an answer that comes at once. Its error is an *Error.
func (a *answer) read(ctx context.Context, ex *exchange.Exchange, body io.Reader) error {
	raw, err := io.ReadAll(body)
	if err != nil {
		return ex.Failure(ctx, err)
	}
	var r response
	if err := exchange.Unmarshal(raw, &r); err != nil {
		return ex.Failure(ctx, err)
	}
	if r.Status == "" { // some send errors with status 200
		if said := ex.Report(); !said.Empty() {
			return ex.Reported(said)
		}
	}
	return a.end(ex, r)
}

// end takes the last that comes: how the answer ended, and its output as far as that is not there yet.
func (a *answer) end(ex *exchange.Exchange, r response) error {
	switch r.Status {
	case goopenai.ResponseStatusCompleted, goopenai.ResponseStatusIncomplete:
	case goopenai.ResponseStatusFailed:
		return ex.Reported(readError(r.Error))
	case goopenai.ResponseStatusQueued, goopenai.ResponseStatusInProgress, goopenai.ResponseStatusCancelling,
		goopenai.ResponseStatusCancelled:
		return protocol.ErrProviderTransient("the server ended with a response that is not complete", 0)
	default:
		return protocol.ErrInvalidResponse("a response without a status that is known")
	}
	streamed := len(a.outputs) > 0
	for i, it := range r.Output {
		if known := a.byIndex[i]; streamed && (known == nil || known.kind != it.Type) {
			continue // counted in another way than the events
		}
		if err := a.take(i, it); err != nil {
			return err
		}
	}
	for _, o := range a.outputs {
		if o.kind == itemCall && o.number < 0 {
			return protocol.ErrInvalidResponse("a tool call without a name")
		}
	}
	a.final = r
	return nil
}

// at returns the output at index, a new one if there is none.
func (a *answer) at(index int, kind string) (*output, error) {
	o, ok := a.byIndex[index]
	if !ok && len(a.outputs) >= exchange.MaxParts {
		return nil, exchange.TooManyParts()
	}
	if !ok {
		o = &output{kind: kind, number: -1}
		a.byIndex[index] = o
		a.outputs = append(a.outputs, o)
	}
	if o.kind != kind {
		return nil, protocol.ErrInvalidResponse("pieces of different items in the same place")
	}
	return o, nil
}

// take adds what it says beyond what was there: an item that begins, or is whole.
func (a *answer) take(index int, it item) error {
	if it.Type != itemMessage && it.Type != itemCall && it.Type != itemReasoning {
		return nil
	}
	o, err := a.at(index, it.Type)
	if err != nil {
		return err
	}
	for _, p := range it.Content {
		o.refused = o.refused || p.Refusal != ""
	}
	if it.EncryptedContent != "" {
		o.secret = reasoning{Type: itemReasoning, ID: it.ID, Summary: it.Summary, EncryptedContent: it.EncryptedContent}
	}
	a.begin(o, it.CallID, it.Name)
	if rest, ok := strings.CutPrefix(it.text(), o.text.String()); ok { // else what was streamed counts
		a.extend(o, rest)
	}
	return nil
}

// begin begins a call once its name is known, with the arguments that came before.
func (a *answer) begin(o *output, id, name string) {
	if o.kind != itemCall || o.number >= 0 || name == "" {
		return
	}
	o.id, o.name, o.number = a.ids.Take(id), name, a.calls
	a.calls++
	a.emit(protocol.ToolCallStart{Index: o.number, ID: o.id, Name: o.name})
	if early := o.text.String(); early != "" {
		a.emit(protocol.ToolCallDelta{Index: o.number, JSONDelta: early})
	}
}

// extend adds a piece of text.
func (a *answer) extend(o *output, piece string) {
	if piece == "" {
		return
	}
	o.text.WriteString(piece)
	switch {
	case o.kind == itemMessage:
		a.emit(protocol.TextDelta{Text: piece})
	case o.kind == itemReasoning:
		a.emit(protocol.ThinkingDelta{Thinking: piece})
	case o.number >= 0:
		a.emit(protocol.ToolCallDelta{Index: o.number, JSONDelta: piece})
	}
}
