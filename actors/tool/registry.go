package tool

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/skelegent/skelegent-go/protocol"
)

// Registry is a set of tools by name. Its order is that of registration, so that requests made from it are the same each
// time and providers can cache them. It is safe for concurrent use, also while tools are added and removed: who needs
// several answers that fit each other asks a Snapshot.
type Registry struct {
	mu  sync.Mutex // of those who change it
	now atomic.Pointer[set]
}

// set is what a registry is at one time. It is never changed.
type set struct {
	entries []entry
	index   map[string]int
	version uint64
}

type entry struct {
	tool   Tool
	schema protocol.ToolSchema
}

var empty = &set{}

func registryOf(s *set) *Registry {
	r := &Registry{}
	r.now.Store(s)
	return r
}

func (r *Registry) load() *set {
	if s := r.now.Load(); s != nil {
		return s
	}
	return empty
}

// NewRegistry returns a registry of the tools; the error is CheckName's.
func NewRegistry(tools ...Tool) (*Registry, error) {
	s := &set{index: make(map[string]int, len(tools))}
	for _, t := range tools {
		e, err := entryOf(t)
		if err != nil {
			return nil, err
		}
		s.put(e)
	}
	return registryOf(s), nil
}

func entryOf(t Tool) (entry, error) {
	m := t.Metadata()
	if err := CheckName(m.Name); err != nil {
		return entry{}, err
	}
	return entry{t, protocol.ToolSchema{Name: m.Name, Description: m.Description, InputSchema: CleanSchema(m.InputSchema)}}, nil
}

// put is for sets that nobody else has yet.
func (s *set) put(e entry) {
	if i, ok := s.index[e.schema.Name]; ok {
		s.entries[i] = e
		return
	}
	s.index[e.schema.Name] = len(s.entries)
	s.entries = append(s.entries, e)
}

// Add registers t. One of the same name is replaced, at its place. The error is CheckName's.
func (r *Registry) Add(t Tool) error {
	e, err := entryOf(t)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.load().filtered(func(Tool) bool { return true })
	next.put(e)
	r.change(next)
	return nil
}

// Remove takes the tool of that name out, and reports whether there was one. A call of it that is under way goes on.
func (r *Registry) Remove(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.Get(name); !ok {
		return false
	}
	r.change(r.load().filtered(func(t Tool) bool { return t.Metadata().Name != name }))
	return true
}

// change makes next what the registry is. The caller has the lock.
func (r *Registry) change(next *set) {
	next.version = r.load().version + 1
	r.now.Store(next)
}

// Snapshot returns a registry of the tools that there are now. What is added or removed later changes one of both only.
func (r *Registry) Snapshot() *Registry { return registryOf(r.load()) }

// Version counts the changes since the registry was made. That of a snapshot goes on from there.
func (r *Registry) Version() uint64 { return r.load().version }

// Get returns the tool of that name, and whether there is one.
func (r *Registry) Get(name string) (Tool, bool) {
	s := r.load()
	i, ok := s.index[name]
	if !ok {
		return nil, false
	}
	return s.entries[i].tool, true
}

// Len returns the number of tools.
func (r *Registry) Len() int { return len(r.load().entries) }

// Names returns the names in order.
func (r *Registry) Names() []string {
	s := r.load()
	names := make([]string, len(s.entries))
	for i, e := range s.entries {
		names[i] = e.schema.Name
	}
	return names
}

// Schemas returns what a model is told of the tools, in order; nil if there are none. Input schemas are as CleanSchema
// has them.
func (r *Registry) Schemas() []protocol.ToolSchema {
	var all []protocol.ToolSchema
	for _, e := range r.load().entries {
		all = append(all, e.schema)
	}
	return all
}

// Filter returns a new registry of the tools that keep wants, in the same order.
func (r *Registry) Filter(keep func(Tool) bool) *Registry { return registryOf(r.load().filtered(keep)) }

// filtered returns a new set, of version 0.
func (s *set) filtered(keep func(Tool) bool) *set {
	f := &set{index: make(map[string]int, len(s.entries)+1)}
	for _, e := range s.entries {
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
