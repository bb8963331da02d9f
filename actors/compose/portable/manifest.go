package portable

import (
	"cmp"
	"encoding/json"

	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/protocol"
)

// Manifest describes an agent without any of its code. All of it is optional.
type Manifest struct {
	Name         string                `json:"name,omitempty"`
	Instructions *compose.Instructions `json:"instructions,omitempty"`
	Model        *Model                `json:"model,omitempty"`
	Tools        []Tool                `json:"tools,omitempty"`
	MCPServers   []MCPServer           `json:"mcp_servers,omitempty"`
	Delegates    []Delegate            `json:"delegates,omitempty"`
	Knowledge    *Knowledge            `json:"knowledge,omitempty"`

	// Warnings say what was ignored when it was read, each with its line.
	Warnings []string `json:"-"`
}

// Provider says how a model is asked.
type Provider string

// The providers.
const (
	// OpenAI is OpenAI itself; the host has the key, in OPENAI_API_KEY.
	OpenAI Provider = "openai"
	// OpenAICompatible is any server that speaks as OpenAI does.
	OpenAICompatible Provider = "openai_compatible"
)

// Model is the model that the agent asks.
type Model struct {
	Provider Provider `json:"provider"`
	Name     string   `json:"name"`
	// BaseURL and APIKey are of OpenAICompatible alone; the key may be empty.
	BaseURL string `json:"base_url,omitempty"`
	APIKey  Secret `json:"api_key,omitempty"`
}

// Secret is a text that is not shown where a manifest is printed. Its JSON is the text itself.
type Secret string

// String hides the text.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// GoString hides the text.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// KindLocal is the only kind of Tool: one that the host has.
const KindLocal = "local"

// Tool is a tool that the agent needs.
type Tool struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// MCPServer is a program that has tools. To run it is the host's job: what it has usually goes into the host's tools as
// <server>.<tool>.
type MCPServer struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
}

// DelegateKind says what a delegate is.
type DelegateKind string

// The kinds of delegate.
const (
	Stub      DelegateKind = "stub"
	InProcess DelegateKind = "in_process"
	Remote    DelegateKind = "remote"
	MCP       DelegateKind = "mcp"
)

// Delegate is another agent that this one can ask, as a tool.
type Delegate struct {
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Kind        DelegateKind `json:"kind"`
	// Agent is what the executor is registered as, if not as Name; Manifest where the other agent is described.
	Agent    string `json:"agent,omitempty"`
	Manifest string `json:"manifest,omitempty"`
}

// ExecutorKey is the name under which the host registers who does the work: that of the agent, or else that of the delegate.
func (d Delegate) ExecutorKey() string { return cmp.Or(d.Agent, d.Name) }

// Knowledge is what the agent brings along. Nothing here reads it.
type Knowledge struct {
	PatternsPath string          `json:"patterns_path,omitempty"`
	Metadata     json.RawMessage `json:"metadata,omitempty"`
}

// JSON writes the manifest as FromJSON reads it, the key of its model included.
func (m *Manifest) JSON() ([]byte, error) { return protocol.Marshal(m) }
