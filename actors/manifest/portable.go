package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skelegent/skelegent-go/actors/agent"
	"github.com/skelegent/skelegent-go/actors/compose"
	"github.com/skelegent/skelegent-go/actors/compose/portable"
	"github.com/skelegent/skelegent-go/actors/engine"
	"github.com/skelegent/skelegent-go/actors/tool"
	"github.com/skelegent/skelegent-go/protocol"
	"github.com/skelegent/skelegent-go/protocol/wire"
)

// portable reads the agent that another file describes, and returns o with what it says: the model, the system prompt, the
// schema of the answer. What o says itself comes first.
func (m *Manifest) portable(name string, o Operator) (Operator, error) {
	if o.File == "" {
		return o, at(errors.New("kind portable needs the file of the agent's manifest"), "file")
	}
	p, err := portable.Load(m.path(o.File))
	if err == nil {
		err = m.portableParts(p)
	}
	if err != nil {
		return o, at(errors.New(brief(err)), "file")
	}
	o.portable = p
	if i := p.Instructions; i != nil {
		o.System = i.SystemPrompt
		if len(i.ResponseSchema) > 0 && o.Output == nil {
			if err := checkSchema(i.ResponseSchema); err != nil {
				return o, at(fmt.Errorf("response_schema %w", err), "file")
			}
			o.Output = &Output{Schema: JSON(i.ResponseSchema), Mode: string(agent.OutputText)}
		}
	}
	if p.Model == nil && o.Provider == "" {
		return o, at(errors.New("the file names no model, so a provider is needed"), "provider")
	}
	if p.Model != nil {
		o.Model = cmp.Or(o.Model, p.Model.Name)
	}
	if o.Provider == "" {
		o.Provider = name + ".portable" // no operator's or provider's name clashes with it: they have no dots here
		if m.Providers == nil {
			m.Providers = map[string]Provider{}
		}
		m.Providers[o.Provider] = portableProvider(*p.Model)
	}
	return o, nil
}

func portableProvider(model portable.Model) Provider {
	if model.Provider == portable.OpenAI {
		return Provider{Kind: kindOpenAI, APIKey: &Secret{Env: "OPENAI_API_KEY"}}
	}
	return Provider{Kind: kindOpenAI, BaseURL: model.BaseURL, APIKey: &Secret{literal: string(model.APIKey)}}
}

// portableParts refuses what nobody here could do.
func (m *Manifest) portableParts(p *portable.Manifest) error {
	if len(p.MCPServers) > 0 {
		return errors.New("it has mcp_servers, which are not supported yet")
	}
	for _, d := range p.Delegates {
		key := d.ExecutorKey()
		switch d.Kind {
		case portable.InProcess:
			if _, ok := m.Operators[key]; !ok {
				return fmt.Errorf("its delegate %.100q is in this process, but there is no operator %.100q: add it, such as "+
					"{kind: portable, file: %.100s}", d.Name, key, cmp.Or(d.Manifest, "FILE"))
			}
		case portable.Remote:
			if err := wire.CheckOperator(key); err != nil {
				return fmt.Errorf("its delegate %.100q: %w", d.Name, err)
			}
		case portable.Stub, portable.MCP:
		}
	}
	return nil
}

// portableAgent gives an agent the tools and the examples of the file. The host's tools are those that o names, and the
// built-in ones.
func (m *Manifest) portableAgent(cfg *agent.Config, o Operator, deps Deps) error {
	for _, w := range o.portable.Warnings {
		deps.Logger.Warn("manifest: " + o.File + ": " + w)
	}
	host, err := compose.NewTools(cfg.Tools...)
	if err != nil {
		return err
	}
	for _, name := range tool.Builtins() {
		if slices.Contains(host.Names(), name) {
			continue
		}
		if t, err := tool.Builtin(name, tool.Deps{State: deps.State}); err == nil { // else a tool that needs a state
			if err := host.Register(t); err != nil {
				return err
			}
		}
	}
	delegates := &compose.Delegates{}
	for _, d := range o.portable.Delegates {
		key := d.ExecutorKey()
		_, own := m.Operators[key]
		if !own && d.Kind != portable.Remote {
			continue // nobody: a stub
		}
		if err := delegates.Register(key, compose.Remote(deps.Dispatcher, protocol.OperatorID(key))); err != nil {
			return err
		}
	}
	tools, err := o.portable.Materialize(host, delegates)
	if err != nil {
		return at(errors.New(strings.TrimPrefix(brief(err), "tool invocation failed: ")), "file")
	}
	made, err := tools.ForAgent()
	if err != nil {
		return at(errors.New(brief(err)), "file")
	}
	for _, t := range cfg.Tools { // what the file does not name is the agent's as well
		same := func(o tool.Tool) bool { return o.Metadata().Name == t.Metadata().Name }
		if !slices.ContainsFunc(made, same) {
			made = append(made, t)
		}
	}
	cfg.Tools = made
	if i := o.portable.Instructions; i != nil && len(i.Examples) > 0 {
		cfg.Assemble = append([]engine.Op{engine.InjectMessages{Messages: examples(i.Examples)}}, cfg.Assemble...)
	}
	return nil
}

// examples are messages that no compaction takes away.
func examples(pairs [][2]string) (all []protocol.Message) {
	for _, p := range pairs {
		for i, role := range []protocol.Role{protocol.RoleUser, protocol.RoleAssistant} {
			m := protocol.NewMessage(role, protocol.TextContent(p[i]))
			m.Meta.Policy = protocol.PolicyPinned
			all = append(all, m)
		}
	}
	return all
}
