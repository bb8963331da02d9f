package manifest

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/skelegent/skelegent-go/actors/command"
	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
)

// tool makes an entry of an agent's tools.
func (m *Manifest) tool(t Tool, deps Deps) (tool.Tool, error) {
	made, err := m.bareTool(t, deps)
	if err != nil {
		return nil, err
	}
	if t.As != "" && made.Metadata().Name != t.As {
		made = tool.Alias(made, t.As)
	}
	if t.Effect != "" {
		if made, err = tool.AsEffect(made, t.Effect); err != nil {
			return nil, err
		}
	}
	if n := int(t.MaxResult); n > 0 {
		made = tool.Bounded(made, tool.Bounds{MaxBytes: n, MaxChars: n, MaxItems: n}) // only the whole counts
	}
	if t.Parallel {
		made = beside{made}
	}
	if t.Approval {
		made = tool.Approved(made)
	}
	return made, nil
}

// bareTool makes what the entry names. A bare name is a built-in tool, or else an operator of the manifest.
func (m *Manifest) bareTool(t Tool, deps Deps) (tool.Tool, error) {
	builtin, id := t.Tool, t.Operator
	if slices.Contains(tool.Builtins(), t.name) {
		builtin = t.name
	} else if t.name != "" {
		id = t.name
	}
	switch {
	case id != "":
		description := cmp.Or(t.Description, m.Operators[id].Description, "Asks the operator "+id+".")
		return tool.FromOperator(cmp.Or(t.As, id), description, deps.Dispatcher, protocol.OperatorID(id)), nil
	case t.Handoff != "":
		description := cmp.Or(t.Description, m.Operators[t.Handoff].Description)
		if description != "" && t.Description == "" {
			description = "Hands the work over to " + t.Handoff + ", who goes on instead of you. " + description
		}
		return tool.Handoff(protocol.OperatorID(t.Handoff), description), nil
	case t.Remote != "":
		meta := m.metadata(cmp.Or(t.As, t.Remote), t.Remote, t, deps)
		return tool.Remote(meta, deps.Dispatcher, protocol.OperatorID(t.Remote))
	case t.Delegate != "":
		meta := m.metadata(cmp.Or(t.As, t.Delegate), t.Delegate, t, deps)
		return compose.DelegateToolWithSchema(meta, nil, compose.Remote(deps.Dispatcher, protocol.OperatorID(t.Delegate)))
	case builtin != "":
		return tool.Builtin(builtin, tool.Deps{State: deps.State})
	}
	return t.declared(m)
}

// metadata is what a model is told of an operator that is a tool. What the entry does not say is taken from the manifest where
// the operator is in it.
func (m *Manifest) metadata(name, id string, t Tool, deps Deps) protocol.ToolMetadata {
	o := m.Operators[id]
	meta := protocol.ToolMetadata{
		Name: name, Description: cmp.Or(t.Description, o.Description, "Asks the operator "+id+"."), InputSchema: json.RawMessage(t.InputSchema),
	}
	if len(meta.InputSchema) == 0 {
		meta.InputSchema = json.RawMessage(o.InputSchema)
	}
	if o.Kind == kindTool {
		if own, err := tool.Builtin(o.Tool, tool.Deps{State: deps.State}); err == nil {
			known := own.Metadata()
			meta.Description = cmp.Or(t.Description, o.Description, known.Description)
			if len(meta.InputSchema) == 0 {
				meta.InputSchema = known.InputSchema
			}
		}
	}
	return meta
}

// declared makes a tool that is described by the manifest alone: a program, or an effect, which is made of it later. Without
// a manifest it is only to see whether it can be made.
func (t Tool) declared(m *Manifest) (tool.Tool, error) {
	meta := protocol.ToolMetadata{Name: t.As, Description: t.Description, InputSchema: json.RawMessage(t.InputSchema)}
	if t.Exec == nil {
		return tool.Raw(meta, func(context.Context, json.RawMessage) (tool.Result, error) {
			return tool.Result{}, protocol.ErrToolFailed("it is an effect, and not to be called") // AsEffect does not
		})
	}
	spec := command.Spec{Command: t.Exec, Env: t.Env}
	if m != nil {
		spec.Command, spec.Dir = m.command(t.Exec), m.dir
	}
	var opts []tool.Option
	if d := t.Timeout.value(); d > 0 {
		opts = append(opts, tool.Timeout(d))
	}
	if t.Repeatable {
		opts = append(opts, tool.Repeatable())
	}
	return command.Tool(meta, spec, opts...)
}

// beside is a tool whose calls may run beside others.
type beside struct{ tool.Tool }

// Metadata implements tool.Tool.
func (b beside) Metadata() protocol.ToolMetadata {
	m := b.Tool.Metadata()
	m.ParallelSafe = true
	return m
}

// Unwrap implements tool.Wrapper.
func (b beside) Unwrap() tool.Tool { return b.Tool }
