package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/skelegent/skelegent-go/actors/compose/normalize"
	"github.com/skelegent/skelegent-go/protocol"
)

// MalformedCall is the name of the call by which TextCalls tells a model that what it wrote could not be read.
const MalformedCall = "malformed_tool_call"

// TextCalls makes tool calls of what a model writes between markers as text, as LiquidAI's and others do behind servers that pass
// it on as it is. See normalize.LFM for how. It is a transformer:
//
//	p = middleware.NewStack().Transform(middleware.TextCalls()).Build().Wrap(p)
//
// The answer's text is then what is outside of the blocks, its calls follow those that the server gave itself, and an answer that
// ended its turn stops for tool_use; so does one that was cut behind its last block. Each call has an id that follows from the
// request, such as call_2_1 for the first of the second answer, and that no call of the conversation has. Blocks in the model's
// thinking are not looked at. A block with the name of no tool becomes a call, too: the agent answers that there is no such tool.
//
// In a stream no piece of text has a marker in it, wherever it was cut: what may be one is held back, and a block until it is
// complete. The calls come as events behind all else, before Done.
//
// Where a block is malformed, or not closed, nothing that was paid for is lost and nothing is guessed. The blocks before it count;
// from it on the text stays as it is written; and one call more, of a tool named MalformedCall that does not exist, has as its
// input a string that says what is wrong and where. So an agent makes no call of that block, and tells the model which tools
// there are; the model sees what it wrote, and why that failed, and can try again. The agent counts it as a failure of a tool,
// which ends the run after too many in a row. An agent that makes no calls returns the text.
//
// A request without tools, or that forbids calls, is not looked at: what has markers then is text about calls, such as a summary.
func TextCalls() InferFunc {
	return func(
		ctx context.Context, req protocol.InferRequest, sink func(protocol.StreamEvent), next Next,
	) (protocol.InferResponse, error) {
		if len(req.Tools) == 0 || req.ToolChoice != nil && req.ToolChoice.Kind() == protocol.ChoiceNone {
			return next(ctx, req, sink)
		}
		if sink == nil {
			resp, err := next(ctx, req, nil)
			if err != nil {
				return resp, err
			}
			return readCalls(req, resp), nil
		}
		var shown textReader
		resp, err := next(ctx, req, func(ev protocol.StreamEvent) {
			switch ev := ev.(type) {
			case protocol.Done: // comes with the calls
			case protocol.TextDelta:
				sayText(sink, shown.read(ev.Text))
			default:
				sink(ev)
			}
		})
		if err != nil {
			return resp, err
		}
		sayText(sink, shown.rest())
		given := len(resp.ToolCalls)
		resp = readCalls(req, resp)
		for i, c := range resp.ToolCalls[given:] {
			sink(protocol.ToolCallStart{Index: given + i, ID: c.ID, Name: c.Name})
			sink(protocol.ToolCallDelta{Index: given + i, JSONDelta: string(c.Input)})
		}
		sink(protocol.Done{Response: resp})
		return resp, nil
	}
}

func sayText(sink func(protocol.StreamEvent), text string) {
	if text != "" {
		sink(protocol.TextDelta{Text: text})
	}
}

// textReader takes the blocks out of a text, up to one that is malformed.
type textReader struct {
	stream normalize.Stream
	calls  []protocol.ToolCall
	err    error
}

// read returns what stays of a piece, and of what was held back before it.
func (r *textReader) read(piece string) string {
	if r.err != nil {
		return piece
	}
	text, calls, err := r.stream.Feed(piece)
	r.calls = append(r.calls, calls...)
	return text + r.kept(err)
}

// rest returns what stays of the end.
func (r *textReader) rest() string {
	if r.err != nil {
		return ""
	}
	text, err := r.stream.Close()
	return text + r.kept(err)
}

// kept is what could not be read.
func (r *textReader) kept(err error) string {
	if r.err = err; err == nil {
		return ""
	}
	return r.stream.Held()
}

// readCalls returns the answer with the calls of its text.
func readCalls(req protocol.InferRequest, resp protocol.InferResponse) protocol.InferResponse {
	var r textReader
	resp.Content = r.content(resp.Content)
	if len(r.calls) == 0 && r.err == nil {
		return resp
	}
	ids := newCallIDs(req, resp)
	given := len(resp.ToolCalls)
	resp.ToolCalls = slices.Clone(resp.ToolCalls)
	for _, c := range r.calls {
		c.ID = ids.next()
		resp.ToolCalls = append(resp.ToolCalls, c)
	}
	if r.err != nil {
		resp.ToolCalls = append(resp.ToolCalls, protocol.ToolCall{ID: ids.next(), Name: noTool(req), Input: note(r.err)})
	}
	whole := given == 0 && r.err == nil
	if resp.StopReason == protocol.StopEndTurn || resp.StopReason == protocol.StopMaxTokens && whole {
		resp.StopReason = protocol.StopToolUse
	}
	return resp
}

// content returns what stays of the texts of a content. A block may begin in one and end in the next.
func (r *textReader) content(c protocol.Content) protocol.Content {
	blocks := slices.Clone(c.Blocks())
	if blocks == nil {
		text, ok := c.AsText()
		if !ok {
			return c
		}
		text = r.read(text)
		return protocol.TextContent(text + r.rest())
	}
	last, text := -1, ""
	for i, b := range blocks {
		if t, ok := b.(protocol.TextBlock); ok {
			last, text = i, r.read(t.Text)
			blocks[i] = protocol.TextBlock{Text: text}
		}
	}
	if last >= 0 {
		blocks[last] = protocol.TextBlock{Text: text + r.rest()}
	}
	return protocol.BlockContent(blocks...)
}

// note is the input of a call that tells a model what was wrong.
func note(err error) json.RawMessage {
	var at *normalize.SyntaxError
	if errors.As(err, &at) {
		err = at
	}
	raw, _ := protocol.Marshal("the tool calls in this answer could not be read: " + err.Error()) // a string always marshals
	return raw
}

// noTool is MalformedCall, or something like it where there is a tool of that name.
func noTool(req protocol.InferRequest) string {
	name := MalformedCall
	for slices.ContainsFunc(req.Tools, func(t protocol.ToolSchema) bool { return t.Name == name }) {
		name += "_"
	}
	return name
}

// callIDs makes ids that are not taken, the same ones for the same request and answer.
type callIDs struct {
	taken  map[string]bool
	answer int // of the conversation, from 1
	call   int
}

func newCallIDs(req protocol.InferRequest, resp protocol.InferResponse) *callIDs {
	ids := &callIDs{taken: map[string]bool{}, answer: 1}
	for _, c := range resp.ToolCalls {
		ids.taken[c.ID] = true
	}
	for _, m := range req.Messages {
		if m.Role == protocol.RoleAssistant {
			ids.answer++
		}
		for _, b := range m.Content.Blocks() {
			if call, ok := b.(protocol.ToolUseBlock); ok {
				ids.taken[call.ID] = true
			}
		}
	}
	return ids
}

func (s *callIDs) next() string {
	for {
		s.call++
		if id := fmt.Sprintf("call_%d_%d", s.answer, s.call); !s.taken[id] {
			return id
		}
	}
}
