package openai

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/skelegent/skelegent-go/protocol"
)

// failure returns what went wrong as an *Error, or nil. The library's errors are no causes of it: they have whole bodies
// in their texts.
func (ex *exchange) failure(ctx context.Context, err error) error {
	var api *goopenai.APIError
	switch {
	case err != nil && ctx.Err() != nil:
		return ended(ctx)
	case ex.failed():
		return ex.refused(ex.status, parseReport(ex.start))
	case err == nil:
		return nil
	case ex.tooLarge:
		return protocol.ErrInvalidResponse(fmt.Sprintf("it is larger than %d bytes", ex.limit))
	case ex.broken != nil:
		return protocol.ErrProviderTransient("the connection broke: "+reason(ex.broken), 0).Because(ex.broken)
	case ex.status == 0:
		return protocol.ErrProviderTransient("no answer: "+reason(err), 0).Because(err)
	case errors.As(err, &api):
		return ex.reported(reportOf(api))
	}
	return protocol.ErrInvalidResponse("it is not a chat completion").Because(err)
}

// ended is the error of a context that ended: timeout or cancelled.
func ended(ctx context.Context) *protocol.Error {
	err := ctx.Err()
	return protocol.AsError(err).Because(fmt.Errorf("%w: %w", err, context.Cause(ctx)))
}

// refused maps the status of an answer that is an error.
func (ex *exchange) refused(status int, r report) *protocol.Error {
	said := ex.redact.line(r.message)
	switch {
	case status == http.StatusTooManyRequests && r.code == "insufficient_quota":
		e := protocol.ErrRateLimited(0)
		e.Message, e.Retryable = "rate limited: the quota of the account is used up", false
		return e
	case status == http.StatusTooManyRequests:
		return protocol.ErrRateLimited(ex.retryAfter)
	case status == http.StatusUnauthorized: // what is said may be half a key
		return protocol.ErrAuthFailed("the server does not accept the API key" + r.codeInBrackets())
	case status == http.StatusForbidden:
		return protocol.ErrAuthFailed(orElse(said, "forbidden")).WithCode(protocol.CodePermissionDenied)
	case r.blocked:
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

// reported maps an error that came with status 200 or within a stream, by what it says of itself.
func (ex *exchange) reported(r report) *protocol.Error {
	if status, err := strconv.Atoi(r.code); err == nil && status >= 400 && status <= 599 {
		return ex.refused(status, r)
	}
	kind := r.code + " " + r.kind
	switch {
	case strings.Contains(kind, "rate_limit") || strings.Contains(kind, "insufficient_quota"):
		return ex.refused(http.StatusTooManyRequests, r)
	case strings.Contains(kind, "authentication") || strings.Contains(kind, "invalid_api_key"):
		return ex.refused(http.StatusUnauthorized, r)
	case strings.Contains(kind, "permission"):
		return ex.refused(http.StatusForbidden, r)
	case r.blocked:
		return ex.refused(http.StatusBadRequest, r)
	case strings.Contains(kind, "invalid_request"):
		return protocol.ErrInvalidRequest(orElse(ex.redact.line(r.message), "refused"), 0)
	}
	return protocol.ErrProviderTransient(orElse(ex.redact.line(r.message), "the server reported an error"), 0)
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
