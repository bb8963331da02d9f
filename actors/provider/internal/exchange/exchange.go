package exchange

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// DefaultMaxAnswer is the largest answer in bytes where Config names none.
const DefaultMaxAnswer = 16 << 20

const (
	maxErrorBody = 64 << 10              // of an error's body that is read
	drainTime    = 50 * time.Millisecond // for the end of a stream, so that its connection can be used again
	drainBytes   = 4 << 10
)

// ErrTooLarge is what reading an answer, a line or an event ends with that is larger than its limit.
var ErrTooLarge = errors.New("answer larger than the limit")

// Config is what New needs.
type Config struct {
	// Request is the body to send, in place of the one that a client library encodes; nil sends the library's. It is not
	// changed and must not be while the call goes on.
	Request []byte
	// MaxAnswer is the largest answer in bytes, streams included; DefaultMaxAnswer if 0.
	MaxAnswer int64
	// Key and the texts of Prompt never appear in errors.
	Key    string
	Prompt protocol.InferRequest
	// Dialect is how the server tells of errors.
	Dialect Dialect
}

// Exchange is one request and what a client library does not tell about its answer. It travels in the context of the call
// and is used by the goroutine of the call alone.
type Exchange struct {
	request []byte
	limit   int64
	dialect Dialect
	redact  redactor

	status     int // 0 until there is an answer
	retryAfter time.Duration
	start      []byte // of the body: up to maxErrorBody
	tooLarge   bool
	broken     error // what ended the body other than its end
	body       io.ReadCloser
}

// New returns the exchange of one call.
func New(cfg Config) *Exchange {
	if cfg.MaxAnswer <= 0 {
		cfg.MaxAnswer = DefaultMaxAnswer
	}
	return &Exchange{
		request: cfg.Request, limit: cfg.MaxAnswer, dialect: cfg.Dialect.withDefaults(),
		redact: redactor{key: cfg.Key, req: cfg.Prompt},
	}
}

type exchangeKey struct{}

// With returns ctx with the exchange in it, for a request of a client that NewClient made.
func (ex *Exchange) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, ex)
}

// Broken reports whether the connection broke while the body was read.
func (ex *Exchange) Broken() bool { return ex.broken != nil }

// Redact returns what a server said as one line of at most 200 bytes, without the key and what looks like one, and
// without what it repeats of the prompt.
func (ex *Exchange) Redact(said string) string { return ex.redact.line(said) }

// Drain reads the little that follows the last event of a stream, for at most 50 ms: a connection that is closed before
// its answer ended is lost. The body is of no use after it.
func (ex *Exchange) Drain() {
	if ex.body == nil {
		return
	}
	timer := time.AfterFunc(drainTime, func() { _ = ex.body.Close() })
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, ex.body, drainBytes)
}

// failed reports whether the answer is other than 2xx.
func (ex *Exchange) failed() bool { return ex.status != 0 && (ex.status < 200 || ex.status > 299) }

// bounded is the body of an answer.
type bounded struct {
	ex   *Exchange
	read int64
}

func (b *bounded) Read(p []byte) (int, error) {
	ex := b.ex
	if ex.tooLarge {
		return 0, ErrTooLarge
	}
	n, err := ex.body.Read(p)
	b.read += int64(n)
	if room := maxErrorBody - len(ex.start); room > 0 {
		ex.start = append(ex.start, p[:min(n, room)]...)
	}
	switch {
	case b.read > ex.limit:
		ex.tooLarge = true
		return 0, ErrTooLarge
	case err != nil && !errors.Is(err, io.EOF):
		ex.broken = err
	}
	return n, err
}

func (b *bounded) Close() error { return b.ex.body.Close() }
