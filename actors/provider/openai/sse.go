package openai

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// dataLines passes on the data lines and the empty lines of a stream of events. The library mixes the others (comments,
// event, id, retry) into the text of an error event that follows, and then cannot read it.
type dataLines struct {
	r       *bufio.Reader
	c       io.Closer
	pending []byte // of the line that is being passed on
	inside  bool   // what comes next continues a line
	keep    bool   // that line is passed on
}

func newDataLines(body io.ReadCloser) *dataLines {
	return &dataLines{r: bufio.NewReader(body), c: body}
}

func (d *dataLines) Read(p []byte) (int, error) {
	for len(d.pending) == 0 {
		piece, err := d.r.ReadSlice('\n')
		if !d.inside {
			d.keep = bytes.HasPrefix(piece, []byte("data:")) || len(bytes.TrimSpace(piece)) == 0
		}
		d.inside = errors.Is(err, bufio.ErrBufferFull)
		if d.keep {
			d.pending = piece
		}
		if err != nil && !d.inside && len(d.pending) == 0 {
			return 0, err
		}
		// An error behind a piece comes again with the next one.
	}
	n := copy(p, d.pending)
	d.pending = d.pending[n:]
	return n, nil
}

func (d *dataLines) Close() error { return d.c.Close() }
