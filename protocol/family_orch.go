package protocol

import "errors"

// ErrOperatorNotFound says that nobody serves the operator.
func ErrOperatorNotFound(id OperatorID) *Error {
	return ofKind(KindOrchOperatorNotFound, CodeNotFound, "operator not found: "+string(id))
}

// ErrWorkflowNotFound says that there is no such workflow.
func ErrWorkflowNotFound(id WorkflowID) *Error {
	return ofKind(KindOrchWorkflowNotFound, CodeNotFound, "workflow not found: "+string(id))
}

// ErrDispatchFailed says that an input did not reach its operator or the answer did not come back: unavailable and
// retryable. A refusal is not that; use ErrPolicyDenied, or WithCode where the text must be this one.
func ErrDispatchFailed(text string) *Error {
	return ofKind(KindOrchDispatchFailed, CodeUnavailable, "dispatch failed: "+text)
}

// ErrSignalFailed says that a signal was not accepted.
func ErrSignalFailed(text string) *Error {
	return ofKind(KindOrchSignalFailed, CodeUnavailable, "signal delivery failed: "+text)
}

// ErrPolicyDenied says that a guard refused a dispatch.
func ErrPolicyDenied(reason string) *Error {
	return ofKind(KindOrchPolicyDenied, CodePermissionDenied, "policy denied: "+reason)
}

// WrapOperator says that the operator failed, not its orchestration. It returns nil for nil.
func WrapOperator(err error) *Error { return wrapAs(KindOrchOperator, "operator error: ", err) }

// WrapEnvironment says that the environment failed. If err is WrapEnvOperator's, the operator in it failed, and the
// result is WrapOperator's. It returns nil for nil.
func WrapEnvironment(err error) *Error {
	var e *Error
	if errors.As(err, &e) && e.Kind == KindEnvOperator {
		inner := *e
		inner.Kind = KindOrchOperator
		return &inner
	}
	return wrapAs(KindOrchEnvironment, "environment error: ", err)
}

// ErrStateNotFound says that there is no such value. Reading a missing key is not an error; needing one may be.
func ErrStateNotFound(scope, key string) *Error {
	return ofKind(KindStateNotFound, CodeNotFound, "not found: "+scope+"/"+key)
}

// ErrWriteFailed says that a store could not write.
func ErrWriteFailed(text string) *Error {
	return ofKind(KindStateWriteFailed, CodeUnavailable, "write failed: "+text)
}

// ErrSerialization says that a value cannot be stored or read as what it should be.
func ErrSerialization(text string) *Error {
	return ofKind(KindStateSerialization, CodeInvalidInput, "serialization error: "+text)
}

// ErrProvision says that an environment could not be set up.
func ErrProvision(text string) *Error {
	return ofKind(KindEnvProvision, CodeUnavailable, "provisioning failed: "+text)
}

// ErrIsolation says that an operator tried to leave its environment.
func ErrIsolation(text string) *Error {
	return ofKind(KindEnvIsolation, CodePermissionDenied, "isolation violation: "+text)
}

// ErrCredential says that a credential could not be given to the operator.
func ErrCredential(text string) *Error {
	return ofKind(KindEnvCredential, CodePermissionDenied, "credential injection failed: "+text)
}

// ErrResourceLimit says that the operator used more than it may.
func ErrResourceLimit(text string) *Error {
	return ofKind(KindEnvResource, CodeQuotaExceeded, "resource limit exceeded: "+text)
}

// WrapEnvOperator says that the operator in an environment failed, not the environment. It returns nil for nil.
func WrapEnvOperator(err error) *Error { return wrapAs(KindEnvOperator, "operator error: ", err) }
