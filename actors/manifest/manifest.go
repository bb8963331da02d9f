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
	if place := notText(data); place >= 0 {
		return nil, m.errorIn(data, place, "this is no text in UTF-8")
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

// nullEntry returns the line of an entry of a list that is null, which the library leaves out; 0 if there is none. path are
// the keys that lead to n. What is JSON may have nulls.
func nullEntry(n *yaml.Node, path ...string) int {
	if isJSON(path) {
		return 0
	}
	for i, c := range n.Content {
		if n.Kind == yaml.SequenceNode && c.ShortTag() == "!!null" {
			return c.Line
		}
		below := path
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			below = append(path[:len(path):len(path)], n.Content[i-1].Value)
		}
		if line := nullEntry(c, below...); line > 0 {
			return line
		}
	}
	return 0
}

// isJSON reports whether the value at path is JSON.
func isJSON(path []string) bool {
	if len(path) < 3 || path[0] != "operators" {
		return false
	}
	switch strings.Join(path[2:], ".") {
	case "options", "output.schema", "tools.input_schema", "input_schema", "links.args":
		return true
	}
	return false
}
