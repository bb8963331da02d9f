package tokens

import "github.com/skelegent/skelegent-go/protocol"

// Counter says how many tokens a model reads. Counters are safe for concurrent use and do not change what they count.
type Counter interface {
	// Count returns the input tokens of a whole request: system text, messages, tools and response schema.
	Count(req protocol.InferRequest) int
	// Messages returns the tokens of messages alone.
	Messages(messages ...protocol.Message) int
	// Exact reports whether text is counted with the model's own vocabulary; false for a guess.
	Exact() bool
}

// What is counted beside text, in tokens.
const (
	perMessage = 4    // the marks around a message, as in protocol
	perTool    = 8    // the marks around a tool
	perFile    = 1000 // an image or a file, whatever its size, as in protocol
)
