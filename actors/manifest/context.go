package manifest

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"

	"github.com/skelegent/skelegent-go/actors/compose/pack"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// maxSources bounds what a context is taken from.
const maxSources = 32

// Context is what an agent is shown before what was said, as far as it fits.
type Context struct {
	MaxChars Count           `yaml:"max_chars"` // 4000 if not given
	MaxItems Count           `yaml:"max_items"` // 16 if not given
	Preamble string          `yaml:"preamble"`
	Sources  []ContextSource `yaml:"sources"` // those that come first are taken first
}

// ContextSource is one place: exactly one of its first three keys is given.
type ContextSource struct {
	Text   string   `yaml:"text"`
	Files  string   `yaml:"files"`  // a folder
	Memory *Memory  `yaml:"memory"` // of the state store
	Match  []string `yaml:"match"`  // of files: patterns of their names

	line int
}

// Memory is what the run remembers under these keys; of its session or, without one, of its operator.
type Memory struct {
	Keys   []string `yaml:"keys"`
	Prefix string   `yaml:"prefix"`
	Query  string   `yaml:"query"`
}

// UnmarshalYAML reads a mapping, strictly.
func (s *ContextSource) UnmarshalYAML(n *yaml.Node) error {
	if s.line = n.Line; n.Kind != yaml.MappingNode {
		return errorOf(n, "a source must be {text: TEXT}, {files: FOLDER} or {memory: {keys: [KEY]}}")
	}
	type plain ContextSource
	return decodeMapping(n, (*plain)(s), "text", "files", "memory", "match")
}

// UnmarshalYAML reads a mapping, strictly.
func (m *Memory) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return errorOf(n, "memory must be {keys: [KEY], prefix: TEXT, query: TEXT}")
	}
	type plain Memory
	return decodeMapping(n, (*plain)(m), "keys", "prefix", "query")
}

func (c *Context) validate() error {
	switch {
	case c == nil:
		return nil
	case len(c.Sources) == 0:
		return at(errors.New("a context needs sources"), "context", "sources")
	case len(c.Sources) > maxSources:
		return at(fmt.Errorf("more than %d sources", maxSources), "context", "sources")
	}
	for _, s := range c.Sources {
		if err := s.validate(); err != nil {
			return at(&lineError{err, s.line}, "context", "sources")
		}
	}
	return nil
}

func (s ContextSource) validate() error {
	given := 0
	for _, there := range []bool{s.Text != "", s.Files != "", s.Memory != nil} {
		if there {
			given++
		}
	}
	switch {
	case given != 1:
		return errors.New("a source is a text, files or memory, one of them")
	case s.Match != nil && s.Files == "":
		return errors.New("match is for files")
	case s.Memory != nil && len(s.Memory.Keys) == 0 && s.Memory.Prefix == "" && s.Memory.Query == "":
		return errors.New("memory needs keys, a prefix or a query")
	}
	return nil
}

// assemble is what a run begins with.
func (m *Manifest) assemble(o Operator, deps Deps) ([]engine.Op, error) {
	if o.Context == nil {
		return nil, nil
	}
	var sources []pack.Source
	for i, s := range o.Context.Sources {
		source, err := m.source(i, s, deps)
		if err != nil {
			return nil, at(&lineError{err, s.line}, "context", "sources")
		}
		sources = append(sources, pack.Ranked(i, source))
	}
	cfg := pack.AssembleConfig{
		Pack:     pack.Config{MaxChars: int(o.Context.MaxChars), MaxItems: int(o.Context.MaxItems)},
		Preamble: o.Context.Preamble,
	}
	return []engine.Op{pack.Assemble(cfg, sources...)}, nil
}

func (m *Manifest) source(i int, s ContextSource, deps Deps) (pack.Source, error) {
	switch {
	case s.Text != "":
		return pack.Fixed(pack.NewItem(pack.Instruction, fmt.Sprintf("text/%d", i+1), s.Text)), nil
	case s.Files != "":
		if info, err := os.Stat(m.path(s.Files)); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("there is no folder %.200q", s.Files)
		}
		return pack.Files{Root: m.path(s.Files), Match: s.Match}, nil
	case deps.State == nil:
		return nil, errors.New("there is no state store")
	}
	return pack.State{
		Store: deps.State, Keys: s.Memory.Keys, Prefix: s.Memory.Prefix, Query: s.Memory.Query,
		ScopeOf: func(ctx context.Context) protocol.Scope { return tool.ScopeFrom(ctx) },
	}, nil
}
