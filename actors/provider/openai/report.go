package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/skelegent/skelegent-go/protocol"
)

// report is what a server says about an error.
type report struct {
	message    string // not yet safe to show
	code, kind string
	blocked    bool // it is about the content
}

// parseReport reads the forms of {"error": {"message", "code", "type"}}, {"error": "..."} and {"message": "..."}; from
// anything else it takes no text.
func parseReport(body []byte) report {
	r := report{blocked: blocks(body)}
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  string          `json:"detail"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return r
	}
	r.message = outer.Message + outer.Detail
	var inner struct {
		Message any `json:"message"`
		Code    any `json:"code"`
		Type    any `json:"type"`
	}
	switch {
	case json.Unmarshal(outer.Error, &r.message) == nil:
	case json.Unmarshal(outer.Error, &inner) == nil:
		r.message, r.code, r.kind = text(inner.Message), text(inner.Code), text(inner.Type)
	}
	return r
}

func reportOf(e *goopenai.APIError) report {
	r := report{message: e.Message, code: text(e.Code), kind: e.Type}
	r.blocked = blocks([]byte(r.message + " " + r.code + " " + r.kind))
	return r
}

// blocks reports whether an error's body is about the policy of the provider.
func blocks(body []byte) bool {
	body = bytes.ToLower(body)
	return bytes.Contains(body, []byte("content_filter")) || bytes.Contains(body, []byte("content policy")) ||
		bytes.Contains(body, []byte("content_policy"))
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return fmt.Sprint(v)
}

// identifier is a code that can be repeated without a look at what it says.
var identifier = regexp.MustCompile(`^[a-z_]{1,40}$`)

func (r report) codeInBrackets() string {
	if !identifier.MatchString(r.code) {
		return ""
	}
	return " (" + r.code + ")"
}

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

func newRedactor(key string, req protocol.InferRequest) redactor { return redactor{key, req} }

// line returns one line of at most 200 bytes, without the key and what looks like one, and without what the server
// repeats of the prompt.
func (r redactor) line(said string) string {
	said = strings.ToValidUTF8(said, "?")
	said = strings.Join(strings.FieldsFunc(said, func(c rune) bool { return c <= ' ' || c == 0x7f }), " ")
	said = cut(said, 2*maxSaid) // searching long texts for a longer line takes too long
	if r.key != "" {
		said = strings.ReplaceAll(said, r.key, redacted)
	}
	said = keyLike.ReplaceAllString(said, redacted)
	for _, m := range r.req.Messages {
		for _, t := range texts(m) {
			said = hide(said, t)
		}
	}
	return cut(strings.ToValidUTF8(hide(said, r.req.System), ""), maxSaid)
}

// texts are all texts of a message, results and inputs of tools too.
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
		case protocol.ToolResultBlock:
			all = append(all, b.Content)
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
