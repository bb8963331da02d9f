package cassette

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// RoundTrip implements http.RoundTripper.
func (c *Cassette) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := c.readBody(req)
	if err != nil {
		return nil, err
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	clean := c.cleaner(req)
	asked := request{
		Method: text(req.Method), Path: text(clean.text(req.URL.Path)), Body: text(normal(clean.text(string(body)))),
	}
	e, recorded, err := c.take(asked)
	switch {
	case err != nil:
		return nil, err
	case e == nil:
		return message(req, http.StatusNotFound, fmt.Sprintf(
			"cassette %s has no answer (left) to %s with this body; to record it, run once with cassette.Record", short(c.path), asked)), nil
	case recorded:
		return replay(req, e.Response), nil
	}
	return c.record(req, body, clean, e)
}

// take returns the entry for a request: a recorded one, a new one to record, or nil if there is to be none.
func (c *Cassette) take(asked request) (e *entry, recorded bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, false, fmt.Errorf("cassette %s: %w", c.path, os.ErrClosed)
	}
	if c.mode != Record {
		for _, e := range c.entries {
			if !e.used && e.Request == asked {
				e.used = true
				return e, true, nil
			}
		}
	}
	if c.mode == Replay {
		c.missing = append(c.missing, asked.String())
		return nil, false, nil
	}
	e = &entry{interaction: interaction{Request: asked}, used: true}
	c.entries = append(c.entries, e)
	return e, false, nil
}

// record asks the endpoint.
func (c *Cassette) record(req *http.Request, body []byte, clean cleaner, e *entry) (*http.Response, error) {
	out := req.Clone(req.Context())
	if req.Body != nil {
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		out.Body, _ = out.GetBody() // cannot fail
		out.ContentLength = int64(len(body))
	}
	resp, err := c.base.RoundTrip(out)
	if err != nil {
		return nil, err // the entry has no status and is not stored
	}
	headers := map[string]text{}
	for _, name := range []string{"Content-Type", "Retry-After", "Retry-After-Ms"} {
		if v := resp.Header.Get(name); v != "" {
			headers[name] = text(clean.text(v))
		}
	}
	if len(headers) == 0 {
		headers = nil
	}
	r := &recorder{cassette: c, entry: e, clean: clean, body: resp.Body}
	resp.Body = r
	c.mu.Lock()
	defer c.mu.Unlock()
	e.Response.Status, e.Response.Headers = resp.StatusCode, headers
	if !c.closed {
		e.recorder, c.changed = r, true
	}
	return resp, nil
}

// recorder keeps what is read of an answer.
type recorder struct {
	cassette *Cassette
	entry    *entry
	clean    cleaner
	body     io.ReadCloser
	buf      bytes.Buffer // guarded by the cassette's mutex: Close may come from elsewhere
}

func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	r.cassette.mu.Lock()
	defer r.cassette.mu.Unlock()
	if r.entry.recorder == nil {
		return n, err
	}
	r.buf.Write(p[:n])
	if err != nil || r.buf.Len() > r.cassette.limit {
		r.finish(!errors.Is(err, io.EOF))
	}
	return n, err
}

func (r *recorder) Close() error {
	r.cassette.mu.Lock()
	r.finish(true)
	r.cassette.mu.Unlock()
	return r.body.Close()
}

// finish ends the recording, once.
func (r *recorder) finish(cut bool) {
	if r.entry.recorder == nil {
		return
	}
	r.entry.recorder = nil
	answer := &r.entry.Response
	answer.Cut = cut
	if r.buf.Len() > r.cassette.limit {
		r.cassette.failed = append(r.cassette.failed, fmt.Sprintf("%s: larger than %d bytes", r.entry.Request, r.cassette.limit))
		answer.Cut = true
		r.buf.Truncate(r.cassette.limit)
	}
	all := r.clean.text(r.buf.String())
	if end := streamEnd(string(answer.Headers["Content-Type"])); end != "" {
		answer.Pieces = split(all, end)
	} else {
		answer.Body = text(all)
	}
	r.buf = bytes.Buffer{}
}

// streamEnd is what a piece of a stream ends with; empty if the answer is none.
func streamEnd(contentType string) string {
	kind, _, _ := strings.Cut(contentType, ";")
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case "text/event-stream":
		return "\n\n"
	case "application/x-ndjson", "application/jsonl", "application/json-seq":
		return "\n"
	}
	return ""
}

func split(all, end string) []text {
	var pieces []text
	if end == "\n\n" && strings.Contains(all, "\r\n\r\n") {
		end = "\r\n\r\n"
	}
	for piece := range strings.SplitAfterSeq(all, end) {
		if piece != "" {
			pieces = append(pieces, text(piece))
		}
	}
	return pieces
}

// readBody reads and closes the body of a request.
func (c *Cassette) readBody(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	raw, err := io.ReadAll(io.LimitReader(req.Body, int64(c.limit)+1))
	if err = errors.Join(err, req.Body.Close()); err != nil {
		return nil, err
	}
	if len(raw) > c.limit {
		return nil, fmt.Errorf("the request is larger than %d bytes", c.limit)
	}
	return raw, nil
}
