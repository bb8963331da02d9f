package compact

import (
	"fmt"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

// maxShown is how many bytes of one block a model is shown that sums up.
const maxShown = 16 << 10

// transcript writes messages as a text. As messages they would be asked on with: a provider wants to know the tools of calls, and a
// model goes on with a conversation rather than sum it up.
func transcript(messages []protocol.Message) string {
	var b strings.Builder
	for _, m := range messages {
		who := m.Role.String()
		if name, _, ok := m.Role.Tool(); ok {
			who = "result of " + name
		}
		fmt.Fprintf(&b, "[%s]\n", who)
		if text, ok := m.Content.AsText(); ok && len(m.Content.Blocks()) == 0 {
			b.WriteString(clip(text))
		}
		for _, block := range m.Content.Blocks() {
			b.WriteString(shown(block))
			b.WriteByte('\n')
		}
		b.WriteString("\n\n")
	}
	return strings.TrimSpace(b.String())
}

// shown is a block as a text. What a model thought is left out, and of files it is said that they are there.
func shown(block protocol.ContentBlock) string {
	switch block := block.(type) {
	case protocol.TextBlock:
		return clip(block.Text)
	case protocol.ToolUseBlock:
		return "(calls " + block.Name + " with " + clip(string(block.Input)) + ")"
	case protocol.ToolResultBlock:
		if block.IsError {
			return "(failed) " + clip(block.Content)
		}
		return clip(block.Content)
	case protocol.DataBlock:
		return clip(string(block.Data))
	case protocol.CustomBlock:
		return clip(string(block.Data))
	case protocol.ImageBlock:
		return "(an image)"
	case protocol.FileBlock:
		return "(a file)"
	default:
		return ""
	}
}

// clip leaves out the middle of a long text.
func clip(text string) string {
	if len(text) <= maxShown {
		return text
	}
	const half = maxShown / 2
	return strings.ToValidUTF8(text[:half], "") + fmt.Sprintf("\n(%d bytes are left out)\n", len(text)-2*half) +
		strings.ToValidUTF8(text[len(text)-half:], "")
}
