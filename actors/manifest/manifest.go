package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
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
	Kind    string           `yaml:"kind"` // openai or scripted
	BaseURL string           `yaml:"base_url"`
	APIKey  *Secret          `yaml:"api_key"`
	Prices  map[string]Price `yaml:"prices"`
	Script  string           `yaml:"script"` // scripted: the path of the script
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
	Durable     *bool     `yaml:"durable"` // true for agents, false for others if not given
	WhenBusy    string    `yaml:"when_busy"`
	Attempts    int       `yaml:"attempts"`
	Version     string    `yaml:"version"`
	Retention   *Duration `yaml:"retention"` // of idle instances; 30 days if not given
	Schedule    *Schedule `yaml:"schedule"`
	Tool        string    `yaml:"tool"`    // of kind tool: a built-in one
	Command     []string  `yaml:"command"` // of kind exec
	Timeout     *Duration `yaml:"timeout"` // of kind exec, or the longest run
}

// Schedule is what an operator is told again and again.
type Schedule struct {
	Cron    string `yaml:"cron"` // six fields, seconds first, or @every and a duration
	Message string `yaml:"message"`
	Session string `yaml:"session"` // none: each time an instance of its own
}

// Limits bound a run.
type Limits struct {
	MaxTurns               uint32    `yaml:"max_turns"`
	MaxCost                *Decimal  `yaml:"max_cost"`
	MaxDuration            *Duration `yaml:"max_duration"`
	MaxToolCalls           uint32    `yaml:"max_tool_calls"`
	MaxConsecutiveFailures uint32    `yaml:"max_consecutive_failures"`
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

// Parse reads a manifest. name is for errors, relative paths in it are relative to dir. An error is one line that starts
// with name and the number of a line.
func Parse(data []byte, name, dir string) (*Manifest, error) {
	m := &Manifest{name: name, dir: dir, root: &yaml.Node{}}
	if len(data) > maxSize {
		return nil, m.errorIn(data, maxSize, fmt.Sprintf("the file is longer than %d bytes", maxSize))
	}
	if at := notText(data); at >= 0 {
		return nil, m.errorIn(data, at, "this is no text in UTF-8")
	}
	if err := yaml.Unmarshal(data, m.root); err != nil {
		return nil, m.yamlError(data, err)
	}
	if empty(m.root) {
		return nil, m.errorIn(data, 0, "the file is empty; it should have operators")
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(m); err != nil {
		return nil, m.yamlError(data, err)
	}
	var second yaml.Node
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s:%d: more than one YAML document", name, max(1, second.Line))
	}
	if line := nullEntry(m.root); line > 0 {
		return nil, fmt.Errorf("%s:%d: an entry of a list is empty", name, line)
	}
	if err := m.validate(); err != nil {
		return nil, err
	}
	return m, nil
}

// notText returns the place of the first byte that no text in UTF-8 has, -1 if there is none.
func notText(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 || unicode.IsControl(r) && !strings.ContainsRune("\t\r\n\u0085", r) {
			return i
		}
		i += size
	}
	return -1
}

// empty reports whether a file has nothing in it.
func empty(root *yaml.Node) bool {
	return len(root.Content) == 0 || root.Content[0].ShortTag() == "!!null"
}

// nullEntry returns the line of an entry of a list that is null, which the library leaves out; 0 if there is none.
func nullEntry(n *yaml.Node) int {
	for _, c := range n.Content {
		if n.Kind == yaml.SequenceNode && c.ShortTag() == "!!null" {
			return c.Line
		}
		if line := nullEntry(c); line > 0 {
			return line
		}
	}
	return 0
}
