package exchange

import (
	"regexp"
	"strings"

	"github.com/skelegent/skelegent-go/protocol"
)

const (
	maxSaid  = 200 // bytes of a server's text in an error
	echo     = 16  // bytes in a row that are the prompt's and not by chance
	redacted = "[REDACTED]"
)

// keyLike are keys, also such as OpenAI half hides in its answers.
var keyLike = regexp.MustCompile(`\b(?:[sp]k[-_]|Bearer +)[A-Za-z0-9_\-*.]{6,}|[A-Za-z0-9_\-]*\*{3,}[A-Za-z0-9_\-]*`)

// redactor makes what a server says safe to show.
type redactor struct {
	key string
	req protocol.InferRequest
}

// line returns one line of at most 200 bytes, see Exchange.Redact.
func (r redactor) line(said string) string {
	said = strings.ToValidUTF8(said, "?")
	said = strings.Join(strings.FieldsFunc(said, func(c rune) bool { return c <= ' ' || c == 0x7f }), " ")
	said = cut(said, 2*maxSaid) // searching long texts for a longer line takes too long
	if r.key != "" {
		said = hide(strings.ReplaceAll(said, r.key, redacted), r.key) // the cut may have left the most of it
	}
	said = keyLike.ReplaceAllString(said, redacted)
	for _, m := range r.req.Messages {
		for _, t := range texts(m) {
			said = hide(said, t)
		}
	}
	return cut(strings.ToValidUTF8(hide(said, r.req.System), ""), maxSaid)
}

// texts are all texts of a message, results and inputs of tools and addresses too.
func texts(m protocol.Message) []string {
	if m.Content.Blocks() == nil {
		return []string{m.Text()}
	}
	var all []string
	for _, b := range m.Content.Blocks() {
		switch b := b.(type) {
		case protocol.ToolUseBlock:
			all = append(all, string(b.Input))
		case protocol.DataBlock:
			all = append(all, string(b.Data))
		case protocol.TextBlock:
			all = append(all, b.Text)
		case protocol.ThinkingBlock:
			all = append(all, b.Thinking)
		case protocol.ToolResultBlock:
			all = append(all, b.Content)
		case protocol.CustomBlock:
			all = append(all, string(b.Data))
		case protocol.ImageBlock: // an address may be signed
			url, _ := b.Source.URL()
			all = append(all, url)
		case protocol.FileBlock:
			url, _ := b.Source.URL()
			all = append(all, url, b.Filename)
		}
	}
	return all
}

// hide replaces what said repeats of text.
func hide(said, text string) string {
	text = strings.Join(strings.Fields(text), " ")
	window := min(echo, len(text))
	if window < 4 { // a word that anybody says
		return said
	}
	var b strings.Builder
	for i := 0; i < len(said); {
		if i+window > len(said) || !strings.Contains(text, said[i:i+window]) {
			b.WriteByte(said[i])
			i++
			continue
		}
		end := i + window
		for end < len(said) && strings.Contains(text, said[i:end+1]) {
			end++
		}
		b.WriteString(redacted)
		i = end
	}
	return b.String()
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-3], "") + "..."
}
