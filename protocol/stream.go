package protocol

// StreamEvent is a piece of a model's answer while it comes. The variants are the types of this package that
// implement it. Events stay inside a process and have no form on the wire.
type StreamEvent interface{ streamEvent() }

// TextDelta is more text.
type TextDelta struct{ Text string }

// ThinkingDelta is more of the model's reasoning.
type ThinkingDelta struct{ Thinking string }

// ToolCallStart is the begin of the call at Index of the answer.
type ToolCallStart struct {
	Index int
	ID    string
	Name  string
}

// ToolCallDelta is more of the input of the call at Index. The pieces together are JSON; one alone need not be.
type ToolCallDelta struct {
	Index     int
	JSONDelta string
}

// UsageEvent is the count of tokens so far.
type UsageEvent struct{ Usage TokenUsage }

// Done is the last event: the whole answer.
type Done struct{ Response InferResponse }

func (TextDelta) streamEvent()     {}
func (ThinkingDelta) streamEvent() {}
func (ToolCallStart) streamEvent() {}
func (ToolCallDelta) streamEvent() {}
func (UsageEvent) streamEvent()    {}
func (Done) streamEvent()          {}
