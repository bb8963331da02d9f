package exchange

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"

	"github.com/skelegent/skelegent-go/protocol"
)

// Failure returns what went wrong as a *protocol.Error, or nil. Err is what sending, a client library or reading the answer
// returned, nil if they noticed nothing; the errors of libraries for refused requests are no causes of it, since they have
// whole bodies in their texts.
func (ex *Exchange) Failure(ctx context.Context, err error) error {
	switch {
	case err != nil && ctx.Err() != nil:
		return Ended(ctx)
	case ex.failed():
		return ex.refused(ex.status, ex.Report())
	case err == nil:
		return nil
	case ex.tooLarge:
		return protocol.ErrInvalidResponse(fmt.Sprintf("it is larger than %d bytes", ex.limit))
	case errors.Is(err, ErrTooLarge):
		return protocol.ErrInvalidResponse("a piece of it is too large")
	case ex.broken != nil:
		return protocol.ErrProviderTransient("the connection broke: "+reason(ex.broken), 0).Because(ex.broken)
	case ex.status == 0:
		return protocol.ErrProviderTransient("no answer: "+reason(err), 0).Because(err)
	}
	if ex.dialect.Library != nil {
		if r, ok := ex.dialect.Library(err); ok {
			return ex.Reported(r)
		}
	}
	return protocol.ErrInvalidResponse("it is not " + ex.dialect.Answer).Because(err)
}

// Report is what the begin of the body says if it is an error; some servers send such with status 200.
func (ex *Exchange) Report() Report { return ex.dialect.Read(ex.start) }

// Ended is the error of a context that ended: timeout or cancelled, with the cause behind it.
func Ended(ctx context.Context) *protocol.Error {
	err := ctx.Err()
	return protocol.AsError(err).Because(fmt.Errorf("%w: %w", err, context.Cause(ctx)))
}

// Reported maps an error that came with status 200 or within a stream, by what it says of itself.
func (ex *Exchange) Reported(r Report) *protocol.Error {
	if status := r.status(); status != 0 {
		return ex.refused(status, r)
	}
	said := ex.Redact(r.Message)
	switch r.Class {
	case RateLimited, Exhausted:
		return ex.refused(http.StatusTooManyRequests, r)
	case Unauthorized:
		return ex.refused(http.StatusUnauthorized, r)
	case Forbidden:
		return ex.refused(http.StatusForbidden, r)
	case Blocked:
		return ex.refused(http.StatusBadRequest, r)
	case Invalid:
		return protocol.ErrInvalidRequest(orElse(said, "refused"), 0)
	case Unknown:
	}
	return protocol.ErrProviderTransient(orElse(said, "the server reported an error"), 0)
}

// refused maps the status of an answer that is an error.
func (ex *Exchange) refused(status int, r Report) *protocol.Error {
	said := ex.Redact(r.Message)
	switch {
	case status == http.StatusTooManyRequests && r.Class == Exhausted:
		e := protocol.ErrRateLimited(0)
		e.Message, e.Retryable = "rate limited: the quota of the account is used up", false
		return e
	case status == http.StatusTooManyRequests:
		return protocol.ErrRateLimited(ex.retryAfter)
	case status == http.StatusUnauthorized: // what is said may be half a key
		return protocol.ErrAuthFailed("the server does not accept the API key" + r.codeInBrackets())
	case status == http.StatusForbidden:
		return protocol.ErrAuthFailed(orElse(said, "forbidden")).WithCode(protocol.CodePermissionDenied)
	case r.Class == Blocked:
		return protocol.ErrContentBlocked(orElse(said, "by the provider's policy"))
	case status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooEarly:
		e := protocol.ErrProviderTransient(orElse(said, describe(status)), status)
		if ex.retryAfter > 0 {
			e = e.After(ex.retryAfter)
		}
		return e
	case status < 400:
		return protocol.ErrInvalidRequest("the server redirects; use the base URL that it is at", status)
	}
	return protocol.ErrInvalidRequest(orElse(said, describe(status)), status)
}

func describe(status int) string {
	return strings.TrimSpace("HTTP " + strconv.Itoa(status) + " " + http.StatusText(status))
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// reason is a short text for an error of the network, without addresses.
func reason(err error) string {
	var errno syscall.Errno
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &errno):
		return errno.Error()
	case errors.As(err, &dns):
		return "the name of the host cannot be resolved"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "it took too long"
	}
	return "network error"
}
