package compose

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/skelegent/skelegent-go/protocol"
)

// Instructions are what a model is told before it begins: plain data that can be kept and sent.
type Instructions struct {
	SystemPrompt string `json:"system_prompt" wire:"required"`
	// ResponseSchema is the JSON schema of what it should answer; nil for any text.
	ResponseSchema json.RawMessage `json:"response_schema,omitempty"`
	// Examples are what a user says and what the model should answer.
	Examples [][2]string `json:"examples"`
	// Metadata is any JSON, null if empty.
	Metadata json.RawMessage `json:"metadata"`
}

// NewInstructions returns instructions that are a system prompt.
func NewInstructions(prompt string) Instructions { return Instructions{SystemPrompt: prompt} }

// WithResponseSchema returns i with a schema of the answer.
func (i Instructions) WithResponseSchema(schema json.RawMessage) Instructions {
	i.ResponseSchema = schema
	return i
}

// WithExample returns i with one more example.
func (i Instructions) WithExample(user, assistant string) Instructions {
	i.Examples = append(slices.Clip(i.Examples), [2]string{user, assistant})
	return i
}

// WithMetadata returns i with metadata.
func (i Instructions) WithMetadata(metadata json.RawMessage) Instructions {
	i.Metadata = metadata
	return i
}

// MarshalJSON writes no examples as [].
func (i Instructions) MarshalJSON() ([]byte, error) {
	type plain Instructions
	i.Examples = list(i.Examples)
	return protocol.Marshal(plain(i))
}

// Limits of instructions that are read.
const (
	MaxInstructions = 4 << 20 // bytes of JSON
	MaxExamples     = 1_000
)

// UnmarshalJSON reads what MarshalJSON writes; all but the system prompt may be missing, and an example has exactly two
// texts. The error is of kind KindSerialization, or KindInvalidArgument for what is beyond the limits.
func (i *Instructions) UnmarshalJSON(raw []byte) error {
	if len(raw) > MaxInstructions {
		return ErrInvalidArgument(fmt.Sprintf("instructions of %d bytes, at most %d are taken", len(raw), MaxInstructions))
	}
	var read struct {
		SystemPrompt   string          `json:"system_prompt" wire:"required"`
		ResponseSchema json.RawMessage `json:"response_schema,omitempty"`
		Examples       [][]string      `json:"examples"`
		Metadata       json.RawMessage `json:"metadata"`
	}
	if err := protocol.Unmarshal(raw, &read); err != nil {
		return ErrSerialization(err)
	}
	if len(read.Examples) > MaxExamples {
		return ErrInvalidArgument(fmt.Sprintf("instructions with %d examples, at most %d are taken", len(read.Examples),
			MaxExamples))
	}
	next := Instructions{SystemPrompt: read.SystemPrompt, ResponseSchema: read.ResponseSchema, Metadata: read.Metadata}
	for n, e := range read.Examples {
		if len(e) != 2 {
			return ErrSerialization(fmt.Errorf("examples[%d]: expected two texts, got %d", n, len(e)))
		}
		next.Examples = append(next.Examples, [2]string{e[0], e[1]})
	}
	*i = next
	return nil
}
