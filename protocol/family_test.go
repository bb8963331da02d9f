package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/skelegent/skelegent-go/protocol"
)

// TestFamilies: the texts of the specification, and for each error its code and whether trying again may help.
func TestFamilies(t *testing.T) {
	t.Parallel()
	inner := protocol.NewError(protocol.CodeConflict, "x")
	for _, c := range []struct {
		err   *protocol.Error
		kind  protocol.ErrorKind
		text  string
		code  protocol.Code
		retry bool
	}{
		{protocol.ErrModel("x"), protocol.KindOperatorModel, "model error: x", protocol.CodeModelError, false},
		{protocol.WrapModel(inner), protocol.KindOperatorModel, "model error: x", protocol.CodeConflict, false},
		{protocol.ErrSubDispatch("bash", inner), protocol.KindOperatorSubDispatch, "sub-dispatch error in bash: x", protocol.CodeToolError, false},
		{protocol.ErrContextAssembly(inner), protocol.KindOperatorContext, "context assembly failed: x", protocol.CodeConflict, false},
		{protocol.ErrRetryable("x"), protocol.KindOperatorRetryable, "retryable: x", protocol.CodeUnavailable, true},
		{protocol.ErrNonRetryable("x"), protocol.KindOperatorNonRetryable, "non-retryable: x", protocol.CodeToolError, false},
		{protocol.ErrHalted("x"), protocol.KindOperatorHalted, "halted: x", protocol.CodePermissionDenied, false},

		{protocol.ErrOperatorNotFound("x"), protocol.KindOrchOperatorNotFound, "operator not found: x", protocol.CodeNotFound, false},
		{protocol.ErrWorkflowNotFound("x"), protocol.KindOrchWorkflowNotFound, "workflow not found: x", protocol.CodeNotFound, false},
		{protocol.ErrDispatchFailed("x"), protocol.KindOrchDispatchFailed, "dispatch failed: x", protocol.CodeUnavailable, true},
		{protocol.ErrSignalFailed("x"), protocol.KindOrchSignalFailed, "signal delivery failed: x", protocol.CodeUnavailable, true},
		{protocol.ErrPolicyDenied("x"), protocol.KindOrchPolicyDenied, "policy denied: x", protocol.CodePermissionDenied, false},
		{protocol.WrapOperator(inner), protocol.KindOrchOperator, "operator error: x", protocol.CodeConflict, false},
		{protocol.WrapEnvironment(inner), protocol.KindOrchEnvironment, "environment error: x", protocol.CodeConflict, false},
		{protocol.WrapEnvironment(protocol.WrapEnvOperator(inner)), protocol.KindOrchOperator, "operator error: x", protocol.CodeConflict, false},

		{protocol.ErrStateNotFound("s", "k"), protocol.KindStateNotFound, "not found: s/k", protocol.CodeNotFound, false},
		{protocol.ErrWriteFailed("x"), protocol.KindStateWriteFailed, "write failed: x", protocol.CodeUnavailable, true},
		{protocol.ErrSerialization("x"), protocol.KindStateSerialization, "serialization error: x", protocol.CodeInvalidInput, false},

		{protocol.ErrProvision("x"), protocol.KindEnvProvision, "provisioning failed: x", protocol.CodeUnavailable, true},
		{protocol.ErrIsolation("x"), protocol.KindEnvIsolation, "isolation violation: x", protocol.CodePermissionDenied, false},
		{protocol.ErrCredential("x"), protocol.KindEnvCredential, "credential injection failed: x", protocol.CodePermissionDenied, false},
		{protocol.ErrResourceLimit("x"), protocol.KindEnvResource, "resource limit exceeded: x", protocol.CodeQuotaExceeded, false},
		{protocol.WrapEnvOperator(inner), protocol.KindEnvOperator, "operator error: x", protocol.CodeConflict, false},

		{protocol.ErrProviderTransient("x", 500), protocol.KindProviderTransient, "transient error: x", protocol.CodeUnavailable, true},
		{protocol.ErrRateLimited(time.Second), protocol.KindProviderRateLimited, "rate limited", protocol.CodeQuotaExceeded, true},
		{protocol.ErrContentBlocked("x"), protocol.KindProviderContentBlocked, "content blocked: x", protocol.CodeModelError, false},
		{protocol.ErrAuthFailed("x"), protocol.KindProviderAuthFailed, "auth failed: x", protocol.CodeUnauthorized, false},
		{protocol.ErrInvalidResponse("x"), protocol.KindProviderInvalidResponse, "invalid response: x", protocol.CodeModelError, false},
		{protocol.ErrInvalidRequest("x", 400), protocol.KindProviderInvalidRequest, "invalid request: x", protocol.CodeInvalidInput, false},

		{protocol.ErrToolNotFound("x"), protocol.KindToolNotFound, "tool not found: x", protocol.CodeNotFound, false},
		{protocol.ErrToolFailed("x"), protocol.KindToolExecutionFailed, "execution failed: x", protocol.CodeToolError, false},
		{protocol.ErrToolInput("x"), protocol.KindToolInvalidInput, "invalid input: x", protocol.CodeInvalidInput, false},
		{protocol.ErrToolTransient("x"), protocol.KindToolTransient, "transient error: x", protocol.CodeToolError, true},
		{protocol.ErrToolRateLimited("x", 0), protocol.KindToolRateLimited, "rate limited: x", protocol.CodeQuotaExceeded, true},

		{protocol.ErrEngineHalted("x"), protocol.KindEngineHalted, "halted: x", protocol.CodePermissionDenied, false},
		{protocol.WrapEngineProvider(inner), protocol.KindEngineProvider, "provider: x", protocol.CodeConflict, false},
		{protocol.WrapEngineOperator(inner), protocol.KindEngineOperator, "operator: x", protocol.CodeConflict, false},
		{protocol.WrapEngineTool(inner), protocol.KindEngineTool, "tool: x", protocol.CodeConflict, false},

		{protocol.ErrSecretNotFound(), protocol.KindSecretNotFound, "secret not found", protocol.CodeNotFound, false},
		{protocol.ErrSecretDenied(), protocol.KindSecretAccessDenied, "access denied", protocol.CodePermissionDenied, false},
		{protocol.ErrSecretBackend(), protocol.KindSecretBackend, "backend error", protocol.CodeUnavailable, true},
		{protocol.ErrLeaseExpired(), protocol.KindSecretLeaseExpired, "lease expired", protocol.CodeUnauthorized, false},
		{protocol.ErrNoResolver("vault"), protocol.KindSecretNoResolver, "no resolver for source", protocol.CodeUnsupported, false},
	} {
		if c.err.Error() != c.text || c.err.Code != c.code || c.err.Retryable != c.retry || c.err.Kind != c.kind {
			t.Errorf("got %q %s %v %s, want %q %s %v %s", c.err, c.err.Code, c.err.Retryable, c.err.Kind, c.text, c.code, c.retry, c.kind)
		}
		back := mustUnmarshal[*protocol.Error](t, mustMarshal(t, c.err))
		if !errors.Is(fmt.Errorf("over the wire: %w", back), &protocol.Error{Kind: c.kind}) || back.Retryable != c.retry || back.RetryAfter != c.err.RetryAfter {
			t.Errorf("%s came back as %+v", c.kind, back)
		}
	}
}

