package protocol

import "encoding/json"

// SecretSource says where a secret is kept. The variants are the types of this package that implement it.
type SecretSource interface {
	// Kind returns the short name of the backend, for logs and for choosing a resolver. It is not the tag on the
	// wire: vault, aws, gcp, azure, os_keystore, kubernetes, hardware, custom.
	Kind() string
	secretSource()
}

// DecodeSecretSource reads a source. What does not fit is an *Error with code invalid_input.
func DecodeSecretSource(data []byte) (SecretSource, error) {
	var s SecretSource
	err := Unmarshal(data, &s)
	return s, err
}

// VaultSecret is in HashiCorp Vault.
type VaultSecret struct {
	Mount string `json:"mount" wire:"required"`
	Path  string `json:"path" wire:"required"`
}

// AWSSecret is in AWS Secrets Manager; a nil region is the default one.
type AWSSecret struct {
	SecretID string  `json:"secret_id" wire:"required"`
	Region   *string `json:"region"`
}

// GCPSecret is in Google Secret Manager.
type GCPSecret struct {
	Project  string `json:"project" wire:"required"`
	SecretID string `json:"secret_id" wire:"required"`
}

// AzureSecret is in Azure Key Vault.
type AzureSecret struct {
	VaultURL   string `json:"vault_url" wire:"required"`
	SecretName string `json:"secret_name" wire:"required"`
}

// KeystoreSecret is in the keystore of the operating system.
type KeystoreSecret struct {
	Service string `json:"service" wire:"required"`
}

// KubernetesSecret is one key of a Kubernetes secret.
type KubernetesSecret struct {
	Namespace string `json:"namespace" wire:"required"`
	Name      string `json:"name" wire:"required"`
	Key       string `json:"key" wire:"required"`
}

// HardwareSecret is in a slot of a hardware token.
type HardwareSecret struct {
	Slot string `json:"slot" wire:"required"`
}

// CustomSecret is with a provider of the user's own.
type CustomSecret struct {
	Provider string          `json:"provider" wire:"required"`
	Config   json.RawMessage `json:"config" wire:"required"`
}

// Kind implements SecretSource.
func (VaultSecret) Kind() string { return "vault" }

// Kind implements SecretSource.
func (AWSSecret) Kind() string { return "aws" }

// Kind implements SecretSource.
func (GCPSecret) Kind() string { return "gcp" }

// Kind implements SecretSource.
func (AzureSecret) Kind() string { return "azure" }

// Kind implements SecretSource.
func (KeystoreSecret) Kind() string { return "os_keystore" }

// Kind implements SecretSource.
func (KubernetesSecret) Kind() string { return "kubernetes" }

// Kind implements SecretSource.
func (HardwareSecret) Kind() string { return "hardware" }

// Kind implements SecretSource.
func (CustomSecret) Kind() string { return customTag }

func (VaultSecret) secretSource()      {}
func (AWSSecret) secretSource()        {}
func (GCPSecret) secretSource()        {}
func (AzureSecret) secretSource()      {}
func (KeystoreSecret) secretSource()   {}
func (KubernetesSecret) secretSource() {}
func (HardwareSecret) secretSource()   {}
func (CustomSecret) secretSource()     {}

var _ = newUnion(
	variant[SecretSource]{"vault", VaultSecret{}},
	variant[SecretSource]{"aws_secrets_manager", AWSSecret{}},
	variant[SecretSource]{"gcp_secret_manager", GCPSecret{}},
	variant[SecretSource]{"azure_key_vault", AzureSecret{}},
	variant[SecretSource]{"os_keystore", KeystoreSecret{}},
	variant[SecretSource]{"kubernetes", KubernetesSecret{}},
	variant[SecretSource]{"hardware", HardwareSecret{}},
	variant[SecretSource]{customTag, CustomSecret{}},
)

// MarshalJSON writes the source with its type.
func (s VaultSecret) MarshalJSON() ([]byte, error) {
	type plain VaultSecret
	return marshalTagged("vault", plain(s))
}

// MarshalJSON writes the source with its type.
func (s AWSSecret) MarshalJSON() ([]byte, error) {
	type plain AWSSecret
	return marshalTagged("aws_secrets_manager", plain(s))
}

// MarshalJSON writes the source with its type.
func (s GCPSecret) MarshalJSON() ([]byte, error) {
	type plain GCPSecret
	return marshalTagged("gcp_secret_manager", plain(s))
}

// MarshalJSON writes the source with its type.
func (s AzureSecret) MarshalJSON() ([]byte, error) {
	type plain AzureSecret
	return marshalTagged("azure_key_vault", plain(s))
}

// MarshalJSON writes the source with its type.
func (s KeystoreSecret) MarshalJSON() ([]byte, error) {
	type plain KeystoreSecret
	return marshalTagged("os_keystore", plain(s))
}

// MarshalJSON writes the source with its type.
func (s KubernetesSecret) MarshalJSON() ([]byte, error) {
	type plain KubernetesSecret
	return marshalTagged("kubernetes", plain(s))
}

// MarshalJSON writes the source with its type.
func (s HardwareSecret) MarshalJSON() ([]byte, error) {
	type plain HardwareSecret
	return marshalTagged("hardware", plain(s))
}

// MarshalJSON writes the source with its type.
func (s CustomSecret) MarshalJSON() ([]byte, error) {
	type plain CustomSecret
	return marshalTagged(customTag, plain(s))
}

// SecretAccessOutcome is what became of an access to a secret.
type SecretAccessOutcome string

// The outcomes.
const (
	SecretResolved SecretAccessOutcome = "resolved"
	SecretDenied   SecretAccessOutcome = "denied"
	SecretFailed   SecretAccessOutcome = "failed"
	SecretRenewed  SecretAccessOutcome = "renewed"
	SecretReleased SecretAccessOutcome = "released"
)

// UnmarshalJSON reads an outcome.
func (o *SecretAccessOutcome) UnmarshalJSON(raw []byte) error {
	return oneOf(raw, o, SecretResolved, SecretDenied, SecretFailed, SecretRenewed, SecretReleased)
}

// SecretAccessEvent is the audit record of an access. It never holds the secret.
type SecretAccessEvent struct {
	CredentialName string              `json:"credential_name" wire:"required"`
	Source         SecretSource        `json:"source" wire:"required"`
	Outcome        SecretAccessOutcome `json:"outcome" wire:"required"`
	TimestampMS    uint64              `json:"timestamp_ms" wire:"required"` // since 1970
	LeaseID        *string             `json:"lease_id"`
	LeaseTTLSecs   *uint64             `json:"lease_ttl_secs"`
	Reason         *string             `json:"reason"`
	WorkflowID     *WorkflowID         `json:"workflow_id"`
	OperatorID     *OperatorID         `json:"operator_id"`
	TraceID        *string             `json:"trace_id"`
}

// UnmarshalJSON reads an event; the source by its type.
func (e *SecretAccessEvent) UnmarshalJSON(raw []byte) error {
	type plain SecretAccessEvent
	return decodeStruct(raw, (*plain)(e))
}
