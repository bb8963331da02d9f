package compose

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// Tools is a view of a set of tools by name: of all of them, or of those that some agent may use. Views of one set share it:
// a tool that is registered later is there for all who may see it. Everything is safe for concurrent use. Names are
// identifiers, so they may have dots. A nil Tools sees nothing.
type Tools struct {
	set     *toolSet
	allowed map[string]struct{} // nil is all; never changed
}

type toolSet struct {
	mu    sync.RWMutex
	tools map[string]registered
}

type registered struct {
	tool   tool.Tool
	schema protocol.ToolSchema
}

// NewTools returns a set of the tools; the error is that of Register.
func NewTools(all ...tool.Tool) (*Tools, error) {
	t := &Tools{set: &toolSet{tools: map[string]registered{}}}
	for _, x := range all {
		if err := t.Register(x); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Register adds a tool to the set, for all its views; one of the same name is replaced. The error is of kind
// KindInvalidArgument where there is no tool or its name is no identifier, and KindToolNotAuthorised where this view does
// not see that name.
func (t *Tools) Register(x tool.Tool) error {
	if x == nil {
		return ErrInvalidArgument("a tool that is nil")
	}
	m := x.Metadata()
	if !IsIdentifier(m.Name) {
		return ErrInvalidArgument("the name of a tool: " + quoted(m.Name))
	}
	if !t.sees(m.Name) {
		return ErrToolNotAuthorised(m.Name)
	}
	schema := protocol.ToolSchema{Name: m.Name, Description: m.Description, InputSchema: tool.CleanSchema(m.InputSchema)}
	if t == nil || t.set == nil {
		return ErrInvalidArgument("a set of tools that NewTools has not made")
	}
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	t.set.tools[m.Name] = registered{tool: x, schema: schema}
	return nil
}

func (t *Tools) sees(name string) bool {
	if t == nil || t.allowed == nil {
		return true
	}
	_, ok := t.allowed[name]
	return ok
}

// Scoped returns a view of the tools with these names, whether they are registered already or not, as far as this view sees
// them: a view of a view never sees more. Without names it sees nothing.
func (t *Tools) Scoped(names ...string) *Tools {
	allowed := make(map[string]struct{}, len(names))
	for _, n := range names {
		if t.sees(n) {
			allowed[n] = struct{}{}
		}
	}
	return &Tools{set: t.shared(), allowed: allowed}
}

// Get returns a tool. The error is of kind KindToolNotAuthorised where this view does not see the name, whether or not there
// is such a tool, else KindToolNotFound.
func (t *Tools) Get(id string) (tool.Tool, error) {
	if !t.sees(id) {
		return nil, ErrToolNotAuthorised(shown(id))
	}
	set := t.shared()
	set.mu.RLock()
	defer set.mu.RUnlock()
	r, ok := set.tools[id]
	if !ok {
		return nil, ErrToolNotFound(shown(id))
	}
	return r.tool, nil
}

// Len returns the number of tools that this view sees.
func (t *Tools) Len() int { return len(t.visible()) }

// Names returns the names of the tools that this view sees, sorted.
func (t *Tools) Names() []string { return slices.Sorted(maps.Keys(t.visible())) }

// Schemas returns what a model is told of the tools that this view sees, sorted by name.
func (t *Tools) Schemas() []protocol.ToolSchema {
	all := t.visible()
	out := make([]protocol.ToolSchema, 0, len(all))
	for _, n := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[n].schema)
	}
	return out
}

// ForAgent returns the tools that this view sees now, sorted by name, under names that a model may call: dots are written as
// _. The error is of kind KindInvalidArgument: two names have become the same, or one is too long for a model.
func (t *Tools) ForAgent() ([]tool.Tool, error) {
	all := t.visible()
	out := make([]tool.Tool, 0, len(all))
	from := make(map[string]string, len(all))
	for _, n := range slices.Sorted(maps.Keys(all)) {
		flat := strings.ReplaceAll(n, ".", "_")
		if other, taken := from[flat]; taken {
			return nil, ErrInvalidArgument("the tools " + quoted(other) + " and " + quoted(n) + " would both be called " +
				quoted(flat))
		}
		if err := tool.CheckName(flat); err != nil {
			return nil, ErrInvalidArgument("the tool " + quoted(n) + " has a name that no model may call").Because(err)
		}
		from[flat] = n
		x := all[n].tool
		if flat != n {
			x = tool.Alias(x, flat)
		}
		out = append(out, x)
	}
	return out, nil
}

// visible is a copy of what this view sees.
func (t *Tools) visible() map[string]registered {
	set := t.shared()
	set.mu.RLock()
	defer set.mu.RUnlock()
	if t == nil || t.allowed == nil {
		return maps.Clone(set.tools)
	}
	out := map[string]registered{}
	for n := range t.allowed {
		if r, ok := set.tools[n]; ok {
			out[n] = r
		}
	}
	return out
}

// nothing is what a view sees that NewTools has not made.
var nothing = &toolSet{}

func (t *Tools) shared() *toolSet {
	if t == nil || t.set == nil {
		return nothing
	}
	return t.set
}

// shown is what an error says of a name that may come from anywhere.
func shown(n string) string {
	if IsIdentifier(n) {
		return n
	}
	return strings.Trim(quoted(n), `"`)
}
