package runner

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// OutputFactor is how many times its limit a program may write to one of its outputs before it is killed.
const OutputFactor = 64

// capture keeps the first limit bytes of what is read and drops the rest.
type capture struct {
	buf   []byte
	limit int
	total int64
	flood func() // called when it is too much, maybe more than once
}

func (c *capture) Write(p []byte) (int, error) {
	c.total += int64(len(p))
	c.buf = append(c.buf, p[:min(len(p), c.limit-len(c.buf))]...)
	if c.total > int64(c.limit)*OutputFactor {
		c.flood()
	}
	return len(p), nil
}

// drain reads until the end, or until the file is closed.
func (c *capture) drain(f *os.File) {
	_, _ = io.Copy(struct{ io.Writer }{c}, f) // an error is the end too
}

func (c *capture) truncated() bool { return c.total > int64(len(c.buf)) }

// text is what was kept, less the part of a character at a cut.
func (c *capture) text() string {
	b := c.buf
	if c.truncated() {
		for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
			if tail := b[len(b)-i:]; utf8.RuneStart(tail[0]) {
				if !utf8.FullRune(tail) {
					b = b[:len(b)-i]
				}
				break
			}
		}
	}
	return clean(b)
}

func clean(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