// TestWrapping keeps what a retry needs and hides what nobody coded.
func TestWrapping(t *testing.T) {
	t.Parallel()
	limited := protocol.ErrRateLimited(1500 * time.Millisecond)
	e := protocol.WrapOperator(fmt.Errorf("turn 3: %w", protocol.WrapModel(limited)))
	if e.Message != "operator error: model error: rate limited" || e.Code != protocol.CodeQuotaExceeded || !e.Retryable || e.RetryAfter != 1500*time.Millisecond {
		t.Errorf("got %+v", e)
	}
	for _, kind := range []protocol.ErrorKind{protocol.KindOrchOperator, protocol.KindOperatorModel, protocol.KindProviderRateLimited} {
		if !errors.Is(e, &protocol.Error{Kind: kind}) {
			t.Errorf("%s is not in the chain", kind)
		}
	}
	secret := errors.New("password=hunter2")
	if e := protocol.WrapOperator(secret); e.Message != "operator error: internal error; see the node's log" || e.Code != protocol.CodeInternal || !errors.Is(e, secret) {
		t.Errorf("got %+v", e)
	}
	if e := protocol.WrapModel(context.DeadlineExceeded); e.Code != protocol.CodeTimeout || !e.Retryable {
		t.Errorf("got %+v", e)
	}
	for _, e := range []*protocol.Error{protocol.WrapOperator(nil), protocol.WrapEnvironment(nil), protocol.ErrSubDispatch("x", nil), protocol.ErrContextAssembly(nil)} {
		if e != nil {
			t.Errorf("nil became %v", e)
		}
	}
}

func TestErrorValues(t *testing.T) {
	t.Parallel()
	base := protocol.NewError(protocol.CodeUnavailable, "m")
	cause := errors.New("c")
	e := base.With("a", "1").After(time.Second).Because(cause)
	if base.Details != nil || base.RetryAfter != 0 || errors.Unwrap(base) != nil || !errors.Is(e, cause) || e.Details["a"] != "1" {
		t.Errorf("base %+v, e %+v", base, e)
	}
	if d := e.WithCode(protocol.CodeInternal); d.Retryable || d.RetryAfter != 0 || e.Code != protocol.CodeUnavailable || !errors.Is(d, cause) {
		t.Errorf("got %+v", d)
	}
	if errors.Is(e, &protocol.Error{}) || errors.Is(e, &protocol.Error{Code: protocol.CodeTimeout}) || !errors.Is(e, &protocol.Error{Code: protocol.CodeUnavailable}) {
		t.Error("Is")
	}
	if protocol.AsError(nil) != nil || protocol.CodeOf(nil) != "" || protocol.IsRetryable(nil) {
		t.Error("nil")
	}
	var typed *protocol.Error
	if protocol.CodeOf(error(typed)) != protocol.CodeInternal {
		t.Error("a nil pointer in an error")
	}
	if protocol.CodeOf(fmt.Errorf("x: %w", context.Canceled)) != protocol.CodeCancelled || protocol.CodeOf(cause) != protocol.CodeInternal || !protocol.IsRetryable(e) {
		t.Error("codes")
	}
	check(t, "wire", mustMarshal(t, e), `{"code":"unavailable","message":"m","retryable":true,"details":{"a":"1","retry_after_ms":"1000"}}`)
}
