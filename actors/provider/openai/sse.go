package openai

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/skelegent/skelegent-go/actors/provider/internal/exchange"
)

// newHTTPClient is exchange.NewClient with streams as the library can read them.
func newHTTPClient(own *http.Client) *http.Client {
	c := exchange.NewClient(own)
	c.Transport = filter{c.Transport}
	return c
}

// filter is a transport that passes the streams of its base through dataLines.
type filter struct{ base http.RoundTripper }

func (f filter) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := f.base.RoundTrip(req)
	if err == nil && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = newDataLines(resp.Body)
	}
	return resp, err
}

// CloseIdleConnections lets http.Client find the method of the base.
func (f filter) CloseIdleConnections() {
	if c, ok := f.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

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
