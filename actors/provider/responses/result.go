package responses

import (
	goopenai "github.com/sashabaranov/go-openai"

	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
	"github.com/skelegent/skelegent-go/protocol"
)

// response is the answer in our terms, still without usage and price.
func (a *answer) response(requested string) protocol.InferResponse {
	r := protocol.InferResponse{
		Content: a.content(), ToolCalls: make([]protocol.ToolCall, a.calls), StopReason: a.stopReason(), Model: a.final.Model,
	}
	if r.Model == "" {
		r.Model = requested
	}
	for _, o := range a.outputs {
		if o.kind == itemCall {
			r.ToolCalls[o.number] = protocol.ToolCall{ID: o.id, Name: o.name, Input: exchange.Input(o.text.String())}
		}
	}
	return r
}

// content is a text where that is all there is.
func (a *answer) content() protocol.Content {
	var blocks []protocol.ContentBlock
	for i, o := range a.outputs {
		text := o.text.String()
		switch o.kind {
		case itemMessage:
			if text != "" {
				blocks = append(blocks, protocol.TextBlock{Text: text})
			}
		case itemReasoning:
			if s := a.signature(i); text != "" || s != "" {
				blocks = append(blocks, protocol.ThinkingBlock{Thinking: text, Signature: s})
			}
		}
	}
	switch len(blocks) {
	case 0:
		return protocol.TextContent("")
	case 1:
		if t, ok := blocks[0].(protocol.TextBlock); ok {
			return protocol.TextContent(t.Text)
		}
	}
	return protocol.BlockContent(blocks...)
}

// signature is what has to be sent back of the reasoning at i, empty if it led to nothing.
func (a *answer) signature(i int) string {
	secret := a.outputs[i].secret
	if secret.EncryptedContent == "" {
		return ""
	}
	for _, next := range a.outputs[i+1:] {
		switch next.kind {
		case itemCall:
			return signature{Reasoning: &secret, Call: next.id}.String()
		case itemMessage:
			return signature{Reasoning: &secret}.String()
		}
	}
	return ""
}

func (a *answer) stopReason() protocol.StopReason {
	if a.final.Status == goopenai.ResponseStatusIncomplete {
		if d := a.final.IncompleteDetails; d != nil && d.Reason == "content_filter" {
			return protocol.StopContentFilter
		}
		return protocol.StopMaxTokens
	}
	for _, o := range a.outputs {
		if o.refused {
			return protocol.StopContentFilter
		}
	}
	if a.calls > 0 {
		return protocol.StopToolUse
	}
	return protocol.StopEndTurn
}

// usage returns false if the server did not count, for which some send zeros.
func (a *answer) usage() (protocol.TokenUsage, bool) {
	u := a.final.Usage
	if u == nil || (u.InputTokens <= 0 && u.OutputTokens <= 0) {
		return protocol.TokenUsage{}, false
	}
	out := protocol.TokenUsage{InputTokens: *natural(u.InputTokens), OutputTokens: *natural(u.OutputTokens)}
	if d := u.InputTokensDetails; d != nil {
		out.CacheReadTokens = natural(d.CachedTokens)
		if d.CacheWriteTokens > 0 {
			out.CacheCreationTokens = natural(d.CacheWriteTokens)
		}
	}
	if d := u.OutputTokensDetails; d != nil {
		out.ReasoningTokens = natural(d.ReasoningTokens)
	}
	return out, true
}

func natural(n int) *uint64 {
	u := exchange.Count(n)
	return &u
}
