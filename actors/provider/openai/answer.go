package openai

import (
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
	"github.com/skelegent/skelegent-go/protocol"
)

// answer is what has come so far, at once or in pieces.
type answer struct {
	model          string
	text, thinking strings.Builder
	refused        bool
	calls          []*toolCall
	ids            exchange.IDs
	finish         goopenai.FinishReason
	usage          protocol.TokenUsage
	counted        bool   // the server told usage
	tier           string // of service, empty if the server does not tell
}

type toolCall struct {
	id, name  string
	arguments strings.Builder
	started   bool // its begin was streamed
}

// read takes an answer that came at once.
func read(resp goopenai.ChatCompletionResponse) (*answer, error) {
	if len(resp.Choices) == 0 {
		return nil, errNoChoices()
	}
	choice := resp.Choices[0]
	a := &answer{model: resp.Model, finish: choice.FinishReason, tier: string(resp.ServiceTier)}
	a.text.WriteString(choice.Message.Content)
	for _, p := range choice.Message.MultiContent {
		a.text.WriteString(p.Text)
	}
	a.text.WriteString(choice.Message.Refusal)
	a.refused = choice.Message.Refusal != ""
	a.thinking.WriteString(choice.Message.ReasoningContent)
	if len(choice.Message.ToolCalls) > exchange.MaxParts {
		return nil, exchange.TooManyParts()
	}
	for _, c := range choice.Message.ToolCalls {
		call := &toolCall{id: a.ids.Take(c.ID), name: c.Function.Name}
		call.arguments.WriteString(c.Function.Arguments)
		a.calls = append(a.calls, call)
	}
	a.count(&resp.Usage)
	if a.finish == "" && a.text.Len() == 0 && len(a.calls) == 0 {
		return nil, protocol.ErrInvalidResponse("neither content nor a finish reason")
	}
	return a, a.check()
}

func errNoChoices() *protocol.Error { return protocol.ErrInvalidResponse("it has no choices") }

// check looks for what no caller could use.
func (a *answer) check() error {
	for _, c := range a.calls {
		if c.name == "" {
			return protocol.ErrInvalidResponse("a tool call without a name")
		}
	}
	return nil
}

// count takes usage unless it is all zero, which servers send that do not count.
func (a *answer) count(u *goopenai.Usage) {
	if u == nil || (u.PromptTokens <= 0 && u.CompletionTokens <= 0) {
		return
	}
	a.counted = true
	a.usage = protocol.TokenUsage{InputTokens: exchange.Count(u.PromptTokens), OutputTokens: exchange.Count(u.CompletionTokens)}
	if d := u.PromptTokensDetails; d != nil {
		n := exchange.Count(d.CachedTokens)
		a.usage.CacheReadTokens = &n
	}
	if d := u.CompletionTokensDetails; d != nil {
		n := exchange.Count(d.ReasoningTokens)
		a.usage.ReasoningTokens = &n
	}
}

// response is the answer in our terms, still without a price.
func (a *answer) response(requested string) protocol.InferResponse {
	r := protocol.InferResponse{
		Content:    protocol.TextContent(a.text.String()),
		ToolCalls:  []protocol.ToolCall{},
		StopReason: a.stopReason(),
		Usage:      a.usage,
		Model:      a.model,
	}
	if r.Model == "" {
		r.Model = requested
	}
	if a.thinking.Len() > 0 {
		r.Content = protocol.BlockContent(
			protocol.ThinkingBlock{Thinking: a.thinking.String()}, protocol.TextBlock{Text: a.text.String()})
	}
	for _, c := range a.calls {
		r.ToolCalls = append(r.ToolCalls, protocol.ToolCall{ID: c.id, Name: c.name, Input: exchange.Input(c.arguments.String())})
	}
	return r
}

// stopReason: a model that was made to call a certain tool finishes with stop, and so do some servers after every call.
func (a *answer) stopReason() protocol.StopReason {
	switch {
	case a.finish == goopenai.FinishReasonLength:
		return protocol.StopMaxTokens
	case a.finish == goopenai.FinishReasonContentFilter || a.refused:
		return protocol.StopContentFilter
	case len(a.calls) > 0:
		return protocol.StopToolUse
	}
	return protocol.StopEndTurn
}
