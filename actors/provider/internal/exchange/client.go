package exchange

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// NewClient returns own, or a client with a connection pool of its own if nil, with our transport on top. Own is not
// changed. Redirects are not followed unless own says how. Requests without an Exchange in their context pass through.
func NewClient(own *http.Client) *http.Client {
	c := &http.Client{}
	if own != nil {
		*c = *own
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.MaxIdleConnsPerHost = 64 // as many as an operator runs at a time by default
		c.Transport = t
	}
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	c.Transport = transport{c.Transport}
	if c.CheckRedirect == nil {
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return c
}

// Post sends Config.Request as JSON, with header, by a client that NewClient made. It returns the body of an answer with a
// status of 2xx, which the caller closes; any other outcome is an error as of Failure.
func (ex *Exchange) Post(ctx context.Context, c *http.Client, url string, header http.Header) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ex.With(ctx), http.MethodPost, url, bytes.NewReader(ex.request))
	if err != nil { // without it as the cause: it repeats the address
		return nil, protocol.ErrInvalidRequest("the address of the server is not valid", 0)
	}
	req.Header.Set("Content-Type", "application/json")
	maps.Copy(req.Header, header)
	resp, err := c.Do(req)
	if failed := ex.Failure(ctx, err); failed != nil {
		if ctx.Err() != nil { // also where the server said no, but was still saying why
			return nil, Ended(ctx)
		}
		return nil, failed
	}
	return resp.Body, nil
}

// transport fills exchanges.
type transport struct{ base http.RoundTripper }

// RoundTrip sends the request, with the body of the exchange if that has one.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ex, ok := req.Context().Value(exchangeKey{}).(*Exchange)
	if !ok {
		return t.base.RoundTrip(req)
	}
	if ex.request != nil {
		req = ex.replaceBody(req)
	}
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	ex.status = resp.StatusCode
	ex.retryAfter = retryAfter(resp.Header, time.Now())
	ex.body = resp.Body
	ex.tooLarge = resp.ContentLength > ex.limit
	resp.Body = &bounded{ex: ex}
	if ex.failed() {
		_, _ = io.CopyN(io.Discard, resp.Body, maxErrorBody) // keeps what it reads in start
		_ = ex.body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(ex.start))
	}
	return resp, nil
}

func (ex *Exchange) replaceBody(req *http.Request) *http.Request {
	if req.Body != nil {
		_ = req.Body.Close() // a buffer of the library
	}
	req = req.Clone(req.Context())
	req.ContentLength = int64(len(ex.request))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(ex.request)), nil }
	req.Body, _ = req.GetBody() // cannot fail
	return req
}

// CloseIdleConnections lets http.Client find the method of the base.
func (t transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
