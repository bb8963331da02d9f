package cassette

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// replay returns an answer that was recorded.
func replay(req *http.Request, r response) *http.Response {
	header := http.Header{}
	for name, v := range r.Headers {
		header.Set(name, string(v))
	}
	pieces := slices.Clone(r.Pieces) // the player uses them up
	if r.Body != "" {
		pieces = append([]text{r.Body}, pieces...)
	}
	end := io.EOF
	if r.Cut {
		end = io.ErrUnexpectedEOF
	}
	return answer(req, r.Status, header, &player{ended: req.Context().Err, pieces: pieces, end: end})
}

func answer(req *http.Request, status int, header http.Header, body io.ReadCloser) *http.Response {
	return &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: body, ContentLength: -1, Request: req,
	}
}

// message is an answer of our own, in the form of an error that providers understand. As an error of the transport it would
// look to them like a broken network, which is tried again.
func message(req *http.Request, status int, said string) *http.Response {
	raw, err := json.Marshal(map[string]any{
		"type": "error", "error": map[string]string{"type": "invalid_request_error", "message": said},
	})
	if err != nil { // texts are always JSON
		raw = []byte(`{}`)
	}
	header := http.Header{"Content-Type": {"application/json"}}
	return answer(req, status, header, &player{ended: req.Context().Err, pieces: []text{text(raw)}, end: io.EOF})
}

// player is the body of an answer: a piece a read at most.
type player struct {
	ended  func() error // whether the request's context has
	pieces []text
	end    error
	closed bool
}

func (p *player) Read(b []byte) (int, error) {
	if err := p.ended(); err != nil {
		return 0, err
	}
	if p.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	if len(b) == 0 {
		return 0, nil
	}
	for len(p.pieces) > 0 && p.pieces[0] == "" {
		p.pieces = p.pieces[1:]
	}
	if len(p.pieces) == 0 {
		return 0, p.end
	}
	n := copy(b, p.pieces[0])
	p.pieces[0] = p.pieces[0][n:]
	return n, nil
}

func (p *player) Close() error {
	p.closed = true
	return nil
}

// short is the end of a path, where it tells most.
func short(path string) string {
	const most = 60
	if len(path) <= most {
		return path
	}
	return "..." + strings.ToValidUTF8(path[len(path)-most:], "")
}
