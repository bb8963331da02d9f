package skill

import (
	"maps"
	"slices"
	"sync"
)

// Info is what is known of a skill that is code of the program and no file.
type Info struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Tools       []string `json:"tools,omitempty"`
	HasPrompt   bool     `json:"has_prompt,omitempty"` // it adds to the system prompt
}

// Registry is the skills that an agent has: those of the program, and those of files. The zero value has none. It is safe for
// concurrent use.
type Registry struct {
	mu    sync.Mutex
	code  map[string]Info
	files *Catalogue
}

// AddCode adds a skill of the program. It reports false, and changes nothing, if there is a skill of that name or the name is
// empty.
func (r *Registry) AddCode(info Info) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if info.Name == "" || r.has(info.Name) {
		return false
	}
	if r.code == nil {
		r.code = map[string]Info{}
	}
	info.Tools = slices.Clone(info.Tools)
	r.code[info.Name] = info
	return true
}

// Add adds the skills that were discovered and have names that are not taken, and returns those names, sorted. The others are
// left out with a diagnostic of the catalogue that the registry has then.
func (r *Registry) Add(found *Catalogue) (added []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files, added = r.catalogue().merge(found, r.code)
	return added
}

// Catalogue returns the skills of files, as they are now.
func (r *Registry) Catalogue() *Catalogue {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.catalogue()
}

func (r *Registry) catalogue() *Catalogue {
	if r.files == nil {
		return newCatalogue()
	}
	return r.files
}

// CodeSkills returns the skills of the program, sorted by name.
func (r *Registry) CodeSkills() []Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Info, 0, len(r.code))
	for _, name := range slices.Sorted(maps.Keys(r.code)) {
		info := r.code[name]
		info.Tools = slices.Clone(info.Tools)
		all = append(all, info)
	}
	return all
}

// Has reports whether there is a skill of that name, of either kind.
func (r *Registry) Has(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.has(name)
}

func (r *Registry) has(name string) bool {
	if _, ok := r.code[name]; ok {
		return true
	}
	_, ok := r.catalogue().byName[name]
	return ok
}

// Len returns how many skills there are of both kinds.
func (r *Registry) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.code) + r.catalogue().Len()
}

// Activations is the skills that were activated in one conversation. The zero value has none. It is safe for concurrent use.
type Activations struct {
	mu    sync.Mutex
	names map[string]bool
}

// Mark notes that the skill is active. It reports false if it was already.
func (a *Activations) Mark(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.names[name] {
		return false
	}
	if a.names == nil {
		a.names = map[string]bool{}
	}
	a.names[name] = true
	return true
}

// Has reports whether the skill is active.
func (a *Activations) Has(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.names[name]
}

// Names returns the skills that are active, sorted.
func (a *Activations) Names() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.names))
}
