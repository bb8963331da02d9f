package agenttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skelegent/skelegent-go/protocol"
)

// Request is what a model was asked in one call. It must not be changed.
type Request struct {
	protocol.InferRequest

	tb testing.TB
}

// System returns the system prompt, empty if there is none.
func (r Request) System() string { return r.InferRequest.System }

// LastUser returns the text of the last message of the user, empty if there is none.
func (r Request) LastUser() string {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == protocol.RoleUser {
			return m.Text()
		}
	}
	return ""
}

// Tools returns the names of the tools that were offered, in their order.
func (r Request) Tools() []string {
	names := make([]string, len(r.InferRequest.Tools))
	for i, t := range r.InferRequest.Tools {
		names[i] = t.Name
	}
	return names
}

// ToolResults returns what the model was told of its calls, in the order of the conversation.
func (r Request) ToolResults() []protocol.ToolResultBlock {
	var all []protocol.ToolResultBlock
	for _, m := range r.Messages {
		for _, b := range m.Content.Blocks() {
			if result, ok := b.(protocol.ToolResultBlock); ok {
				all = append(all, result)
			}
		}
	}
	return all
}

// ToolResult returns what the model was told of a call, the last that has the id. The test fails at once if there is none.
func (r Request) ToolResult(callID string) protocol.ToolResultBlock {
	var ids []string
	for _, result := range slices.Backward(r.ToolResults()) {
		if result.ToolUseID == callID {
			return result
		}
		ids = append(ids, result.ToolUseID)
	}
	tb := orPrint(r.tb)
	tb.Helper()
	tb.Fatalf("agenttest: the request has no result of the call %q; those that it has are %q", callID, ids)
	return protocol.ToolResultBlock{}
}

// Conversation returns the messages as lines "role: text", without the system prompt. Calls of tools are lines "call id: name
// input", and results lines "result id: text".
func (r Request) Conversation() []string {
	var all []string
	for _, m := range r.Messages {
		all = append(all, lines(m)...)
	}
	return all
}

func lines(m protocol.Message) (all []string) {
	if text, ok := m.Content.AsText(); ok && len(m.Content.Blocks()) == 0 {
		return []string{m.Role.String() + ": " + text}
	}
	for _, b := range m.Content.Blocks() {
		switch b := b.(type) {
		case protocol.TextBlock:
			all = append(all, m.Role.String()+": "+b.Text)
		case protocol.ToolUseBlock:
			all = append(all, fmt.Sprintf("call %s: %s %s", b.ID, b.Name, b.Input))
		case protocol.ToolResultBlock:
			all = append(all, fmt.Sprintf("result %s: %s", b.ToolUseID, b.Content))
		default:
			all = append(all, fmt.Sprintf("%s: a %T", m.Role, b))
		}
	}
	return all
}

// What String shows.
const (
	maxLines = 20
	maxLine  = 200 // bytes
)

// String tells of the request for the message of a test that fails: roles, sizes and the beginnings of the texts.
func (r Request) String() string {
	var b strings.Builder
	if system := r.System(); system != "" {
		writeLine(&b, "system: "+system)
	}
	all := r.Conversation()
	if len(all) > maxLines {
		fmt.Fprintf(&b, "  ... %d lines before\n", len(all)-maxLines)
		all = all[len(all)-maxLines:]
	}
	for _, line := range all {
		writeLine(&b, line)
	}
	if names := r.Tools(); len(names) > 0 {
		fmt.Fprintf(&b, "  tools: %s\n", strings.Join(names, ", "))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func writeLine(b *strings.Builder, line string) {
	who, text, _ := strings.Cut(line, ": ")
	shown := text
	if len(shown) > maxLine {
		shown = strings.ToValidUTF8(shown[:maxLine], "") + "..."
	}
	fmt.Fprintf(b, "  %s (%d bytes): %q\n", who, len(text), shown)
}
