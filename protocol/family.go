package protocol

// ErrorKind is the member of one of the specification's error families: more exact than a Code, and kept on the
// wire. Compare with errors.Is(err, &Error{Kind: k}).
type ErrorKind string

// The kinds, by family.
const (
	KindOperatorModel        ErrorKind = "operator.model"
	KindOperatorSubDispatch  ErrorKind = "operator.sub_dispatch"
	KindOperatorContext      ErrorKind = "operator.context_assembly"
	KindOperatorRetryable    ErrorKind = "operator.retryable"
	KindOperatorNonRetryable ErrorKind = "operator.non_retryable"
	KindOperatorHalted       ErrorKind = "operator.halted"

	KindOrchOperatorNotFound ErrorKind = "orch.operator_not_found"
	KindOrchNotStarted       ErrorKind = "orch.not_started" // refused before the operator began
	KindOrchWorkflowNotFound ErrorKind = "orch.workflow_not_found"
	KindOrchDispatchFailed   ErrorKind = "orch.dispatch_failed"
	KindOrchSignalFailed     ErrorKind = "orch.signal_failed"
	KindOrchPolicyDenied     ErrorKind = "orch.policy_denied"
	KindOrchOperator         ErrorKind = "orch.operator"
	KindOrchEnvironment      ErrorKind = "orch.environment"

	KindStateNotFound      ErrorKind = "state.not_found"
	KindStateWriteFailed   ErrorKind = "state.write_failed"
	KindStateSerialization ErrorKind = "state.serialization"

	KindEnvProvision  ErrorKind = "env.provision_failed"
	KindEnvIsolation  ErrorKind = "env.isolation_violation"
	KindEnvCredential ErrorKind = "env.credential_failed"
	KindEnvResource   ErrorKind = "env.resource_exceeded"
	KindEnvOperator   ErrorKind = "env.operator"

	KindProviderTransient       ErrorKind = "provider.transient"
	KindProviderRateLimited     ErrorKind = "provider.rate_limited"
	KindProviderContentBlocked  ErrorKind = "provider.content_blocked"
	KindProviderAuthFailed      ErrorKind = "provider.auth_failed"
	KindProviderInvalidResponse ErrorKind = "provider.invalid_response"
	KindProviderInvalidRequest  ErrorKind = "provider.invalid_request"

	KindToolNotFound        ErrorKind = "tool.not_found"
	KindToolExecutionFailed ErrorKind = "tool.execution_failed"
	KindToolInvalidInput    ErrorKind = "tool.invalid_input"
	KindToolTransient       ErrorKind = "tool.transient"
	KindToolRateLimited     ErrorKind = "tool.rate_limited"

	KindEngineHalted   ErrorKind = "engine.halted"
	KindEngineProvider ErrorKind = "engine.provider"
	KindEngineOperator ErrorKind = "engine.operator"
	KindEngineTool     ErrorKind = "engine.tool"

	KindSecretNotFound     ErrorKind = "secret.not_found"
	KindSecretAccessDenied ErrorKind = "secret.access_denied"
	KindSecretBackend      ErrorKind = "secret.backend"
	KindSecretLeaseExpired ErrorKind = "secret.lease_expired"
	KindSecretNoResolver   ErrorKind = "secret.no_resolver"
)

// ofKind returns an error of a family. Whether it is retryable follows from the code.
func ofKind(kind ErrorKind, code Code, text string) *Error {
	e := NewError(code, text)
	e.Kind = kind
	return e
}

// wrapAs puts prefix before what err says and gives it a kind. Code, retry hints and details stay those of err, which
// becomes the cause. An uncoded err shows as internal, its text only in our log. It returns nil for nil.
func wrapAs(kind ErrorKind, prefix string, err error) *Error {
	if err == nil {
		return nil
	}
	e := *AsError(err)
	e.Kind, e.Message, e.cause = kind, prefix+e.Message, err
	return &e
}

// The texts of the errors below are those of the specification. They are sent to callers, so what goes into them
// must be safe to show; what is not belongs into Because.

// ErrModel says that a model or its provider failed.
func ErrModel(text string) *Error {
	return ofKind(KindOperatorModel, CodeModelError, "model error: "+text)
}

// WrapModel is ErrModel with the code, retry hints and cause of a provider's error. It returns nil for nil.
func WrapModel(err error) *Error { return wrapAs(KindOperatorModel, "model error: ", err) }

// ErrSubDispatch says that a tool or operator that the operator called failed. Its code is tool_error whatever err is,
// so that a missing tool does not look like a missing operator; whether it can be retried stays as it was.
func ErrSubDispatch(operator OperatorID, err error) *Error {
	e := wrapAs(KindOperatorSubDispatch, "sub-dispatch error in "+string(operator)+": ", err)
	if e != nil {
		e.Code = CodeToolError
	}
	return e
}

// ErrContextAssembly says that what the model should see could not be put together. It returns nil for nil.
func ErrContextAssembly(err error) *Error {
	return wrapAs(KindOperatorContext, "context assembly failed: ", err)
}

// ErrRetryable says that the operator failed and may succeed another time.
func ErrRetryable(text string) *Error {
	return ofKind(KindOperatorRetryable, CodeUnavailable, "retryable: "+text)
}

// ErrNonRetryable says that the operator failed and will fail again.
func ErrNonRetryable(text string) *Error {
	return ofKind(KindOperatorNonRetryable, CodeToolError, "non-retryable: "+text)
}

// ErrHalted says that a rule stopped the operator.
func ErrHalted(reason string) *Error {
	return ofKind(KindOperatorHalted, CodePermissionDenied, "halted: "+reason)
}
