package exchange

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// DefaultMaxPiece is the largest line or event of a stream in bytes where a reader is given no limit.
const DefaultMaxPiece = 4 << 20

// Lines reads a stream of JSON texts, one a line (NDJSON). It is used by one goroutine.
type Lines struct {
	lines lineReader
	err   error // of the last line
}

// NewLines returns a reader of the lines of r, each of at most maxPiece bytes; DefaultMaxPiece if 0.
func NewLines(r io.Reader, maxPiece int) *Lines {
	return &Lines{lines: newLineReader(r, maxPiece)}
}

// Next returns the next line that is not empty, without its end; it belongs to the caller, and whether it is JSON is for
// the caller to see. At the end it returns io.EOF, and again at each call; a last line without an end counts only if it is
// whole JSON, so the caller tells an answer that was cut by its missing last piece. A line beyond the limit is ErrTooLarge;
// other errors are the reader's.
func (l *Lines) Next() ([]byte, error) {
	for l.err == nil {
		line, err := l.lines.next()
		l.err = err
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0:
		case err == nil, errors.Is(err, io.EOF) && json.Valid(line):
			return bytes.Clone(line), nil
		}
	}
	return nil, l.err
}

// lineReader cuts what it reads into lines: behind LF, and CR and CRLF too if cr is set.
type lineReader struct {
	r       *bufio.Reader
	limit   int
	cr      bool
	afterCR bool // an LF that comes next is the rest of a CRLF
	line    []byte
}

func newLineReader(r io.Reader, limit int) lineReader {
	if limit <= 0 {
		limit = DefaultMaxPiece
	}
	return lineReader{r: bufio.NewReader(r), limit: limit}
}

// next returns the next line without its end, valid until the next call. With an error it is what came before it.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	for {
		c, err := l.r.ReadByte()
		if err != nil {
			return l.line, err
		}
		rest := l.afterCR && c == '\n'
		l.afterCR = false
		switch {
		case rest:
			continue
		case c == '\n':
			return l.line, nil
		case c == '\r' && l.cr: // its LF may be long in coming
			l.afterCR = true
			return l.line, nil
		case len(l.line) >= l.limit:
			return nil, ErrTooLarge
		}
		l.line = append(l.line, c)
	}
}
