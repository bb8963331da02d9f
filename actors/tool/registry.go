package tool

import (
	"slices"

	"github.com/skelegent/skelegent-go/protocol"
)

// Registry is a set of tools by name. Its order is that of registration, so that requests made from it are the same each
// time and providers can cache them. It is safe for concurrent use as long as nobody adds.
type Registry struct {
	entries []entry
	index   map[string]int
}

type entry struct {
	tool   Tool
	schema protocol.ToolSchema
}

// NewRegistry returns a registry of the tools; the error is CheckName's.
func NewRegistry(tools ...Tool) (*Registry, error) {
	r := &Registry{index: make(map[string]int, len(tools))}
	for _, t := range tools {
		if err := r.Add(t); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Add registers t. One of the same name is replaced, at its place. The error is CheckName's.
func (r *Registry) Add(t Tool) error {
	m := t.Metadata()
	if err := CheckName(m.Name); err != nil {
		return err
	}
	r.put(entry{t, protocol.ToolSchema{Name: m.Name, Description: m.Description, InputSchema: m.InputSchema}})
	return nil
}

func (r *Registry) put(e entry) {
	if i, ok := r.index[e.schema.Name]; ok {
		r.entries[i] = e
		return
	}
	r.index[e.schema.Name] = len(r.entries)
	r.entries = append(r.entries, e)
}

// Get returns the tool of that name, and whether there is one.
func (r *Registry) Get(name string) (Tool, bool) {
	i, ok := r.index[name]
	if !ok {
		return nil, false
	}
	return r.entries[i].tool, true
}

// Len returns the number of tools.
func (r *Registry) Len() int { return len(r.entries) }

// Names returns the names in order.
func (r *Registry) Names() []string {
	names := make([]string, len(r.entries))
	for i, e := range r.entries {
		names[i] = e.schema.Name
	}
	return names
}

// Schemas returns what a model is told of the tools, in order; nil if there are none.
func (r *Registry) Schemas() []protocol.ToolSchema {
	var all []protocol.ToolSchema
	for _, e := range r.entries {
		all = append(all, e.schema)
	}
	return all
}

// Filter returns a new registry of the tools that keep wants, in the same order.
func (r *Registry) Filter(keep func(Tool) bool) *Registry {
	f := &Registry{index: map[string]int{}}
	for _, e := range r.entries {
		if keep(e.tool) {
			f.put(e)
		}
	}
	return f
}

// Only returns a new registry of the tools with those names, in the order of this one. Names that it does not have are
// ignored.
func (r *Registry) Only(names []string) *Registry {
	return r.Filter(func(t Tool) bool { return slices.Contains(names, t.Metadata().Name) })
}
