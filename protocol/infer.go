package protocol

import "encoding/json"

// InferRequest is what a provider is asked: one model call. It stays inside a process and has no form on the wire.
type InferRequest struct {
	Model       string // empty for the provider's default
	Messages    []Message
	Tools       []ToolSchema
	MaxTokens   *uint32  // nil for the provider's default
	Temperature *float64 // nil for the provider's default
	System      string   // empty for none
	// ToolChoice is the model's own choice if nil.
	ToolChoice *ToolChoice
	// ResponseFormat is text if nil.
	ResponseFormat ResponseFormat
	// ProviderOptions are passed to the provider as they are, by its own names.
	ProviderOptions map[string]json.RawMessage
}

// InferResponse is what a model answered.
type InferResponse struct {
	Content    Content    `json:"content" wire:"required"`
	ToolCalls  []ToolCall `json:"tool_calls" wire:"required"`
	StopReason StopReason `json:"stop_reason" wire:"required"`
	Usage      TokenUsage `json:"usage" wire:"required"`
	Model      string     `json:"model" wire:"required"`
	// Cost is in USD, null if the price of the model is not known.
	Cost *Decimal `json:"cost"`
	// Truncated says whether the provider shortened the input, null if it does not tell.
	Truncated *bool `json:"truncated"`
}

// MarshalJSON writes an empty list of calls as [].
func (r InferResponse) MarshalJSON() ([]byte, error) {
	type plain InferResponse
	r.ToolCalls = orEmpty(r.ToolCalls)
	return Marshal(plain(r))
}

// ToMessage returns the response as the assistant's message: its text, then its calls. A text alone is a plain
// text, an empty response an empty one. Blocks that are neither text nor calls, such as a model's thinking, are kept where
// they stand, since some providers want them back.
func (r InferResponse) ToMessage() Message {
	var blocks []ContentBlock
	if text, ok := r.Content.AsText(); ok && r.Content.form == contentText && text != "" {
		blocks = append(blocks, TextBlock{Text: text})
	}
	for _, b := range r.Content.blocks {
		switch b := b.(type) {
		case TextBlock:
			if b.Text != "" {
				blocks = append(blocks, b)
			}
		case ToolUseBlock: // comes from ToolCalls
		default:
			blocks = append(blocks, b)
		}
	}
	for _, c := range r.ToolCalls {
		blocks = append(blocks, ToolUseBlock(c))
	}
	switch len(blocks) {
	case 0:
		return NewMessage(RoleAssistant, TextContent(""))
	case 1:
		if t, ok := blocks[0].(TextBlock); ok {
			return NewMessage(RoleAssistant, TextContent(t.Text))
		}
	}
	return NewMessage(RoleAssistant, BlockContent(blocks...))
}

// ToolCall is a call that a model asks for.
type ToolCall struct {
	ID    string          `json:"id" wire:"required"`
	Name  string          `json:"name" wire:"required"`
	Input json.RawMessage `json:"input" wire:"required"`
}

// ToolResultMessage returns the answer of a tool to a call. The specification's implementation leaves the call id in the
// role empty, a known defect that providers have to work around; here both places have it.
func ToolResultMessage(callID, toolName, result string, isError bool) Message {
	block := ToolResultBlock{ToolUseID: callID, Content: result, IsError: isError}
	return NewMessage(ToolRole(toolName, callID), BlockContent(block))
}

// ToolSchema tells a model about a tool.
type ToolSchema struct {
	Name        string          `json:"name" wire:"required"`
	Description string          `json:"description" wire:"required"`
	InputSchema json.RawMessage `json:"input_schema" wire:"required"` // JSON Schema
	// Extra is for the provider; omitted if nil.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// StopReason says why a model stopped.
type StopReason string

// The reasons.
const (
	StopEndTurn       StopReason = "end_turn"
	StopToolUse       StopReason = "tool_use"
	StopMaxTokens     StopReason = "max_tokens"
	StopContentFilter StopReason = "content_filter"
)

// UnmarshalJSON reads a reason.
func (r *StopReason) UnmarshalJSON(raw []byte) error {
	return oneOf(raw, r, StopEndTurn, StopToolUse, StopMaxTokens, StopContentFilter)
}

// TokenUsage counts the tokens of a model call; nil is what the provider does not tell.
type TokenUsage struct {
	InputTokens         uint64  `json:"input_tokens" wire:"required"`
	OutputTokens        uint64  `json:"output_tokens" wire:"required"`
	CacheReadTokens     *uint64 `json:"cache_read_tokens"`
	CacheCreationTokens *uint64 `json:"cache_creation_tokens"`
	ReasoningTokens     *uint64 `json:"reasoning_tokens,omitempty"`
}
