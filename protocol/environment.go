package protocol

import "encoding/json"

// EnvironmentSpec says what an operator may touch while it runs. What an environment cannot enforce it refuses; it
// does not ignore it.
type EnvironmentSpec struct {
	Isolation   IsolationBoundaries `json:"isolation"`
	Credentials []CredentialRef     `json:"credentials"`
	Resources   *ResourceLimits     `json:"resources"` // null for no limits
	Network     *NetworkPolicy      `json:"network"`   // null for no policy
}

// MarshalJSON writes empty lists as [].
func (s EnvironmentSpec) MarshalJSON() ([]byte, error) {
	type plain EnvironmentSpec
	s.Credentials = orEmpty(s.Credentials)
	return Marshal(plain(s))
}

// IsolationBoundary is one wall around an operator. The variants are the types of this package that
// implement it.
type IsolationBoundary interface{ isolationBoundary() }

// IsolationBoundaries is a list of walls, from the outermost; nil is written as [].
type IsolationBoundaries []IsolationBoundary

// MarshalJSON writes a list, never null.
func (b IsolationBoundaries) MarshalJSON() ([]byte, error) {
	return Marshal(orEmpty([]IsolationBoundary(b)))
}

// UnmarshalJSON reads a list; null is an empty one.
func (b *IsolationBoundaries) UnmarshalJSON(raw []byte) error {
	all, err := isolationUnion.decodeAll(raw)
	*b = all
	return err
}

// ProcessIsolation is a process of its own.
type ProcessIsolation struct{}

// ContainerIsolation is a container; a nil image is the environment's own.
type ContainerIsolation struct {
	Image *string `json:"image"`
}

// GvisorIsolation is a kernel in user space.
type GvisorIsolation struct{}

// MicroVMIsolation is a small virtual machine.
type MicroVMIsolation struct{}

// WasmIsolation is a WebAssembly sandbox; a nil runtime is the environment's own.
type WasmIsolation struct {
	Runtime *string `json:"runtime"`
}

// NetworkIsolation is a wall of network rules.
type NetworkIsolation struct {
	Rules []NetworkRule `json:"rules" wire:"required"`
}

// CustomIsolation is a wall of a kind of the user's own.
type CustomIsolation struct {
	BoundaryType string          `json:"boundary_type" wire:"required"`
	Config       json.RawMessage `json:"config" wire:"required"`
}

func (ProcessIsolation) isolationBoundary()   {}
func (ContainerIsolation) isolationBoundary() {}
func (GvisorIsolation) isolationBoundary()    {}
func (MicroVMIsolation) isolationBoundary()   {}
func (WasmIsolation) isolationBoundary()      {}
func (NetworkIsolation) isolationBoundary()   {}
func (CustomIsolation) isolationBoundary()    {}

var isolationUnion = newUnion(
	variant[IsolationBoundary]{"process", ProcessIsolation{}},
	variant[IsolationBoundary]{"container", ContainerIsolation{}},
	variant[IsolationBoundary]{"gvisor", GvisorIsolation{}},
	variant[IsolationBoundary]{"micro_vm", MicroVMIsolation{}},
	variant[IsolationBoundary]{"wasm", WasmIsolation{}},
	variant[IsolationBoundary]{"network_policy", NetworkIsolation{}},
	variant[IsolationBoundary]{customTag, CustomIsolation{}},
)

// MarshalJSON writes the boundary with its type.
func (b ProcessIsolation) MarshalJSON() ([]byte, error) { return marshalTagged("process", struct{}{}) }

// MarshalJSON writes the boundary with its type.
func (b ContainerIsolation) MarshalJSON() ([]byte, error) {
	type plain ContainerIsolation
	return marshalTagged("container", plain(b))
}

// MarshalJSON writes the boundary with its type.
func (b GvisorIsolation) MarshalJSON() ([]byte, error) { return marshalTagged("gvisor", struct{}{}) }

// MarshalJSON writes the boundary with its type.
func (b MicroVMIsolation) MarshalJSON() ([]byte, error) { return marshalTagged("micro_vm", struct{}{}) }

// MarshalJSON writes the boundary with its type.
func (b WasmIsolation) MarshalJSON() ([]byte, error) {
	type plain WasmIsolation
	return marshalTagged("wasm", plain(b))
}

// MarshalJSON writes the boundary with its type.
func (b NetworkIsolation) MarshalJSON() ([]byte, error) {
	type plain NetworkIsolation
	b.Rules = orEmpty(b.Rules)
	return marshalTagged("network_policy", plain(b))
}

// MarshalJSON writes the boundary with its type.
func (b CustomIsolation) MarshalJSON() ([]byte, error) {
	type plain CustomIsolation
	return marshalTagged(customTag, plain(b))
}

// ResourceLimits are limits in the notation of Kubernetes, such as "500m" or "2Gi"; nil is no limit.
type ResourceLimits struct {
	CPU    *string `json:"cpu"`
	Memory *string `json:"memory"`
	Disk   *string `json:"disk"`
	GPU    *string `json:"gpu"`
}

// NetworkPolicy says what may be reached: the first rule that fits, else Default.
type NetworkPolicy struct {
	Default NetworkAction `json:"default" wire:"required"`
	Rules   []NetworkRule `json:"rules" wire:"required"`
}

// MarshalJSON writes an empty list of rules as [].
func (p NetworkPolicy) MarshalJSON() ([]byte, error) {
	type plain NetworkPolicy
	p.Rules = orEmpty(p.Rules)
	return Marshal(plain(p))
}

// NetworkRule allows or denies a destination: a host name, address or range.
type NetworkRule struct {
	Destination string        `json:"destination" wire:"required"`
	Port        *uint16       `json:"port"` // null for every port
	Action      NetworkAction `json:"action" wire:"required"`
}

// NetworkAction is what a network rule does.
type NetworkAction string

// The actions.
const (
	NetworkAllow NetworkAction = "allow"
	NetworkDeny  NetworkAction = "deny"
)

// UnmarshalJSON reads an action.
func (a *NetworkAction) UnmarshalJSON(raw []byte) error {
	return oneOf(raw, a, NetworkAllow, NetworkDeny)
}
