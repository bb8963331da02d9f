package openai

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	maxErrorBody  = 64 << 10              // of an error's body that is read
	maxRetryAfter = 24 * time.Hour        // longer waits are as good as this one
	drainTime     = 50 * time.Millisecond // for the end of a stream, so that its connection can be used again
	drainBytes    = 4 << 10
)

var errTooLarge = errors.New("answer larger than the limit")

// exchange is one request and what the library does not tell about its answer. It travels in the context of the call and is
// used by the goroutine of the call alone.
type exchange struct {
	request []byte
	limit   int64
	now     func() time.Time
	redact  redactor

	status     int // 0 until there is an answer
	retryAfter time.Duration
	start      []byte // of the body: up to maxErrorBody
	tooLarge   bool
	broken     error // what ended the body other than its end
	body       io.ReadCloser
}

type exchangeKey struct{}

func withExchange(ctx context.Context, ex *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, ex)
}

// transport fills exchanges.
type transport struct{ base http.RoundTripper }

// newHTTPClient returns own, or a client with a pool of its own, with our transport on top.
func newHTTPClient(own *http.Client) *http.Client {
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

// RoundTrip sends the request of the exchange in place of the library's.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ex, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return t.base.RoundTrip(req)
	}
	if req.Body != nil {
		_ = req.Body.Close() // a buffer of the library
	}
	req = req.Clone(req.Context())
	req.ContentLength = int64(len(ex.request))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(ex.request)), nil }
	req.Body, _ = req.GetBody() // cannot fail
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	ex.status = resp.StatusCode
	ex.retryAfter = retryAfter(resp.Header, ex.now())
	ex.body = resp.Body
	ex.tooLarge = resp.ContentLength > ex.limit
	resp.Body = &bounded{ex: ex}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = newDataLines(resp.Body)
	}
	if ex.failed() {
		_, _ = io.CopyN(io.Discard, resp.Body, maxErrorBody) // keeps what it reads in start
		_ = ex.body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(ex.start))
	}
	return resp, nil
}

// CloseIdleConnections lets http.Client find the method of the base.
func (t transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// failed reports whether the answer is other than 2xx.
func (ex *exchange) failed() bool { return ex.status != 0 && (ex.status < 200 || ex.status > 299) }

// bounded is the body of an answer.
type bounded struct {
	ex   *exchange
	read int64
}

func (b *bounded) Read(p []byte) (int, error) {
	ex := b.ex
	if ex.tooLarge {
		return 0, errTooLarge
	}
	n, err := ex.body.Read(p)
	b.read += int64(n)
	if room := maxErrorBody - len(ex.start); room > 0 {
		ex.start = append(ex.start, p[:min(n, room)]...)
	}
	switch {
	case b.read > ex.limit:
		ex.tooLarge = true
		return 0, errTooLarge
	case err != nil && !errors.Is(err, io.EOF):
		ex.broken = err
	}
	return n, err
}

func (b *bounded) Close() error { return b.ex.body.Close() }

// drain reads the little that follows the last event; a connection that is closed before its answer ended is lost.
func (ex *exchange) drain() {
	timer := time.AfterFunc(drainTime, func() { _ = ex.body.Close() })
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, ex.body, drainBytes)
}

// retryAfter returns how long the server wants us to wait, 0 if it does not say: retry-after-ms, which OpenAI sends,
// or Retry-After in seconds or as a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return wait(ms / 1000)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return wait(s)
	}
	if at, err := http.ParseTime(v); err == nil {
		return wait(at.Sub(now).Seconds())
	}
	return 0
}

func wait(seconds float64) time.Duration {
	if !(seconds > 0) || math.IsNaN(seconds) {
		return 0
	}
	return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
}
