package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/skelegent/skelegent-go/actors/provider"
	"github.com/skelegent/skelegent-go/protocol"
)

// maxSize bounds a manifest in bytes.
const maxSize = 4 << 20

// Manifest is what the file says.
type Manifest struct {
	Providers map[string]Provider `yaml:"providers"`
	Operators map[string]Operator `yaml:"operators"`
	Effects   map[string]Effect   `yaml:"effects"`

	name string // of the file, for errors
	dir  string // what relative paths are relative to
	root *yaml.Node
}

// Provider is how to reach a model.
type Provider struct {
	Kind    string          `yaml:"kind"` // openai or scripted
	BaseURL string          `yaml:"base_url"`
	APIKey  *Secret         `yaml:"api_key"`
	Prices  provider.Prices `yaml:"prices"`
	Script  string          `yaml:"script"` // scripted: the path of the script
}

// Secret says where a secret is; exactly one field is set.
type Secret struct {
	Env  string `yaml:"env"`
	File string `yaml:"file"`
}

// Operator is one operator of the node.
type Operator struct {
	Kind        string    `yaml:"kind"` // agent if empty
	Description string    `yaml:"description"`
	Provider    string    `yaml:"provider"`
	Model       string    `yaml:"model"`
	System      string    `yaml:"system"`
	Tools       []Tool    `yaml:"tools"`
	Limits      *Limits   `yaml:"limits"`
	Ceiling     *Limits   `yaml:"ceiling"` // what an input's config cannot exceed
	MaxTokens   uint32    `yaml:"max_tokens"`
	Temperature *float64  `yaml:"temperature"`
	Concurrency int       `yaml:"concurrency"`
	Waiting     int       `yaml:"waiting"`
	Durable     bool      `yaml:"durable"`
	Tool        string    `yaml:"tool"`    // of kind tool: a built-in one
	Command     []string  `yaml:"command"` // of kind exec
	Timeout     *Duration `yaml:"timeout"` // of kind exec, or the longest run
}

// Limits bound a run.
type Limits struct {
	MaxTurns               uint32            `yaml:"max_turns"`
	MaxCost                *protocol.Decimal `yaml:"max_cost"`
	MaxDuration            *Duration         `yaml:"max_duration"`
	MaxToolCalls           uint32            `yaml:"max_tool_calls"`
	MaxConsecutiveFailures uint32            `yaml:"max_consecutive_failures"`
}

// Tool is a tool of an agent: a name, or more about one.
type Tool struct {
	Tool        string `yaml:"tool"`
	Operator    string `yaml:"operator"`
	As          string `yaml:"as"`
	Description string `yaml:"description"`
	name        string // the short form: a built-in tool, or an operator of the manifest
}

// UnmarshalYAML reads a name or a mapping, strictly.
func (t *Tool) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		t.name = n.Value
		return nil
	}
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		switch n.Content[i].Value {
		case "tool", "operator", "as", "description":
		default: // Decode of a node is not strict
			return fmt.Errorf("line %d: field %s not found in type manifest.Tool", n.Content[i].Line, n.Content[i].Value)
		}
	}
	type plain Tool
	return n.Decode((*plain)(t))
}

// Effect is an executor of custom effects.
type Effect struct {
	Kind        string    `yaml:"kind"` // exec
	Command     []string  `yaml:"command"`
	Idempotent  bool      `yaml:"idempotent"`
	Concurrency int       `yaml:"concurrency"`
	Attempts    int       `yaml:"attempts"`
	Backoff     *Duration `yaml:"backoff"`
	Timeout     *Duration `yaml:"timeout"`
}

// Duration is a duration with its unit, such as 2m.
type Duration time.Duration

// UnmarshalText reads a positive duration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v <= 0 {
		return fmt.Errorf("%q is no positive duration such as 30s or 2m", text)
	}
	*d = Duration(v)
	return nil
}

func (d *Duration) value() time.Duration {
	if d == nil {
		return 0
	}
	return time.Duration(*d)
}

// Load reads the manifest at path.
func Load(path string) (*Manifest, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	return Parse(data, path, dir)
}

// Parse reads a manifest. name is for errors, relative paths in it are relative to dir. Errors name the line.
func Parse(data []byte, name, dir string) (*Manifest, error) {
	m := &Manifest{name: name, dir: dir, root: &yaml.Node{}}
	if len(data) > maxSize {
		return nil, fmt.Errorf("%s: longer than %d bytes", name, maxSize)
	}
	if err := yaml.Unmarshal(data, m.root); err != nil {
		return nil, m.yamlError(err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(m); err != nil && !errors.Is(err, io.EOF) {
		return nil, m.yamlError(err)
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one YAML document", name)
	}
	return m, m.validate()
}

// linePattern and fieldPattern read what the YAML library says.
var (
	linePattern  = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)
	fieldPattern = regexp.MustCompile(`^field (\S+) not found in type \S+$`)
	typePattern  = regexp.MustCompile("^cannot unmarshal \\S+ (`[^`]*`)? ?into (\\S+)$")
)

// yamlError makes one line of an error of the library: the first.
func (m *Manifest) yamlError(err error) error {
	text := err.Error()
	var typed *yaml.TypeError
	if errors.As(err, &typed) && len(typed.Errors) > 0 {
		text = typed.Errors[0]
	}
	text, _, _ = strings.Cut(text, "\n")
	match := linePattern.FindStringSubmatch(text)
	if match == nil {
		return fmt.Errorf("%s: %s", m.name, strings.TrimPrefix(text, "yaml: "))
	}
	what := match[2]
	if f := fieldPattern.FindStringSubmatch(what); f != nil {
		what = fmt.Sprintf("unknown key %q", f[1])
	} else if f := typePattern.FindStringSubmatch(what); f != nil {
		what = fmt.Sprintf("value %s does not fit here, where a %s is needed", f[1], strings.TrimPrefix(f[2], "manifest."))
	}
	return fmt.Errorf("%s:%s: %s", m.name, match[1], what)
}

// errorAt places an error at the node of path.
func (m *Manifest) errorAt(err error, path ...string) error {
	return fmt.Errorf("%s:%d: %s: %w", m.name, m.line(path), strings.Join(path, "."), err)
}

// line finds the line of the deepest node of path that exists.
func (m *Manifest) line(path []string) int {
	n, line := m.root, 1
	if n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	for _, key := range path {
		found := false
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				line, n, found = n.Content[i].Line, n.Content[i+1], true
				break
			}
		}
		if !found {
			break
		}
	}
	return line
}
