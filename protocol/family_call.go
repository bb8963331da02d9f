package protocol

import (
	"strconv"
	"time"
)

// ErrProviderTransient says that a provider failed and may not the next time. The status is that of HTTP, 0 if there
// is none.
func ErrProviderTransient(message string, status int) *Error {
	return ofKind(KindProviderTransient, CodeUnavailable, "transient error: "+message).withStatus(status)
}

// ErrRateLimited says that a provider wants fewer requests; retryAfter is 0 if it does not say for how long.
func ErrRateLimited(retryAfter time.Duration) *Error {
	return ofKind(KindProviderRateLimited, CodeQuotaExceeded, "rate limited").After(retryAfter)
}

// ErrContentBlocked says that a provider refused the content.
func ErrContentBlocked(message string) *Error {
	return ofKind(KindProviderContentBlocked, CodeModelError, "content blocked: "+message)
}

// ErrAuthFailed says that a provider does not accept the credentials.
func ErrAuthFailed(text string) *Error {
	return ofKind(KindProviderAuthFailed, CodeUnauthorized, "auth failed: "+text)
}

// ErrInvalidResponse says that a provider's answer makes no sense.
func ErrInvalidResponse(text string) *Error {
	return ofKind(KindProviderInvalidResponse, CodeModelError, "invalid response: "+text)
}

// ErrInvalidRequest says that a provider does not accept the request. The status is that of HTTP, 0 if there is none.
func ErrInvalidRequest(message string, status int) *Error {
	return ofKind(KindProviderInvalidRequest, CodeInvalidInput, "invalid request: "+message).withStatus(status)
}

func (e *Error) withStatus(status int) *Error {
	if status == 0 {
		return e
	}
	return e.With("status", strconv.Itoa(status))
}

// ErrToolNotFound says that there is no such tool.
func ErrToolNotFound(name string) *Error {
	return ofKind(KindToolNotFound, CodeNotFound, "tool not found: "+name)
}

// ErrToolFailed says that a tool failed.
func ErrToolFailed(text string) *Error {
	return ofKind(KindToolExecutionFailed, CodeToolError, "execution failed: "+text)
}

// ErrToolInput says that a tool cannot use its input; a model can be told and may do better.
func ErrToolInput(text string) *Error {
	return ofKind(KindToolInvalidInput, CodeInvalidInput, "invalid input: "+text)
}

// ErrToolTransient says that a tool failed and may not the next time.
func ErrToolTransient(text string) *Error {
	return ofKind(KindToolTransient, CodeToolError, "transient error: "+text).After(0)
}

// ErrToolRateLimited says that a tool wants fewer calls; retryAfter is 0 if it does not say for how long.
func ErrToolRateLimited(message string, retryAfter time.Duration) *Error {
	return ofKind(KindToolRateLimited, CodeQuotaExceeded, "rate limited: "+message).After(retryAfter)
}

// ErrEngineHalted says that a rule stopped the agent's loop.
func ErrEngineHalted(reason string) *Error {
	return ofKind(KindEngineHalted, CodePermissionDenied, "halted: "+reason)
}

// WrapEngineProvider says that the loop ended because its provider failed. It returns nil for nil.
func WrapEngineProvider(err error) *Error { return wrapAs(KindEngineProvider, "provider: ", err) }

// WrapEngineOperator says that the loop ended because an operator failed. It returns nil for nil.
func WrapEngineOperator(err error) *Error { return wrapAs(KindEngineOperator, "operator: ", err) }

// WrapEngineTool says that the loop ended because a tool failed. It returns nil for nil.
func WrapEngineTool(err error) *Error { return wrapAs(KindEngineTool, "tool: ", err) }

// The texts of errors about secrets are fixed, so that no backend can put a secret into one.

// ErrSecretNotFound says that a backend has no such secret.
func ErrSecretNotFound() *Error {
	return ofKind(KindSecretNotFound, CodeNotFound, "secret not found")
}

// ErrSecretDenied says that a backend refused.
func ErrSecretDenied() *Error {
	return ofKind(KindSecretAccessDenied, CodePermissionDenied, "access denied")
}

// ErrSecretBackend says that a backend failed.
func ErrSecretBackend() *Error { return ofKind(KindSecretBackend, CodeUnavailable, "backend error") }

// ErrLeaseExpired says that a secret was leased and the lease is over.
func ErrLeaseExpired() *Error {
	return ofKind(KindSecretLeaseExpired, CodeUnauthorized, "lease expired")
}

// ErrNoResolver says that nothing here can resolve secrets of that kind, as SecretSource.Kind names it.
func ErrNoResolver(kind string) *Error {
	return ofKind(KindSecretNoResolver, CodeUnsupported, "no resolver for source").With("source", kind)
}
