package tokens

import (
	"strings"
	"unicode"

	"github.com/tiktoken-go/tokenizer"

	"github.com/skelegent/skelegent-go/protocol"
)

// Bounds of the work for one count.
const (
	maxText = 1 << 20 // bytes in one call that are counted exactly; the others are estimated
	maxRun  = 128     // bytes of whitespace that the library sees at a time: see text
)

// bpe counts with a vocabulary of byte pairs.
type bpe struct{ vocabulary encoding }

var _ Counter = bpe{}

// Exact implements Counter: true.
func (bpe) Exact() bool { return true }

// Count implements Counter.
func (b bpe) Count(req protocol.InferRequest) int {
	c := count{codec: b.vocabulary.codec(), left: maxText}
	for _, m := range req.Messages {
		c.message(m)
	}
	if req.System != "" {
		c.n += perMessage
		c.text(req.System)
	}
	for _, t := range req.Tools {
		c.n += perTool
		c.text(t.Name)
		c.text(t.Description)
		c.text(string(t.InputSchema))
	}
	if f, ok := req.ResponseFormat.(protocol.SchemaFormat); ok {
		c.text(f.Name)
		c.text(string(f.Schema))
	}
	return c.n
}

// Messages implements Counter.
func (b bpe) Messages(messages ...protocol.Message) int {
	c := count{codec: b.vocabulary.codec(), left: maxText}
	for _, m := range messages {
		c.message(m)
	}
	return c.n
}

// count is one count.
type count struct {
	codec tokenizer.Codec
	n     int
	left  int // bytes that may still be counted exactly
}

func (c *count) message(m protocol.Message) {
	c.n += perMessage
	if m.Content.Blocks() == nil {
		text, _ := m.Content.AsText()
		c.text(text)
		return
	}
	for _, b := range m.Content.Blocks() {
		c.block(b)
	}
}

func (c *count) block(b protocol.ContentBlock) {
	switch b := b.(type) {
	case protocol.TextBlock:
		c.text(b.Text)
	case protocol.ThinkingBlock:
		c.text(b.Thinking)
	case protocol.ToolUseBlock:
		c.text(b.Name)
		c.text(string(b.Input))
	case protocol.ToolResultBlock:
		c.text(b.Content)
	case protocol.DataBlock:
		c.text(string(b.Data))
	case protocol.CustomBlock:
		c.text(string(b.Data))
	case protocol.ImageBlock, protocol.FileBlock:
		c.n += perFile
	}
}

// text counts a piece of text. The library takes a time that is quadratic in the length of a run of whitespace with line
// breaks in it, so it is given no long ones.
func (c *count) text(s string) {
	if len(s) > c.left {
		c.n += (len(s) - c.left) / bytesPerToken
		s = s[:c.left]
	}
	c.left -= len(s)
	s = strings.ReplaceAll(s, "\x7f", "\x01") // the library leaves out this one character, of all
	start, run := 0, 0                        // of the piece, and of the whitespace at i
	for i, r := range s {
		switch {
		case !unicode.IsSpace(r):
			run = i + 1
		case i-run >= maxRun:
			c.piece(s[start:i])
			start, run = i, i
		}
	}
	c.piece(s[start:])
}

func (c *count) piece(s string) {
	n, err := c.codec.Count(s)
	if err != nil {
		n = len(s) / bytesPerToken
	}
	c.n += n
}
