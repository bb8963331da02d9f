package tokens

import "github.com/skelegent/skelegent-go/protocol"

// bytesPerToken is the guess of protocol.Message.EstimatedTokens.
const bytesPerToken = 4

// Estimate guesses from bytes, four a token, as protocol.Message.EstimatedTokens does. It takes no memory and next to no
// time. Text in other scripts than the Latin one and dense JSON have more tokens than it says.
type Estimate struct{}

var _ Counter = Estimate{}

// Count implements Counter.
func (e Estimate) Count(req protocol.InferRequest) int {
	n := e.Messages(req.Messages...)
	if req.System != "" {
		n += perMessage + len(req.System)/bytesPerToken
	}
	for _, t := range req.Tools {
		n += perTool + (len(t.Name)+len(t.Description)+len(t.InputSchema))/bytesPerToken
	}
	if f, ok := req.ResponseFormat.(protocol.SchemaFormat); ok {
		n += (len(f.Name) + len(f.Schema)) / bytesPerToken
	}
	return n
}

// Messages implements Counter.
func (Estimate) Messages(messages ...protocol.Message) int {
	n := 0
	for _, m := range messages {
		n += m.EstimatedTokens()
	}
	return n
}

// Exact implements Counter: false.
func (Estimate) Exact() bool { return false }
